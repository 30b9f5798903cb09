"""Locks: queueing, holding, giving back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.entered import Entered
from tenure._core.hold import HoldState
from tenure.aio._acquire import Want, acquire, attempt, new_owner
from tenure.aio._connection import log_failure
from tenure.aio._function import ended_from_inside
from tenure.types import EndCause, Hold, LockInfo, Mode, Place, Sequencer
from tenure.v1 import lock_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._holdings import HoldName
    from tenure.aio._session import Session

T = TypeVar("T")

# How a hold ends that is lost; else it is the program itself that ended it.
_LOSSES = (EndCause.LEASE_RAN_OUT, EndCause.TAKEN_AWAY, EndCause.SESSION_ENDED, EndCause.SUPERSEDED)

# How long a call that was cancelled waits for what it began; then that goes on in the background.
FINISH_SECONDS = 1.0


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
    def _name(self) -> HoldName:
        return self.sequencer.key, self.sequencer.lock_index, self.sequencer.fencing_token

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
        """Until when it is held without a renewal, on CLOCK_BOOTTIME where there is one; -inf when it is not."""
        return float("-inf") if self.session._client._guard.forked else self._state.safe_until

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
            why = "it is being given up" if self._state.doubts else "not yet"
            raise errors.HoldLost(f"{self.key!r} is not held: {self._state.ended or why}")

    def on_lost(self, callback: Callable[[EndCause], Any]) -> Callable[[EndCause], Any]:
        """Registers a callback for the end, called at once if that has come. Also a decorator."""
        if self._state.cause is not None:
            self.session._listeners.line.call(callback, self._state.cause)
        else:
            self._callbacks.append(callback)
        return callback

    async def release(self, *, put: bytes | str | None = None, delete: bool = False) -> bool:
        """Gives it back, with a last value for the key or none. Returns whether it was held until now.

        It is retried until the cluster has answered or the session is over. In a forked child it does nothing.
        """
        if put is not None and delete:
            raise ValueError("a release puts a last value or deletes the key, not both")
        session = self.session
        if session._client._guard.forked:
            return False
        session._tick()
        ended_from_inside(self)
        if not self._end(EndCause.RELEASED):
            return False
        request = lock_pb2.ReleaseLockRequest(
            key=self.sequencer.key, session_id=session.id, lock_index=self.sequencer.lock_index
        )
        if put is not None:
            request.put = put.encode() if isinstance(put, str) else put
        elif delete:
            request.delete = True
        return await until_finished(session, session._holdings.release(self, request), "release")

    def __repr__(self) -> str:
        how = "safe" if self.safe else f"ended: {self.cause}" if self.ended else "not safe"
        return f"<{type(self).__name__} {self.key!r} token {self.token}, {how}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Gives it back. Raises HoldLost if it was lost before, unless another error is on its way."""
        await self.release()
        if kind is None:
            self._check_not_lost()

    def _check_not_lost(self) -> None:
        """Raises HoldLost if it ended by other than what this process did."""
        if self.cause in _LOSSES:
            raise errors.HoldLost(f"{self.key!r} was lost: {self.cause}")

    def _end(self, cause: EndCause, give_back: bool = False) -> bool:
        """Ends it here, and all else that stands for the same hold: flag, event, callbacks."""
        if not self._state.end(cause):
            return False
        for held in self.session._holdings.forget(self, give_back):
            held._tell(cause)
        return True

    def _tell(self, cause: EndCause) -> None:
        self.lost.set()
        for tell in self._at_end:
            tell()
        for callback in self._callbacks:
            self.session._listeners.line.call(callback, cause)


async def until_finished(session: Session, coroutine: Coroutine[Any, Any, bool], name: str) -> bool:
    """Awaits something that goes on when its caller is cancelled; then the log hears how it fails."""
    task = session._client._start_task(coroutine, name)
    try:
        return await until_ended(task)
    except asyncio.CancelledError:
        task.add_done_callback(log_failure)
        raise


async def until_ended(task: asyncio.Task[T]) -> T:
    """Awaits a task that goes on when its caller is cancelled, who then waits for it a moment longer.

    Raises ClientClosed when the end of the client cut it short.
    """
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=FINISH_SECONDS)
        raise
    if task.cancelled():
        raise errors.ClientClosed("the client was closed", applied=None)
    return task.result()


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
        self._entered = Entered[asyncio.Task[Any] | None, Held](lambda task: task is not None and task.done())

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
        """Waits in the queue until the lock is held. Raises WaitTimeout; then nothing is left in the queue.

        A timeout of 0 takes the lock only if it is free and nobody waits. With a value, `applied` of the error tells
        whether it was written by a grant that came before the wait was given up.
        """
        return await acquire(
            self.session, self._want(value), self._timeout if timeout is None else timeout, on_queued, Held
        )

    async def attempt(self, *, value: bytes | str | None = None) -> Held | LockInfo:
        """Takes the lock if it is free and nobody waits; else returns who holds it.

        Raises DeadlineExceeded when no member answers within the client's timeout.
        """
        return await attempt(self.session, self._want(value), Held)

    async def try_acquire(self, *, value: bytes | str | None = None) -> Held | None:
        """Takes the lock if it is free and nobody waits; else returns None."""
        result = await self.attempt(value=value)
        return result if isinstance(result, Held) else None

    async def info(self) -> LockInfo:
        """Returns the lock with its holders and waiters."""
        return await self.session._client.lock_info(self.key)

    async def __aenter__(self) -> Held:
        held = await self.acquire()
        self._entered.enter(asyncio.current_task(), held)
        return held

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Gives it back. Raises HoldLost if it was lost before, unless another error is on its way."""
        await self._entered.leave(asyncio.current_task()).__aexit__(kind)


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
