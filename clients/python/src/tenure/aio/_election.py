"""Elections: the leader is the holder of a lock, and what it proclaims is the key's value."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import Self

from tenure import _convert, errors
from tenure._convert import to_bytes
from tenure._core.retry import FailedHere, decide
from tenure._rpc import GET_LEADER, OBSERVE, PROCLAIM, RESIGN
from tenure.aio._acquire import Want, acquire, new_owner
from tenure.aio._follow import Follower
from tenure.aio._function import FunctionCall, inside
from tenure.aio._lock import Held, until_finished
from tenure.aio._tasks import log_failure
from tenure.aio._wait import stop
from tenure.types import EndCause, LeaderInfo, Mode, Place
from tenure.v1 import election_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._link import Followed, Link
    from tenure.aio._session import Session

T = TypeVar("T")

# How often an observer asks its member for a linearizable answer, also after a failure; how long that may take; and how
# many failures in a row show that the member no longer knows who leads.
ASK_SECONDS = 5.0
ASK_AGAIN_SECONDS = 1.0
ANSWER_SECONDS = 5.0
ASKS_MAX = 3


class Leadership(Held):
    """A held leadership: a Held, with calls to change the leader's value and to resign."""

    async def proclaim(self, value: bytes | str) -> None:
        """Changes the leader's value. Raises FencingTokenStale if this session no longer leads."""
        request = election_pb2.ProclaimRequest(
            key=self.sequencer.key, sequencer=_convert.sequencer_message(self.sequencer), value=to_bytes(value)
        )
        await self.session._change(PROCLAIM, request, guards=())

    async def resign(self, *, to_session: str = "", to_owner: str = "") -> bool:
        """Gives up leadership. Returns whether it was held until now.

        `to_session`, a session's id, names the candidate that leads next; `to_owner` is needed if that session
        campaigns more than once. If it does not wait, CandidateNotFound is raised and this session still leads. Until
        the response has arrived, leadership is not `safe`; without a response it is released.
        """
        if not to_session:
            return await self.release()
        if self.ended or self.session._client._guard.forked:
            return False
        request = election_pb2.ResignRequest(
            key=self.sequencer.key,
            session_id=self.session.id,
            lock_index=self.sequencer.lock_index,
            to_session_id=to_session,
            to_owner=to_owner,
        )
        self._state.doubts += 1
        passing = self.session._client._tasks.start(self._pass_on(request, inside(self)), "resign")
        return await until_finished(passing)

    async def _pass_on(self, request: election_pb2.ResignRequest, call: FunctionCall | None) -> bool:
        try:
            answer = await self.session._change(RESIGN, request, owner=self.owner)
        except BaseException as error:
            if isinstance(error, errors.TenureError) and error.applied is False:
                self._state.doubts -= 1
            else:
                self._end_inside(call, EndCause.RELEASED, give_back=True)  # It may have been passed on.
            raise
        self._end_inside(call, EndCause.RELEASED if answer.resigned else EndCause.TAKEN_AWAY)
        self.session._holdings.settle()
        return answer.resigned

    def _end_inside(self, call: FunctionCall | None, cause: EndCause, give_back: bool = False) -> None:
        """Ends it as the function wished that leads, if it did."""
        if call is not None:
            call.ends_itself = True
        self._end(cause, give_back)


class Election:
    """An election, in which a session can campaign. The leader is the holder of a lock; its value is the lock's key."""

    def __init__(self, session: Session, key: str) -> None:
        self.session = session
        self.key = key

    async def campaign(
        self,
        value: bytes | str = b"",
        *,
        timeout: float | None = None,
        owner: str | None = None,
        on_queued: Callable[[Place], Any] | None = None,
    ) -> Leadership:
        """Waits until this session leads, with this value.

        Raises WaitTimeout after `timeout` seconds; then it no longer waits.

        Without a `timeout` it waits as long as the session lives. `owner` names the candidacy within the session, and
        `on_queued` is called with the Place if another session leads.
        """
        want = Want(
            key=self.session._client._namespace.key(self.key),
            owner=new_owner() if owner is None else owner,
            mode=Mode.EXCLUSIVE,
            value=to_bytes(value),
        )
        return await acquire(self.session, want, timeout, on_queued, Leadership)

    async def leader(self) -> LeaderInfo | None:
        """Returns the current leader; None if there is none."""
        return await get_leader(self.session._client, self.key, None)

    def observe(self) -> Observer:
        """Returns an Observer: the current leader or None, then each change."""
        return Observer(self.session._client, self.key)

    async def run(self, function: Callable[[Leadership], Awaitable[T]], value: bytes | str = b"") -> T:
        """Waits until this session leads, runs the coroutine function, and resigns. Returns the function's result.

        If leadership is lost, the function is cancelled and HoldLost is raised. If the function itself resigns, or
        closes the session or the client, it continues.
        """
        leadership = await self.campaign(value)
        try:
            work = await lead(leadership, function, FunctionCall(*owners(leadership)))
            result: T = work.result()
        finally:
            await leadership.release()
        leadership._check_not_lost()
        return result


