"""Waits for locks, over any reconnect, that leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tenure import _convert, errors
from tenure._core.backoff import Backoff
from tenure._core.retry import decide
from tenure._rpc import ACQUIRE_LOCK, TRY_ACQUIRE_LOCK
from tenure.aio._wait import stop
from tenure.types import LockInfo, Mode, Place
from tenure.v1 import lock_pb2, session_pb2

if TYPE_CHECKING:
    from tenure.aio._holdings import Leaving, OwnName
    from tenure.aio._link import Link
    from tenure.aio._lock import Held
    from tenure.aio._numbered import Numbered
    from tenure.aio._session import Session

# The cluster's timer ends a wait only if the client's own deadline did not.
BACKSTOP_SECONDS = 5.0
# What is longer has no end for the cluster: a hundred years.
WAIT_SECONDS_MAX = 100 * 365 * 86_400.0
# How long a wait that was given up waits for the cluster to know; then that goes on in the background.
LEAVE_SECONDS = 1.0

_WAIT_ERRORS: dict[int, type[errors.TenureError]] = {
    lock_pb2.WAIT_END_CAUSE_TIMED_OUT: errors.WaitTimeout,
    lock_pb2.WAIT_END_CAUSE_SESSION_ENDED: errors.SessionExpired,
}

H = TypeVar("H", bound="Held")


@dataclass(frozen=True)
class Want:
    """Who wants which lock."""

    key: str  # with namespace
    owner: str
    mode: Mode
    permits: int = 0
    limit: int = 0
    value: bytes | None = None

    @property
    def own(self) -> OwnName:
        """What names the hold or place within its session."""
        return self.key, self.owner


def _named(session: Session, want: Want) -> str:
    """Returns the key as the program knows it, and as the cluster does if that differs."""
    short = session._client._namespace.short(want.key)
    return f"{short!r}" if short == want.key else f"{short!r} (in the cluster {want.key!r})"


def _held_by(lock: LockInfo | None) -> str:
    """Returns who holds a lock, for the end of a message: the first holder, or the one whose lock-delay is left."""
    if lock is None:
        return ""
    for holds, what in ((lock.holds, "held by"), (lock.delayed, "lock-delay after a hold by")):
        if holds:
            return f": {what} {holds[0].session_name!r} (session {holds[0].sequencer.session_id})"
    return ""


def new_owner() -> str:
    """Returns a name for a hold that no other hold has."""
    return secrets.token_hex(8)


async def acquire(
    session: Session,
    want: Want,
    timeout: float | None,
    on_queued: Callable[[Place], Any] | None,
    kind: type[H],
) -> H:
    """Queues for a lock and returns the hold. What ends early leaves nothing behind."""
    if timeout is not None:
        _convert.check_seconds(timeout)
    if timeout is not None and timeout <= 0:
        taken = await attempt(session, want, kind)
        if isinstance(taken, LockInfo):
            raise errors.WaitTimeout(f"{_named(session, want)} is not free{_held_by(taken)}")
        return taken
    session._check_waits()
    with session._holdings.waiting(want.own):
        return await _Wait(session, want, timeout, on_queued).run(kind)


async def attempt(session: Session, want: Want, kind: type[H]) -> H | LockInfo:
    """Takes a lock if it is free and nobody waits; else returns who holds it. What ends early leaves nothing behind.

    It does not wait, so it goes on for the client's timeout at most.
    """
    session._check_waits()
    limits = session._limits(session._client.timeout)
    holdings = session._holdings
    request = lock_pb2.TryAcquireLockRequest(
        key=want.key,
        session_id=session.id,
        mode=int(want.mode),  # type: ignore[arg-type]
        permits=want.permits,
        limit=want.limit,
        value=want.value,
    )
    with holdings.waiting(want.own):
        while True:
            await holdings.until_given_back(want.own, limits)
            acquired = False
            try:
                answer = await session._change(TRY_ACQUIRE_LOCK, request, owner=want.owner, limits=limits)
                acquired = answer.acquired
                if not acquired:
                    return session._client._converter.lock(answer.lock)
                await holdings.until_believed(answer.hold, limits)
                if not holdings.goes_back(answer.hold):
                    return holdings.keep(answer.hold, kind)
            except BaseException as error:
                if acquired or not (isinstance(error, errors.TenureError) and error.applied is False):
                    holdings.leave(want.own)
                if acquired and want.value is not None and isinstance(error, errors.TenureError):
                    error.applied = None  # The grant wrote the value, unless it was one of before.
                raise


class _Wait:
    """One wait for a lock, over as many streams as it takes."""

    def __init__(
        self, session: Session, want: Want, timeout: float | None, on_queued: Callable[[Place], Any] | None
    ) -> None:
        self._session = session
        self._want = want
        self._timeout = timeout
        self._on_queued = on_queued
        self._numbered: Numbered | None = (
            None  # Of a stream that has no answer yet; another one for want of it has it, too.
        )
        self._sent = False
        self._queued = False
        self._lock: LockInfo | None = None  # When the wait began, or began again.
        self._answers = 0  # Of which one may have been a place or a hold.
        self._settled = False  # Whether there is nothing to give up.
        self._failures = 0

    async def run(self, kind: type[H]) -> H:
        """Waits, and returns the hold."""
        session = self._session
        end = None if self._timeout is None else session._client._clock.now() + self._timeout
        while True:
            hold = await self._until(end)
            if not session._holdings.goes_back(hold):
                try:
                    return session._holdings.keep(hold, kind)
                except errors.SessionClosed as error:
                    self._doubt(error)
                    raise

    async def _until(self, end: float | None) -> session_pb2.Hold:
        """Waits for a grant until then."""
        session = self._session
        task = asyncio.ensure_future(self._wait())
        over = asyncio.ensure_future(session._no_waits.wait())
        left = None if end is None else max(0.0, end - session._client._clock.now())
        try:
            await asyncio.wait({task, over}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            handed_over = over.done()
        except asyncio.CancelledError:
            await self._give_up(task)
            raise
        except errors.TenureError as error:
            if not self._settled and session._machine.cause is None:
                session._holdings.leave(self._want.own)
            self._doubt(error)
            raise
        finally:
            over.cancel()
        leaving = await self._give_up(task)
        applied = False if self._want.value is None else self._applied(leaving)
        try:
            session._check_waits()
            if handed_over:  # That was cancelled since; the place is gone all the same.
                raise errors.SessionClosed(f"session {session.id} was being handed over")
        except errors.SessionClosed as error:
            error.applied = applied
            raise
        raise errors.WaitTimeout(
            f"{_named(session, self._want)} was not granted within {self._timeout} s{_held_by(self._lock)}",
            applied=applied,
        )

    async def _give_up(self, task: asyncio.Future[Any]) -> Leaving | None:
        """Gives up the place, and waits a moment for the cluster to know."""
        leaving = None
        try:
            await stop(task)
        finally:  # Also when it is cancelled once more meanwhile.
            if self._sent and not self._settled:
                leaving = self._session._holdings.leave(self._want.own)
        if leaving is None:
            return None
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(leaving.over.wait(), LEAVE_SECONDS)
        return leaving

    def _doubt(self, error: errors.TenureError) -> None:
        """Says of what ended the wait that a grant may have come first, which wrote the value."""
        if self._want.value is not None and self._sent and not self._settled:
            error.applied = None

    @staticmethod
    def _applied(leaving: Leaving | None) -> bool | None:
        """Returns whether a grant wrote the value before the place was given up."""
        if leaving is None:
            return False
        return True if leaving.granted else False if leaving.known else None

    async def _wait(self) -> session_pb2.Hold:
        """Waits for a grant: the place in the queue belongs to session and owner, not to a stream."""
        session, client = self._session, self._session._client
        backoff = Backoff(client._rng)
        try:
            while True:
                limits = session._limits()
                await session._holdings.until_given_back(self._want.own, limits)
                link = await client._await_link(limits)
                if self._numbered is None:
                    self._numbered = await session._requests.begin(limits)
                try:
                    hold = await self._follow(link)
                    self._answered()
                    await session._holdings.until_believed(hold)
                    return hold
                except errors.TenureError as error:
                    decision = self._failed(error)
                    if isinstance(error, errors.SessionClosed):
                        session._take_refusal(error, sure=True)
                    if decision is None:
                        raise
                    if decision.move:
                        link.break_off()
                    await asyncio.sleep(backoff.next(decision.after))
        finally:
            self._answered()

    def _failed(self, error: errors.TenureError) -> Any:
        """Returns what to do after a stream has failed; None when that is final."""
        self._failures += 1
        if self._numbered is not None:
            self._numbered.failed(error)
        decision = decide(error, failures=self._failures)
        if decision.retry:
            return decision
        # An earlier stream may have left a place.
        self._settled = self._settled or (error.applied is False and not self._answers and self._failures == 1)
        return None

    def _answered(self) -> None:
        """Notes that the stream has an answer: from then on session and owner name the wait."""
        if self._numbered is not None:
            self._numbered.finish()
            self._numbered = None

    def _request(self) -> lock_pb2.AcquireLockRequest:
        session, want = self._session, self._want
        wait = None
        if self._timeout is not None and not self._timeout > WAIT_SECONDS_MAX:
            wait = _convert.duration(self._timeout + BACKSTOP_SECONDS)
        options = session._options()
        options.owner = want.owner
        if self._numbered is not None:
            self._numbered.prepare(options)
        return lock_pb2.AcquireLockRequest(
            key=want.key,
            session_id=session.id,
            mode=int(want.mode),  # type: ignore[arg-type]
            permits=want.permits,
            limit=want.limit,
            value=want.value,
            wait=wait,
            options=options,
        )

    async def _follow(self, link: Link) -> session_pb2.Hold:
        """Follows one stream to its end."""
        client = self._session._client
        self._sent = True
        stream = link.server_stream(ACQUIRE_LOCK, self._request())
        try:
            while (answer := await stream.read()) is not None:
                self._answered()
                self._failures = 0
                self._answers += 1
                step = answer.WhichOneof("step")
                if step == "granted":
                    return answer.granted
                if step == "rejected":
                    self._settled = True
                    error = _WAIT_ERRORS.get(answer.rejected.cause, errors.WaitBroken)
                    reason = answer.rejected.reason
                    raise error(reason or "the wait was ended", metadata={"reason": reason})
                if step == "queued":
                    self._lock = client._converter.lock(answer.queued.lock)
                if step == "queued" and not self._queued:
                    self._queued = True
                    if self._on_queued is not None:
                        self._session._listeners.line.call(
                            self._on_queued, client._converter.place(answer.queued.place)
                        )
        finally:
            stream.cancel()
        raise errors.LinkLost("the wait's stream ended early", applied=None)
