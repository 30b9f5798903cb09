"""What a session does behind its surface: renewals, changes of state, requests, and what it holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from tenure import _convert, errors
from tenure._core.backoff import Backoff
from tenure._core.denials import Denials
from tenure._core.lease import JEOPARDY_WAIT_MAX_SECONDS, Lease, SessionMachine
from tenure._core.requests import RequestWindow
from tenure._core.retry import decide
from tenure._rpc import ATTACH_SESSION, RENEW_SESSION, Req, Res, Unary
from tenure.aio._dispatch import Listeners
from tenure.aio._holdings import Holdings, HoldName, name_of
from tenure.aio._limits import Limits
from tenure.aio._numbered import Numbered
from tenure.aio._wait import until_set
from tenure.types import CloseCause, EndCause, State
from tenure.v1 import session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._link import Link
    from tenure.aio._lock import Held

RENEW_JITTER = 0.1
PUT_OFF_SECONDS = 0.1
RECONCILE_SECONDS = 30.0
LOOK_SECONDS = 0.25

_CAUSES: dict[type[errors.TenureError], CloseCause] = {
    errors.SessionNotFound: CloseCause.EXPIRED,
    errors.SessionExpired: CloseCause.EXPIRED,
    errors.SessionSuperseded: CloseCause.SUPERSEDED,
    errors.EpochMismatch: CloseCause.SUPERSEDED,
    errors.SessionSecretWrong: CloseCause.AUTH_FAILED,
    errors.SessionIDInvalid: CloseCause.EXPIRED,
}
# Refusals for want of a right, or of a credential.
_DENIALS = (errors.PermissionDenied, errors.Unauthenticated)
_ENDS: dict[CloseCause, EndCause] = {
    CloseCause.CLOSED: EndCause.SESSION_CLOSED,
    CloseCause.EXPIRED: EndCause.SESSION_ENDED,
    CloseCause.AUTH_FAILED: EndCause.SESSION_ENDED,
    CloseCause.SUPERSEDED: EndCause.SUPERSEDED,
    CloseCause.EXPORTED: EndCause.EXPORTED,
    CloseCause.FORKED: EndCause.FORKED,
}
_CLOSED_ERRORS: dict[CloseCause, type[errors.SessionClosed]] = {
    CloseCause.CLOSED: errors.SessionClosed,
    CloseCause.EXPIRED: errors.SessionExpired,
    CloseCause.AUTH_FAILED: errors.SessionSecretWrong,
    CloseCause.SUPERSEDED: errors.SessionSuperseded,
    CloseCause.EXPORTED: errors.SessionClosed,
    CloseCause.FORKED: errors.ForkedError,
}


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
        self._window = RequestWindow()
        self._window_moved = asyncio.Event()
        self._settled = asyncio.Event()  # Set at each change of state; whoever waits clears it.
        self._acknowledged = asyncio.Event()  # Set at each acknowledged renewal; the next has another.
        self._attached: Link | None = None
        self._hinted: Link | None = None  # The link whose stream has renewed the session: there hints come.
        self._attempt = 0
        self._renew_at = 0.0
        self._refused: errors.TenureError | None = None  # Why it was not renewed: a right or the credential.
        self._denials = Denials(client._rng)
        self._reconciled_at = client._clock.now()
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
        return None if self._machine.cause is None else _ENDS[self._machine.cause]

    @property
    def refusal(self) -> errors.TenureError | None:
        """Why the cluster refuses to renew it: a right is gone, or the credential is not accepted. Otherwise None.

        The session stays as it is until its TTL ends, and continues if the right comes back before.
        """
        return self._refused

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

    def _request_id(self, sequence: int) -> types_pb2.RequestID:
        return types_pb2.RequestID(session_id=self.id, sequence=sequence, done_below=self._window.done_below)

    async def _number(self, limits: Limits) -> Numbered:
        """Numbers a new request, once the window has room."""
        while (sequence := self._window.begin()) is None:
            await self._until_window_moves(min(LOOK_SECONDS, limits.left()))
            limits.check()
        return Numbered(self, sequence)

    async def _until_window_moves(self, timeout: float | None = None) -> None:
        """Waits until a request was answered, or the session is over."""
        self._window_moved.clear()
        await until_set(self._window_moved, timeout)

    def _finish_request(self, sequence: int) -> None:
        self._window.finish(sequence)
        self._window_moved.set()

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
        numbered = await self._number(limits)
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
        cause = _CAUSES.get(type(error))
        if cause is not None and (sure or cause is CloseCause.SUPERSEDED):
            self._stop(cause)
        elif cause is not None:
            self._renew_now()

    def _check_open(self) -> None:
        self._client._guard.check()
        cause = self._machine.cause
        if cause is not None:
            raise _CLOSED_ERRORS[cause](f"session {self.id} is over: {cause}")

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

    def _denied_pause(self, now: float) -> float:
        return self._denials.add(now, self._beat(), self._machine.lease.safe_until - now)

    def _beat(self) -> float:
        return self._machine.lease.beat * self._client._rng.uniform(1 - RENEW_JITTER, 1 + RENEW_JITTER)

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
        asks = self._reconciled_at + RECONCILE_SECONDS if self._attached is not None else float("inf")
        return min(ends, asks, machine.lease.suspect_at)

    def _look(self) -> None:
        """Looks at the clock."""
        self._tick()
        now = self._client._clock.now()
        if now >= self._reconciled_at + RECONCILE_SECONDS and self._attached is not None:
            self._reconciled_at = now
            if self._holdings.losable:
                self._client._spawn(self._reconcile(), "reconcile")

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

    async def _attach(self, link: Link) -> None:
        """Re-attaches through a member: learns the truth, and is renewed at once. Leaves a member that cannot.

        While the right to it is gone it tries ever more rarely.
        """
        give_up = self._client._clock.now() + self._machine.lease.silence
        backoff = Backoff(self._client._rng)
        failures = 0
        while self._machine.cause is None and not link.broken:
            try:
                await self._ask_what_is_held(link, self._machine.lease.silence)
                self._attached = link
                self._renew_now()
                return
            except errors.TenureError as error:
                if type(error) in _CAUSES:
                    self._take_refusal(error, sure=True)
                    return
                self._not_renewed(error)
                if self._refused is not None:  # Any member says the same, and others use the connection.
                    self._suspend()
                    await asyncio.sleep(self._denied_pause(self._client._clock.now()))
                    failures, give_up = 0, self._client._clock.now() + self._machine.lease.silence
                    continue
                failures += 1
                decision = decide(error, failures=failures)
                if decision.move or not decision.retry or self._client._clock.now() >= give_up:
                    link.break_off()
                    return
                await asyncio.sleep(backoff.next(decision.after))

    async def _reconcile(self) -> None:
        """Asks for the truth: a hint may have been lost."""
        if (link := self._attached) is not None:
            with contextlib.suppress(errors.TenureError):
                await self._ask_what_is_held(link, self._machine.lease.silence)

    async def _ask_what_is_held(self, link: Link, timeout: float) -> None:
        asked_at = self._client._clock.now()
        held: set[HoldName] = set()
        page = await self._attach_page(link, timeout, "")
        revision = page.header.revision
        held.update(name_of(h) for h in page.holds)
        while page.next_page_token and not page.places:  # Places come when all holds are told.
            page = await self._attach_page(link, timeout, page.next_page_token)
            held.update(name_of(h) for h in page.holds)
        self._reconciled_at = asked_at
        self._tick()
        self._holdings.compare(held, revision)

    async def _attach_page(self, link: Link, timeout: float, token: str) -> session_pb2.AttachSessionResponse:
        self._attempt += 1
        request = session_pb2.AttachSessionRequest(
            session_id=self.id,
            instance_id=self._instance,
            attempt=self._attempt,
            options=self._options(),
            page_token=token,
        )
        try:
            return await link.unary(ATTACH_SESSION, request, timeout)
        except errors.AttemptOutdated as error:
            self._attempt = max(self._attempt, error.attempt)
            raise

    def _not_renewed(self, error: errors.TenureError) -> None:
        """Notes how an attempt to renew it failed."""
        self._refused = error if isinstance(error, _DENIALS) else None

    def _suspend(self) -> None:
        """Notes that it is not renewed, though the connection is as good as any."""
        self._machine.link_down()
        self._publish()

    def _verdict(self, verdict: session_pb2.RenewalVerdict) -> None:
        """Takes the answer to a renewal over a stream."""
        if verdict.number != self._machine.lease.number:
            return  # It is of a renewal before, perhaps by who used the session before.
        if not verdict.refused:
            if self._renewed(verdict.number, verdict.ttl) and self._hinted is not self._attached:
                self._hinted = self._attached
                if self._holdings.losable:  # What happened to them before this stream was told of.
                    self._client._spawn(self._reconcile(), "reconcile")
            return
        error = _convert.refusal(verdict.refused, f"session {self.id} was not renewed")
        if isinstance(error, _DENIALS) and (link := self._attached) is not None:
            self._client._spawn(self._renew_alone(link, verdict.number), "renew")
        else:
            self._not_renewed_now(verdict.number, error)

    async def _renew_alone(self, link: Link, number: int) -> None:
        """Makes a renewal once more that was denied: a stream shows the token that it began with, this the present one.

        It is also told that the session is over, which a stream does not tell whoever may not renew it.
        """
        request = session_pb2.RenewSessionRequest(session_id=self.id, options=self._options())
        try:
            answer = await link.unary(RENEW_SESSION, request, self._machine.lease.silence)
        except errors.TenureError as error:
            if number == self._machine.lease.number and self._attached is link:
                self._not_renewed_now(number, error)
        else:
            self._renewed(number, answer.session.ttl)

    def _not_renewed_now(self, number: int, error: errors.TenureError) -> None:
        """Takes the refusal of a renewal."""
        now = self._client._clock.now()
        if type(error) in _CAUSES:
            self._take_refusal(error, sure=True)
            return
        self._not_renewed(error)
        if self._refused is not None:
            self._machine.lease.denied(number)
            self._renew_at = now + self._denied_pause(now)
            if self._denials.last(now) >= self._machine.lease.silence:
                self._suspend()
        else:
            self._machine.lease.put_off(number)
            self._renew_at = now + PUT_OFF_SECONDS * self._client._rng.uniform(0.5, 1.5)
        self._client._note(self)

    def _renewed(self, number: int, ttl: Duration) -> bool:
        """Takes the acknowledgement of a renewal. Returns whether it is that of the outstanding one."""
        acknowledges = self._machine.acknowledged(number, _convert.seconds(ttl))
        if acknowledges:
            self._refused = None
            self._denials.clear()
            self._renew_at = self._client._clock.now() + self._beat()
            self._publish()
            acknowledged, self._acknowledged = self._acknowledged, asyncio.Event()
            acknowledged.set()
            if self._holdings.owes and self.safe:
                self._client._spawn(self._holdings.give_back(), "give-back")
        self._client._note(self)
        return acknowledges

    def _hint(self, hint: session_pb2.SessionHint) -> None:
        """Takes a hint about a hold."""
        if hint.WhichOneof("kind") == "lost":
            self._tick()
            self._holdings.lost(hint.lost)

    def _stop(self, cause: CloseCause) -> None:
        """Ends the session here."""
        self._tick()
        self._machine.close(cause)
        self._attached = self._hinted = None
        if self._client._sessions.get(self.id) is self:
            del self._client._sessions[self.id]
        self._holdings.end_all(_ENDS[cause], give_back=False)
        self._publish()
        self._window_moved.set()
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