async def lead(leadership: Leadership, function: Callable[[Leadership], Any], call: FunctionCall) -> asyncio.Task[Any]:
    """Runs a function while leadership lasts. Returns the task, which has ended. Raises HoldLost."""
    lost = asyncio.ensure_future(leadership.lost.wait())
    work = call.begin(leadership.session._client, function, leadership)
    try:
        await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
        if call.ends_itself:
            await asyncio.wait({work})
        if work.done():
            return work
        await stop(work)
        log_failure(work)  # Nobody else will say how.
        raise errors.HoldLost(f"leadership of {leadership.key!r} was lost: {leadership.cause}")
    except asyncio.CancelledError:
        await stop(work)
        log_failure(work)
        raise
    finally:
        lost.cancel()
        if not work.done():
            await stop(work)


def owners(leadership: Leadership) -> tuple[object, ...]:
    """Returns what the function of a leader may end by itself."""
    return leadership, leadership.session, leadership.session._client


async def get_leader(client: Client, key: str, timeout: float | None) -> LeaderInfo | None:
    """Returns the leader of an election."""
    request = election_pb2.GetLeaderRequest(key=client._namespace.key(key))
    answer = await client._call(GET_LEADER, request, timeout=timeout)
    return client._converter.leader(answer.leader) if answer.HasField("leader") else None


class Observer(Follower[election_pb2.ObserveRequest, election_pb2.ObserveResponse]):
    """Yields the current leader or None, then each change: `async for leader in observer`.

    After a reconnect the current leader comes again only if it is another one. It raises Unavailable if it cannot start
    within the client's timeout; once started, it waits for a member for as long as it takes.
    """

    def __init__(self, client: Client, key: str) -> None:
        super().__init__(client, OBSERVE, "an observer")
        self._key = key
        self._reconnected = False
        self._last: LeaderInfo | None = None
        self.gap = False  # whether changes before the last leader that was read may have been missed

    def __repr__(self) -> str:
        return f"<Observer of {self._key!r}>"

    async def __aenter__(self) -> Self:
        return self

    def _request(self) -> election_pb2.ObserveRequest:
        return election_pb2.ObserveRequest(key=self._client._namespace.key(self._key))

    def _broke(self, error: errors.TenureError) -> bool:
        self._reconnected = self._began
        return False

    async def _read_in_time(
        self, stream: Followed[election_pb2.ObserveRequest, election_pb2.ObserveResponse]
    ) -> election_pb2.ObserveResponse | None:
        """Reads one message. Who observes may hear nothing for long, so meanwhile the member is asked."""
        if self._link is None:
            return await stream.read()
        asking = asyncio.ensure_future(self._ask(self._link, stream))
        try:
            return await self._unless_silent(stream, "the member answered no question about the leader")
        finally:
            asking.cancel()

    async def _ask(
        self, link: Link, stream: Followed[election_pb2.ObserveRequest, election_pb2.ObserveResponse]
    ) -> None:
        """Asks the member now and then, and ends the stream once it knows nothing new, as without a leader."""
        request = election_pb2.GetLeaderRequest(key=self._client._namespace.key(self._key))
        failures = 0
        while failures < ASKS_MAX:
            await asyncio.sleep(ASK_AGAIN_SECONDS if failures else ASK_SECONDS)
            try:
                await link.unary(GET_LEADER, request, ANSWER_SECONDS)
                failures = 0
            except errors.TenureError as error:
                excused = isinstance(error, (errors.TooManyRequests, FailedHere))
                busy = excused or not decide(error, failures=1).retry
                failures = 0 if busy else failures + 1
        self._fall_silent(stream)

    async def __anext__(self) -> LeaderInfo | None:
        while not self._closed:
            message = await self._next_message()
            if message is None:
                continue
            leader = None
            self.gap = message.gap
            if message.HasField("leader"):
                self.gap = message.gap or self._reconnected
                leader = self._client._converter.leader(message.leader, self.gap)
            if self._reconnected and self._same(leader):
                self._reconnected = False
                continue
            self._reconnected, self._began, self._last = False, True, leader
            return leader
        raise StopAsyncIteration

    def _same(self, leader: LeaderInfo | None) -> bool:
        if leader is None or self._last is None:
            return leader is self._last
        return leader.token == self._last.token and leader.value == self._last.value
