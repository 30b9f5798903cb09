"""What a session does behind its surface: renewals, changes of state, requests, and what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tenure import errors
from tenure._core.lease import JEOPARDY_WAIT_MAX_SECONDS, Lease, SessionMachine
from tenure._rpc import Req, Res, Unary
from tenure.aio._attaching import Attaching
from tenure.aio._dispatch import Listeners
from tenure.aio._ends import CAUSES, CLOSED_ERRORS, ENDS
from tenure.aio._holdings import Holdings
from tenure.aio._limits import Limits
from tenure.aio._numbered import Requests
from tenure.aio._renewals import Renewals
from tenure.aio._wait import until_set
from tenure.types import CloseCause, EndCause, State
from tenure.v1 import session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._link import Link
    from tenure.aio._lock import Held

LOOK_SECONDS = 0.25


class SessionCore:
    """A session as the library drives it; Session adds what users call."""

    _holdings: Holdings

    def __init__(
        self,
        client: Connection,
        session_id: str,
        secret: bytes,
        epoch: int,
        instance: bytes,
        lease: Lease,
        listeners: Listeners,
    ) -> None:
        self.id = session_id
        self.epoch = epoch
        self._secret = secret
        self._instance = instance
        self._client = client
        self._listeners = listeners  # In its line callbacks of the session's waits and holds are called, too.
        self._machine = SessionMachine(lease)
        self._requests = Requests(session_id)
        self._renewals = Renewals(self)
        self._attaching = Attaching(self)
        self._settled = asyncio.Event()  # Set at each change of state; whoever waits clears it.
        self._attached: Link | None = None
        self._renew_at = 0.0
        self._jeopardy_since = float("inf")
        self._no_waits = asyncio.Event()  # Set when no more waits begin, and those that there are end.
        self._inherited_helds: list[Held] = []
        self._inherited_from = float("-inf")

    # What is known.

    @property
    def ttl(self) -> float:
        """The TTL that the cluster granted, in seconds; 0 means that it never expires."""
        return self._machine.lease.ttl

    @property
    def state(self) -> State:
        """The state of the session now."""
        return State.CLOSED if self._client._guard.forked else self._machine.state_now

    @property
    def cause(self) -> CloseCause | None:
        """Why it is CLOSED; None before that."""
        return CloseCause.FORKED if self._client._guard.forked else self._machine.cause

    @property
    def _end_cause(self) -> EndCause | None:
        """How its end ended what it held; None before that."""
        return None if self._machine.cause is None else ENDS[self._machine.cause]

    @property
    def refusal(self) -> errors.TenureError | None:
        """Why the cluster refuses to renew it: a right is gone, or the credential is not accepted. Otherwise None.

        The session stays as it is until its TTL ends, and continues if the right comes back before.
        """
        return self._renewals.refused

    @property
    def safe(self) -> bool:
        """Whether the session is certainly alive at this moment. It reads the clock, not the network."""
        return self.cause is None and self._machine.lease.valid

    @property
    def safe_until(self) -> float:
        """When its lease ends without a further renewal, as a time of the library's clock; -inf if it has ended."""
        return self._machine.lease.safe_until if self.cause is None else float("-inf")

    @property
    def safe_for(self) -> float:
        """For how many seconds it is certainly alive, even if no further renewal succeeds."""
        return max(0.0, self.safe_until - self._client._clock.now()) if self.cause is None else 0.0

    def _begin_close(self) -> None:
        """Ends it and begins to destroy it; Session says how."""
        raise NotImplementedError

    # Calls under the session.

    def _options(self) -> types_pb2.CallOptions:
        return types_pb2.CallOptions(session_secret=self._secret, epoch=self.epoch)

    async def _change(
        self,
        rpc: Unary[Req, Res],
        request: Req,
        *,
        owner: str = "",
        guards: Iterable[types_pb2.Guard] = (),
        others: bool = False,
        timeout: float | None = None,
        limits: Limits | None = None,
    ) -> Res:
        """Makes a change exactly once. The request must not carry options; `others` says that it names other sessions.

        The timeout counts from now, also while there is no room for one request more.
        """
        self._check_open()
        limits = limits or self._limits(timeout)
        numbered = await self._requests.begin(limits)
        try:
            options: types_pb2.CallOptions = request.options  # type: ignore[attr-defined]
            options.CopyFrom(self._options())
            options.owner = owner
            options.guards.extend(guards)
            return await self._client._call(rpc, request, change=True, numbered=numbered, limits=limits)
        except errors.SessionClosed as error:
            self._take_refusal(error, sure=not options.guards and not others)
            raise
        finally:
            numbered.finish()

    def _take_refusal(self, error: errors.TenureError, sure: bool) -> None:
        """Takes an error that says that a session is over: this one, or one that the call named."""
        cause = CAUSES.get(type(error))
        if cause is not None and (sure or cause is CloseCause.SUPERSEDED):
            self._stop(cause)
        elif cause is not None:
            self._renew_now()

    def _check_open(self) -> None:
        self._client._guard.check()
        cause = self._machine.cause
        if cause is not None:
            raise CLOSED_ERRORS[cause](f"session {self.id} is over: {cause}")

    def _check_waits(self) -> None:
        """Raises when no more waits begin."""
        self._check_open()
        if self._no_waits.is_set():
            raise errors.SessionClosed(f"session {self.id} is being handed over")

    def _limits(self, timeout: float | None = None) -> Limits:
        """Returns the limits of a call; without timeout it waits as long as the session may live."""
        return Limits(self._client, timeout, self)

    def _gives_up_at(self, begin: float) -> float:
        """When a call that began then gives up."""
        if self._machine.state is State.JEOPARDY:
            return self._jeopardy_since + self._machine.patience
        if self.ttl <= 0 and self._client._link is None:
            return max(begin, self._client._unlinked_since) + JEOPARDY_WAIT_MAX_SECONDS
        return float("inf")

    async def _until_connected(self, timeout: float | None) -> None:
        """Waits until the session is certainly alive."""
        begin = self._client._clock.now()
        give_up = begin + (self._machine.patience if timeout is None else timeout)
        while not self.safe:
            self._check_open()
            left = min(give_up, self._gives_up_at(begin)) - self._client._clock.now()
            if left <= 0:
                raise errors.InJeopardy(f"session {self.id} could not be renewed", applied=None)
            await self._change_of_state(left)
        self._check_open()

    async def _change_of_state(self, timeout: float | None) -> None:
        await until_set(self._settled, timeout)

    # What happens to it.

    def _begin(self, link: Link | None) -> None:
        """Puts the session under the client's care; it is attached already to the link that made it."""
        now = self._client._clock.now()
        before = self._client._sessions.get(self.id)
        if before is not None and before is not self:
            before._stop(CloseCause.SUPERSEDED)  # It was taken over through the same client.
        self._client._sessions[self.id] = self
        self._attached = link
        self._renew_at = now  # At once: only a stream that has renewed a session gets hints about it.
        if link is not None:
            self._machine.link_up()
            self._machine.tick()
        self._publish()
        self._client._note(self)

    def _renew_now(self) -> None:
        self._renew_at = self._client._clock.now()
        self._client._note(self)

    def _publish(self) -> None:
        """Acts on changes of state and tells the listeners."""
        for change in self._machine.take_changes():
            if change.new is State.JEOPARDY:
                self._jeopardy_since = self._client._clock.now()
                self._holdings.end_all(EndCause.LEASE_RAN_OUT, give_back=True)
            self._listeners.tell(change)
            settled, self._settled = self._settled, asyncio.Event()
            settled.set()

    def _tick(self) -> None:
        """Ends what the clock ended, before anything else is believed of it."""
        self._machine.tick()
        self._publish()

    @property
    def _look_at(self) -> float:
        """When the clock may change something: the lease ends, the member is silent, or the truth is asked for."""
        machine = self._machine
        ends = machine.lease.safe_until if machine.was_linked and not machine.jeopardy else float("inf")
        return min(ends, self._attaching.due_at, machine.lease.suspect_at)

    def _look(self) -> None:
        """Looks at the clock."""
        self._tick()
        self._attaching.look(self._client._clock.now())

    def _link_down(self) -> None:
        self._attached = None
        self._tick()
        self._machine.link_down()
        self._publish()

    def _link_moved(self) -> None:
        """Notes that the client changed to another connection without losing the old one first."""
        self._attached = None
        self._machine.lease.forget_sent()
        self._client._note(self)

    def _suspend(self) -> None:
        """Notes that it is not renewed, though the connection is as good as any."""
        self._machine.link_down()
        self._publish()

    def _hint(self, hint: session_pb2.SessionHint) -> None:
        """Takes a hint about a hold."""
        if hint.WhichOneof("kind") == "lost":
            self._tick()
            self._holdings.lost(hint.lost)

    def _stop(self, cause: CloseCause) -> None:
        """Ends the session here."""
        self._tick()
        self._machine.close(cause)
        self._attached = self._renewals.hinted = None
        if self._client._sessions.get(self.id) is self:
            del self._client._sessions[self.id]
        self._holdings.end_all(ENDS[cause], give_back=False)
        self._publish()
        self._requests.over()
        self._no_waits.set()
        self._holdings.stop()
        self._client._note(self)

    async def _until_inherited(self) -> None:
        """Waits until what was inherited can be believed. Raises HoldLost when that never comes."""
        while True:
            self._check_open()
            wait = self._inherited_from - self._client._clock.now()
            if wait == float("inf") and not all(held.ended for held in self._inherited_helds):
                raise errors.HoldLost("another process may still rely on what was held without TTL and not handed over")
            if wait <= 0 or wait == float("inf"):
                return
            await asyncio.sleep(min(wait, LOOK_SECONDS))
