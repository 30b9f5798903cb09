"""Locks: queueing, holding, giving back."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.backoff import Backoff
from tenure._core.hold import HoldState
from tenure._core.retry import decide
from tenure._rpc import ACQUIRE_LOCK, CANCEL_WAIT, RELEASE_LOCK, TRY_ACQUIRE_LOCK
from tenure.types import EndCause, Hold, LockInfo, Mode, Place, Sequencer
from tenure.v1 import lock_pb2, session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._session import Session

# The cluster's timer ends a wait only if the client's own deadline did not.
BACKSTOP_SECONDS = 5.0
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


def new_owner() -> str:
    """Returns a name for a hold that no other has."""
    return secrets.token_hex(8)


async def acquire(
    session: Session,
    want: Want,
    timeout: float | None,
    on_queued: Callable[[Place], Any] | None,
    kind: type[H],
) -> H:
    """Queues for a lock and returns the hold. What ends early leaves nothing behind."""
    session._check_open()
    task = asyncio.ensure_future(_queue(session, want, timeout, on_queued))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({session._client._spawn(_leave(session, want, task), "leave-queue")}, timeout=LEAVE_SECONDS)
        raise
    if done:
        return await _granted(session, want, task, kind)
    task.cancel()
    await asyncio.wait({session._client._spawn(_leave(session, want, task), "leave-queue")}, timeout=LEAVE_SECONDS)
    raise errors.WaitTimeout(f"{want.key!r} was not granted within {timeout} s")


async def _granted(session: Session, want: Want, task: asyncio.Future[session_pb2.Hold], kind: type[H]) -> H:
    """Returns the hold of a wait that has ended."""
    try:
        hold = task.result()
        await session._until_connected(None)
    except BaseException as error:
        if session._machine.cause is None and not isinstance(error, (errors.InvalidArgument, errors.ConditionFailed)):
            session._client._spawn(_leave(session, want, task), "leave-queue")
        raise
    return _keep(session, hold, kind)


def _keep(session: Session, hold: session_pb2.Hold, kind: type[H]) -> H:
    held = kind(session, session._client._converter.hold(hold), session._held_by_me())
    session._register(held)
    return held


async def _queue(
    session: Session, want: Want, timeout: float | None, on_queued: Callable[[Place], Any] | None
) -> session_pb2.Hold:
    """Waits for a grant, over any reconnect: the place in the queue belongs to session and owner, not to a stream."""
    client = session._client
    sequence = await session._begin_request()
    options = session._options()
    options.owner = want.owner
    options.request_id.CopyFrom(session._request_id(sequence))
    request = lock_pb2.AcquireLockRequest(
        key=want.key,
        session_id=session.id,
        mode=int(want.mode),  # type: ignore[arg-type]
        permits=want.permits,
        limit=want.limit,
        value=want.value,
        wait=None if timeout is None else _convert.duration(timeout + BACKSTOP_SECONDS),
        options=options,
    )

    def queued(place: Place) -> None:
        """The first "queued" ends the request; from then session and owner name the wait."""
        if request.options.HasField("request_id"):
            request.options.ClearField("request_id")
            session._finish_request(sequence)
            if on_queued is not None:
                client._dispatcher.call(on_queued, place)

    backoff = Backoff(client._rng)
    failures = 0
    try:
        while True:
            link = await client._await_link(session._limits())
            try:
                return await _follow(session, link.server_stream(ACQUIRE_LOCK, request), queued)
            except errors.SessionClosed as error:
                session._take_refusal(error, sure=True)
                raise
            except errors.TenureError as error:
                failures += 1
                decision = decide(error, repeatable=True, failures=failures)
                if not decision.retry:
                    raise
                if decision.move:
                    link.break_off()
                await asyncio.sleep(backoff.next(decision.after))
    finally:
        session._finish_request(sequence)


async def _follow(session: Session, stream: Any, queued: Callable[[Place], None]) -> session_pb2.Hold:
    """Follows one stream to its end."""
    try:
        while (answer := await stream.read()) is not None:
            step = answer.WhichOneof("step")
            if step == "queued":
                queued(session._client._converter.place(answer.queued.place))
            elif step == "granted":
                granted: session_pb2.Hold = answer.granted
                return granted
            elif step == "rejected":
                error = _WAIT_ERRORS.get(answer.rejected.cause, errors.WaitBroken)
                raise error(answer.rejected.reason or "the wait was ended", metadata={"reason": answer.rejected.reason})
    finally:
        stream.cancel()
    raise errors.LinkLost("the wait's stream ended early", applied=None)


async def _leave(session: Session, want: Want, task: asyncio.Future[Any]) -> None:
    """Gives up a place, and the hold if the grant came first."""
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # It has been told, or nobody wants it.
    if session._machine.cause is not None:
        return
    try:
        cancel = lock_pb2.CancelWaitRequest(key=want.key, session_id=session.id)
        answer = await session._change(CANCEL_WAIT, cancel, owner=want.owner)
        if answer.HasField("hold"):
            release = lock_pb2.ReleaseLockRequest(
                key=want.key, session_id=session.id, lock_index=answer.hold.sequencer.lock_index
            )
            await session._change(RELEASE_LOCK, release, owner=want.owner)
    except errors.SessionClosed:
        return


class Held:
    """A lock that is held.

    `safe` tells whether it is held at this moment; `lost` is set when it ends. It ends at the latest when the session's
    lease can no longer be believed, before the cluster could give the lock to another because of that. What ended stays
    ended.
    """

    def __init__(self, session: Session, hold: Hold, state: HoldState) -> None:
        self.session = session
        self.hold = hold
        self.key = session._client._namespace.short(hold.sequencer.key)
        self.lost = asyncio.Event()
        self._state = state
        self._callbacks: list[Callable[[EndCause], Any]] = []
        self._at_end: list[Callable[[], None]] = []  # Called by the library's own task; they must not block.

    @property
    def sequencer(self) -> Sequencer:
        """Proof of the hold, to be passed on."""
        return self.hold.sequencer

    @property
    def token(self) -> int:
        """Fencing token: larger with every grant in the cluster."""
        return self.hold.sequencer.fencing_token

    @property
    def owner(self) -> str:
        """Name of the hold within its session."""
        return self.hold.owner

    @property
    def mode(self) -> Mode:
        """How the lock is shared."""
        return self.hold.mode

    @property
    def safe(self) -> bool:
        """Whether it is held at this moment, by the clock; False in a forked child."""
        return self._state.safe and not self.session._client._guard.forked

    @property
    def safe_until(self) -> float:
        """Until when it is held even if no renewal succeeds, on CLOCK_BOOTTIME where there is one."""
        return self._state.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it is held even if no renewal succeeds."""
        return self._state.safe_for if self.safe else 0.0

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.cause is not None

    @property
    def cause(self) -> EndCause | None:
        """Why it ended; None before."""
        return EndCause.FORKED if self.session._client._guard.forked else self._state.ended

    @property
    def guard(self) -> types_pb2.Guard:
        """The hold as a condition of writes."""
        return types_pb2.Guard(held=_convert.sequencer_message(self.sequencer))

    def check(self) -> None:
        """Raises HoldLost unless it is held at this moment."""
        self.session._client._guard.check()
        if not self._state.safe:
            raise errors.HoldLost(f"{self.key!r} is not held: {self._state.ended or 'not yet'}")

    def on_lost(self, callback: Callable[[EndCause], Any]) -> Callable[[EndCause], Any]:
        """Registers a callback for the end, called at once if that has come. Also a decorator."""
        if self._state.cause is not None:
            self.session._client._dispatcher.call(callback, self._state.cause)
        else:
            self._callbacks.append(callback)
        return callback

    async def release(self, *, put: bytes | str | None = None, delete: bool = False) -> bool:
        """Gives it back, with a last value for the key or none. Returns whether it was held until now.

        It is retried until the cluster has answered or the session is over. In a forked child it does nothing.
        """
        session = self.session
        if session._client._guard.forked:
            return False
        session._tick()
        if not self._end(EndCause.RELEASED):
            return False
        name = (self.sequencer.key, self.sequencer.lock_index)
        if session._client._clock.now() < self._state.safe_from:
            session._to_release[name] = (self.owner, self._state.safe_from)
            return True
        request = lock_pb2.ReleaseLockRequest(
            key=self.sequencer.key, session_id=session.id, lock_index=self.sequencer.lock_index
        )
        if put is not None:
            request.put = put.encode() if isinstance(put, str) else put
        elif delete:
            request.delete = True
        return await _until_released(session, self._send_release(request))

    async def _send_release(self, request: lock_pb2.ReleaseLockRequest) -> bool:
        try:
            return (await self.session._change(RELEASE_LOCK, request, owner=self.owner)).released
        except errors.SessionClosed:
            return False  # Nothing is held any more.
        except errors.Unavailable:
            name = (self.sequencer.key, self.sequencer.lock_index)
            self.session._to_release[name] = (self.owner, self._state.safe_from)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    def _end(self, cause: EndCause, give_back: bool = False) -> bool:
        """Ends it here: flag, event, callbacks."""
        if not self._state.end(cause):
            return False
        self.lost.set()
        for tell in self._at_end:
            tell()
        for callback in self._callbacks:
            self.session._client._dispatcher.call(callback, cause)
        self.session._forget(self, give_back)
        return True


