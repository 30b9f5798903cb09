"""One connection at a time, to whichever member serves, and calls that go on over its loss.

Changes have another one, to the leader: see _leader.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from tenure import _convert, errors
from tenure._core.address import Address, parse_address
from tenure._core.agenda import Agenda
from tenure._core.backoff import Backoff
from tenure._core.clock import Clock, system_clock
from tenure._core.fork import ForkGuard
from tenure._core.members import MemberList
from tenure._core.namespace import Namespace
from tenure._core.retry import FailedHere, decide, decided
from tenure._core.security import Security, TokenSource, from_environment
from tenure._core.security import decide as decide_tls
from tenure._rpc import LIST_MEMBERS, Req, Res, Unary
from tenure.aio._dispatch import Dispatcher, Listeners, TaskDispatcher
from tenure.aio._door import Door
from tenure.aio._function import ended_from_inside, lend
from tenure.aio._keepalive import Keeper
from tenure.aio._leader import Leading
from tenure.aio._limits import Limits
from tenure.aio._link import Link, check_process
from tenure.aio._tasks import Tasks
from tenure.aio._token import token_of
from tenure.aio._unreached import Unreached
from tenure.types import CloseCause, State, StateChange
from tenure.v1 import cluster_pb2

if TYPE_CHECKING:
    from tenure.aio._numbered import Numbered
    from tenure.aio._register import Registration
    from tenure.aio._session_core import SessionCore

log = logging.getLogger("tenure")

ATTEMPT_SECONDS = 5.0
CONNECT_SECONDS_MIN = 0.25
CONNECT_SECONDS_MAX = 3.0
MEMBERS_SECONDS = 10.0
USELESS_SECONDS_MAX = 0.5  # Between connections that answer nothing but the list of members.
INCOMPLETE_SECONDS = 1.0
LOOK_SECONDS = 0.25
DEFAULT_TIMEOUT_SECONDS = 10.0
# How long close waits for what was opened through the client; then it is cancelled.
CLOSERS_SECONDS = 5.0


class Connection:
    """What a client does to stay connected and to make calls; Client adds what users call."""

    def __init__(
        self,
        uri: str,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        ca_file: str = "",
        cert_file: str = "",
        key_file: str = "",
        server_name: str = "",
        token: str | TokenSource = "",
        token_file: str = "",
        insecure: bool = False,
        credentials: grpc.ChannelCredentials | None = None,
        interceptors: Sequence[grpc.aio.ClientInterceptor] = (),
        clock: Clock | None = None,
        rng: random.Random | None = None,
        dispatcher: Dispatcher | None = None,
        members_seconds: float = MEMBERS_SECONDS,
    ) -> None:
        check_process()
        self.address: Address = parse_address(uri)
        _convert.check_seconds(timeout)
        self.timeout = timeout
        self._clock = clock or system_clock()
        told = Security(ca_file, cert_file, key_file, server_name, token, token_file, insecure)
        self._door = self._make_door(told, credentials, interceptors)
        self._rng = rng or random.Random()
        self._guard = ForkGuard()
        self._namespace = Namespace(self.address.namespace)
        self._converter = _convert.Converter(self._namespace)
        self._members = MemberList(self.address.endpoints, self._rng)
        self._members_seconds = members_seconds
        self._unreached = Unreached(self._members, self._door)
        self._dispatcher: Dispatcher = dispatcher or TaskDispatcher()
        self._listeners = Listeners(self._dispatcher.line())
        self._tasks = Tasks()
        self._openings: set[asyncio.Future[Any]] = set()  # Sessions and registrations on their way.
        self._sessions: dict[str, SessionCore] = {}
        self._looks: Agenda[SessionCore] = Agenda()  # When the clock may change something for a session.
        self._resuming: dict[tuple[str, bytes, int], bytes] = {}  # Instances of resumes that failed: what they resume.
        self._registered: list[Registration] = []  # What the program has registered.
        self._entering: dict[
            tuple[str, str], asyncio.Future[None]
        ] = {}  # Registrations and their ends that are not settled yet.
        self._closers: dict[int, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._link: Link | None = None
        self._unlinked_since = self._clock.now()  # While there is no link.
        self._current = ""  # Advertised address of the member that the link leads to.
        self._incomplete = False  # Whether a member's address was missing in the list.
        self._leading = Leading(self)
        self._linked = asyncio.Event()
        self._session_came = asyncio.Event()
        self._keeper: Keeper | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # The one that it was first used in.
        self._close_begun = False
        self._closing = False  # From now on nothing new is begun.
        self.state = State.CONNECTING

    def _make_door(
        self,
        told: Security,
        credentials: grpc.ChannelCredentials | None,
        interceptors: Sequence[grpc.aio.ClientInterceptor],
    ) -> Door:
        """Returns how connections are made, by what options, connection string and environment say."""
        security, environment = told.otherwise(self.address.security), from_environment(os.environ)
        if credentials is not None:
            if security.ca_file or security.cert_file or security.key_file:
                raise ValueError("credentials and files of TLS exclude each other")
            environment = environment.without_files()
        security = security.otherwise(environment)
        own = credentials is not None
        tls = decide_tls(self.address.scheme, self.address.endpoints, security, own)
        return Door(tls, security, credentials, token_of(security, self._clock), interceptors)

    # Life.

    def _start(self) -> None:
        """Begins to connect. Raises ForkedError or ClientClosed."""
        self._guard.check()
        if self._closing:
            raise errors.ClientClosed("the client was closed")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._tasks.spawn(self._manage(), "manage")
            self._tasks.spawn(self._look(), "look")
        elif self._loop is not loop:
            raise RuntimeError("this client belongs to another event loop; open one in each")

    async def close(self) -> None:
        """Closes sessions cleanly, watches and the connection. In a forked child it does nothing.

        Nothing is left running but callbacks that take longer than a second: it does not wait for them.
        """
        if self._guard.forked or self._close_begun:
            return
        self._close_begun = True
        ended_from_inside(self)
        loop = asyncio.get_running_loop()
        closers = [lend(self, loop.create_task(close())) for close in reversed(list(self._closers.values()))]
        try:
            if closers:
                await asyncio.wait(closers, timeout=CLOSERS_SECONDS)
            self._closing = True
            await self._end_openings()
            for session in list(self._sessions.values()):
                session._begin_close()
            await self._tasks.endings()
        finally:  # Also when it is cancelled: then nothing is left running, and sessions end by their TTL.
            self._closing = True
            for closer in closers:
                closer.cancel()
            await asyncio.gather(*closers, return_exceptions=True)
            await self._tasks.end()
            if self._link is not None:
                await self._link.close()
            self._link = self._keeper = None
            await self._door.close()
            self._change_state(State.CLOSED, CloseCause.CLOSED)
            await self._dispatcher.close()

    async def _end_openings(self) -> None:
        """Cancels what opens sessions. What may have been made nevertheless is then undone."""
        for opening in self._openings:
            opening.cancel()
        while self._openings:
            await asyncio.wait(self._openings)

    @property
    def closed(self) -> bool:
        """Whether the client was closed, or belongs to another process."""
        return self._close_begun or self._guard.forked

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it gets the current state immediately, then each change. Also a decorator."""
        self._listeners.add(callback, StateChange(self.state, self.state))
        return callback

    def _change_state(self, state: State, cause: CloseCause | None = None) -> None:
        if state is not self.state:
            change = StateChange(self.state, state, cause)
            self.state = state
            self._listeners.tell(change)

    async def wait_connected(self, timeout: float | None = None) -> None:
        """Waits until a member has answered, for at most `timeout` seconds (None: as the client).

        Raises Unavailable.
        """
        self._start()
        try:
            await self._await_link(Limits(self, timeout, None))
        except errors.DeadlineExceeded:
            text = f"no member answered within {timeout} s: {self._unreached}"
            raise errors.Unavailable(text, applied=False) from None

    # The connection.

    @property
    def connected_to(self) -> str:
        """Address of the member in use; empty when there is none."""
        return self._link.address if self._link is not None else ""

    @property
    def member_addresses(self) -> tuple[str, ...]:
        """Addresses of the members that the client knows now."""
        return self._members.addresses

    async def _manage(self) -> None:
        """Keeps a connection until the client is closed."""
        pauses = Backoff(self._rng, cap=USELESS_SECONDS_MAX)
        while True:
            link = await self._connect()
            self._use(link)
            try:
                await self._follow(link)
            finally:
                link = self._link or link
                self._lose(link)
                await link.close()
            if link.served:
                pauses.reset()
            else:  # One that only lists members is not worth another connection at once.
                await asyncio.sleep(pauses.next())

    def _connect_seconds(self, rounds: int) -> float:
        """How long an attempt may take: all members are tried within a third of the TTL.

        Each later round is longer; else nobody would be reached who is far away, or busy.
        """
        ttls = [s.ttl for s in self._sessions.values() if s.ttl > 0] or [self.address.ttl or CONNECT_SECONDS_MAX]
        first = max(CONNECT_SECONDS_MIN, min(ttls) / (3 * len(self._members.addresses)))
        return min(CONNECT_SECONDS_MAX, first * 2.0 ** min(rounds, 16))

    async def _connect(self) -> Link:
        """Tries members until one answers."""
        backoff = Backoff(self._rng)
        attempt = 0
        while True:
            if attempt > 0:
                await asyncio.sleep(backoff.next())
            size = len(self._members.addresses)
            # When not one of the list answered, what the members advertise perhaps cannot be reached from here.
            seed = attempt % (size + 1) == size
            address = self._rng.choice(self.address.endpoints) if seed else self._members.next()
            link = await self._try_connect(address, attempt // size)
            if link is not None:
                return link
            attempt += 1

    async def _try_connect(self, address: str, rounds: int = 0) -> Link | None:
        """Returns a connection to a member that has answered; None if it does not."""
        attempt = self._unreached.begin()
        try:
            link, answer = await self._reach(address, self._connect_seconds(rounds))
        except errors.TenureError as error:
            log.debug("no connection to %s: %s", address, error)
            self._unreached.failed(address, error, attempt)
            return None
        self._unreached.connected()
        self._members.connected(address)
        self._current = address
        if answer is not None:
            self._learn(answer, first=True)
        return link

    async def _reach(self, address: str, seconds: float) -> tuple[Link, cluster_pb2.ListMembersResponse | None]:
        """Connects to a member, and returns what it says of all members, if it may say that. Raises a typed error."""
        link = Link(address, self._door)
        answer = None
        try:
            answer = await link.unary(LIST_MEMBERS, cluster_pb2.ListMembersRequest(), seconds)
        except (errors.Unauthenticated, errors.PermissionDenied):
            pass  # A member answered: calls hear the same, and say it.
        except BaseException:
            await link.close()
            raise
        return link, answer

    def _learn(self, answer: cluster_pb2.ListMembersResponse, first: bool = False) -> bool:
        """Takes the list of members. Returns whether to move to another."""
        addresses = [m.client_address for m in answer.members if m.client_address]
        self._incomplete = len(addresses) < len(answer.members)
        if self._incomplete:  # A member that has just begun has not said yet where it is: nobody is taken off the list.
            addresses = [*addresses, *self._members.addresses]
        mine = [m.client_address for m in answer.members if m.id == answer.header.member_id and m.client_address]
        if mine:
            self._current = mine[0]  # Whatever name it was reached by.
        leads = [m.client_address for m in answer.members if m.leader and m.id != answer.header.member_id]
        self._leading.learn(leads[0] if leads and leads[0] != self._current else "")
        moves = self._members.update(addresses, None if first else self._current)
        if first:
            self._members.connected(self._current)
        return moves

    def _use(self, link: Link) -> None:
        """Makes a connection the one that calls use."""
        self._link = link
        self._linked.set()
        self._change_state(State.CONNECTED)
        self._keeper = Keeper(self, link)
        self._tasks.spawn(self._keeper.run(), "keepalive")

    def _has(self, session: SessionCore) -> bool:
        """Whether a session is under the client's care."""
        return self._sessions.get(session.id) is session

    def _note(self, session: SessionCore) -> None:
        """Notes that something changed for a session: that it came or is over, its lease, or when it is renewed."""
        if self._has(session):
            self._looks.put(session, session._look_at)
            self._session_came.set()
        else:
            self._looks.drop(session)
        if self._keeper is not None:
            self._keeper.note(session)

    def _lose(self, link: Link) -> None:
        """Notes that the connection is gone."""
        link.break_off()
        if self._link is link:
            self._link = None
            self._unlinked_since = self._clock.now()
            self._linked.clear()
            if not self._closing:
                self._change_state(State.SUSPENDED)
            for session in list(self._sessions.values()):
                session._link_down()

    async def _follow(self, link: Link) -> None:
        """Follows the member list until the connection breaks; moves when it must."""
        while True:
            seconds = INCOMPLETE_SECONDS if self._incomplete else self._members_seconds
            seconds = min(seconds, self._members_seconds) * self._rng.uniform(0.9, 1.1)
            await self._until_doubted(link, seconds)
            if link.broken:
                return
            try:
                answer = await link.unary(LIST_MEMBERS, cluster_pb2.ListMembersRequest(), ATTEMPT_SECONDS)
            except errors.TenureError as error:
                if decide(error, failures=1).move or isinstance(error, errors.DeadlineExceeded):
                    return
                continue
            if self._learn(answer):
                link = await self._move(link)

    async def _until_doubted(self, link: Link, seconds: float) -> None:
        """Waits for so long, unless the connection breaks, or it is in doubt who leads."""
        doubted = asyncio.ensure_future(self._leading.doubted.wait())
        waiters: set[asyncio.Future[Any]] = {doubted, link.gone}
        try:
            await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            doubted.cancel()
        self._leading.doubted.clear()

    async def _move(self, old: Link) -> Link:
        """Replaces the connection by one to another member: the new one answers before the old one is dropped."""
        for _ in self._members.addresses:
            new = await self._try_connect(self._members.next())
            if new is None:
                continue
            if old.broken:  # Then its loss is told first, and this one is used all the same.
                self._lose(old)
            self._use(new)
            for session in list(self._sessions.values()):
                session._link_moved()
            await old.close()
            return new
        return old

    async def _look(self) -> None:
        """Looks at the clock for the sessions for which it is time: leases that end, members that are silent."""
        while True:
            self._session_came.clear()
            if not self._sessions:
                await self._session_came.wait()
                continue
            for session in self._looks.take(self._clock.now()):
                session._look()
                lease = session._machine.lease
                if self._clock.now() >= lease.suspect_at and self._link is not None:
                    log.debug("no renewal was answered for %.2f s", lease.silence)
                    self._link.break_off()
                self._note(session)
            # Not longer, for time may pass that the event loop does not count: the machine may have slept.
            await asyncio.sleep(min(LOOK_SECONDS, max(0.001, self._looks.next() - self._clock.now())))

    # Calls.

    async def _await_link(self, limits: Limits) -> Link:
        """Returns the connection, or waits for one as long as the call may."""
        while True:
            self._guard.check()
            limits.check()
            if self._link is not None and not self._link.broken:
                return self._link
            self._linked.clear()
            waiter = asyncio.ensure_future(self._linked.wait())
            try:
                await asyncio.wait({waiter}, timeout=min(LOOK_SECONDS, limits.left()))
            finally:
                waiter.cancel()

    async def _link_for(self, limits: Limits, to_leader: bool) -> Link:
        """Returns the connection for an attempt; for one that may be made at the leader that to it, if there is one."""
        if to_leader:
            self._guard.check()
            limits.check()
            if (link := self._leading.take()) is not None:
                return link
        return await self._await_link(limits)

    async def _call(
        self,
        rpc: Unary[Req, Res],
        request: Req,
        *,
        change: bool = False,
        own: bool = False,
        timeout: float | None = None,
        session: SessionCore | None = None,
        numbered: Numbered | None = None,
        limits: Limits | None = None,
    ) -> Res:
        """Makes a call, again and again until it has an answer that counts, or until its limits: by default these
        are a timeout and a session.

        A change must carry what makes it repeatable, or be numbered. It goes to the leader where that can be reached,
        unless it is for the client's own member. What failed there goes on at the own member, which finds the leader.
        """
        self._guard.check()
        limits = limits or Limits(self, timeout, session)
        if not limits.closing:
            self._start()
        backoff = Backoff(self._rng)
        failures = 0
        to_leader = change and not own
        while True:
            link = await self._link_for(limits, to_leader)
            to_leader = False
            seconds = min(limits.left(), ATTEMPT_SECONDS if limits.session else max(1.0, self.timeout / 3))
            if numbered is not None:
                numbered.prepare(request.options)  # type: ignore[attr-defined]
            if limits.first_sent_at is None:
                limits.first_sent_at = self._clock.now()
            answers = link.answers
            try:
                return await link.attempt(rpc, request, max(seconds, 0.001))
            except asyncio.CancelledError:
                limits.sent = limits.sent or change
                raise
            except errors.TenureError as error:
                failures += 1
                if numbered is not None:
                    numbered.failed(error)
                if change and error.applied is not False:
                    limits.sent = True
                silent = link.direct and link.answers == answers
                await self._after_failure(error, link, limits, backoff, failures, silent)
                if link.direct:
                    failures = 0  # The own member has had none.

    async def _after_failure(
        self,
        error: errors.TenureError,
        link: Link,
        limits: Limits,
        backoff: Backoff,
        failures: int,
        silent: bool,
    ) -> None:
        """Raises, or waits as long as is right before the next attempt.

        A connection that is only for the leader is left if that leads no more, or is silent.
        """
        decision = decide(error, failures=failures)
        if not decision.retry:
            if not isinstance(error, FailedHere):
                link.answered()
            if limits.sent and error.applied is False and not decided(error):
                error.applied = None  # It tells of the last attempt only; one before may have been applied.
            raise error
        move = decision.move or (link.direct and isinstance(error, errors.NoLeader))
        move = move or (silent and isinstance(error, errors.DeadlineExceeded) and limits.left() > 0)
        if move:
            link.break_off()
        delay = backoff.next(decision.after)
        if move and failures == 1:
            delay = 0.0  # Another member may be better off.
        limits.last = error
        await asyncio.sleep(min(delay, max(0.0, limits.left())))