async def _until_released(session: Session, coroutine: Coroutine[Any, Any, bool]) -> bool:
    """Awaits a release that goes on when its caller is cancelled."""
    task = session._client._spawn(coroutine, "release")
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=LEAVE_SECONDS)
        raise


class Lock:
    """A lock by name. Each acquisition has an owner of its own, so tasks may share a Lock like an asyncio.Lock."""

    def __init__(
        self,
        session: Session,
        key: str,
        *,
        mode: Mode = Mode.EXCLUSIVE,
        permits: int = 0,
        limit: int = 0,
        timeout: float | None = None,
        owner: str | None = None,
    ) -> None:
        self.session = session
        self.key = key
        self._mode = mode
        self._permits = permits
        self._limit = limit
        self._timeout = timeout
        self._owner = owner
        self._entered: dict[asyncio.Task[Any] | None, list[Held]] = {}

    def _want(self, value: bytes | str | None, permits: int | None = None) -> Want:
        return Want(
            key=self.session._client._namespace.key(self.key),
            owner=new_owner() if self._owner is None else self._owner,
            mode=self._mode,
            permits=self._permits if permits is None else permits,
            limit=self._limit,
            value=value.encode() if isinstance(value, str) else value,
        )

    async def acquire(
        self,
        timeout: float | None = None,
        *,
        value: bytes | str | None = None,
        on_queued: Callable[[Place], Any] | None = None,
    ) -> Held:
        """Waits in the queue until the lock is held. Raises WaitTimeout; then nothing is left in the queue."""
        return await acquire(
            self.session, self._want(value), self._timeout if timeout is None else timeout, on_queued, Held
        )

    async def attempt(self, *, value: bytes | str | None = None) -> Held | LockInfo:
        """Takes the lock if it is free and nobody waits; else returns who holds it."""
        want = self._want(value)
        request = lock_pb2.TryAcquireLockRequest(
            key=want.key,
            session_id=self.session.id,
            mode=int(want.mode),  # type: ignore[arg-type]
            permits=want.permits,
            limit=want.limit,
            value=want.value,
        )
        answer = await self.session._change(TRY_ACQUIRE_LOCK, request, owner=want.owner)
        if not answer.acquired:
            return self.session._client._converter.lock(answer.lock)
        await self.session._until_connected(None)
        return _keep(self.session, answer.hold, Held)

    async def try_acquire(self, *, value: bytes | str | None = None) -> Held | None:
        """Takes the lock if it is free and nobody waits; else returns None."""
        result = await self.attempt(value=value)
        return result if isinstance(result, Held) else None

    async def info(self) -> LockInfo:
        """Returns the lock with its holders and waiters."""
        return await self.session._client.lock_info(self.key)

    async def __aenter__(self) -> Held:
        held = await self.acquire()
        self._entered.setdefault(asyncio.current_task(), []).append(held)
        return held

    async def __aexit__(self, *_: object) -> None:
        task = asyncio.current_task()
        held = self._entered[task].pop()
        if not self._entered[task]:
            del self._entered[task]
        await held.release()


class ReadWriteLock:
    """Many readers or one writer; nobody passes the queue, so writers do not starve."""

    def __init__(self, session: Session, key: str, *, timeout: float | None = None) -> None:
        self.key = key
        self.read = Lock(session, key, mode=Mode.SHARED, timeout=timeout)
        self.write = Lock(session, key, mode=Mode.EXCLUSIVE, timeout=timeout)


class Semaphore(Lock):
    """A lock of `limit` permits, of which an acquisition takes `permits`."""

    def __init__(
        self,
        session: Session,
        key: str,
        limit: int,
        *,
        permits: int = 1,
        timeout: float | None = None,
        owner: str | None = None,
    ) -> None:
        super().__init__(session, key, mode=Mode.SEMAPHORE, permits=permits, limit=limit, timeout=timeout, owner=owner)
