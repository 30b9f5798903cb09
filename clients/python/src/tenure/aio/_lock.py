"""Locks: queueing, holding, giving back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.entered import Entered
from tenure._core.hold import HoldState
from tenure.aio._acquire import Want, acquire, attempt, new_owner
from tenure.aio._function import ended_from_inside
from tenure.aio._tasks import log_failure
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

    `safe` says whether it is held at this moment, and `lost` is an event that is set when it ends. If the session is
    not renewed, it ends with the session's lease, before an expiry can give the lock to another client. A Held that has
    ended never becomes valid again.
    """

    def __init__(self, session: Session, hold: Hold, state: HoldState) -> None:
        self.session = session
        self.hold = hold
        self.key = session._client._namespace.short(hold.sequencer.key)
        self.lost = asyncio.Event()
        self._state = state
        self._lost_unheard: EndCause | None = None  # How it was lost, if only the answer to its release told that.
        self._callbacks: list[Callable[[EndCause], Any]] = []
        self._at_end: list[Callable[[], None]] = []  # Called by the library's own task; they must not block.

    @property
    def _name(self) -> HoldName:
        return self.sequencer.key, self.sequencer.lock_index, self.sequencer.fencing_token

    @property
    def sequencer(self) -> Sequencer:
        """Proof of the hold, which can be passed on to other processes."""
        return self.hold.sequencer

    @property
    def token(self) -> int:
        """Fencing token: larger than that of every earlier hold in the cluster."""
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
        """Whether it is certainly held at this moment. It reads the clock, not the network. False in a forked child."""
        return self._state.safe and not self.session._client._guard.forked

    @property
    def safe_until(self) -> float:
        """When the hold ends without a further renewal, as a time of CLOCK_BOOTTIME, in seconds; -inf if it has ended.

        Without CLOCK_BOOTTIME it is a time of the library's own clock; use `safe_for`.
        """
        return float("-inf") if self.session._client._guard.forked else self._state.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it is certainly held, even if no further renewal succeeds; 0 if it is not."""
        return self._state.safe_for if self.safe else 0.0

    @property
    def ended(self) -> bool:
        """Whether the hold has ended."""
        return self.cause is not None

    @property
    def cause(self) -> EndCause | None:
        """Why the hold ended; None before that."""
        return EndCause.FORKED if self.session._client._guard.forked else self._state.ended

    @property
    def guard(self) -> types_pb2.Guard:
        """The hold as a condition of a write; usually you pass the Held itself, as in `guards=[held]`."""
        return types_pb2.Guard(held=_convert.sequencer_message(self.sequencer))

    def check(self) -> None:
        """Raises HoldLost unless the lock is certainly held at this moment."""
        self.session._client._guard.check()
        if not self._state.safe:
            why = "it is being given up" if self._state.doubts else "not yet"
            raise errors.HoldLost(f"{self.key!r} is not held: {self._state.ended or why}")

    def on_lost(self, callback: Callable[[EndCause], Any]) -> Callable[[EndCause], Any]:
        """Registers a callback for the end of the hold, however it ends. Also a decorator.

        It gets the cause, and is called immediately if the hold has ended.
        """
        if self._state.cause is not None:
            self.session._listeners.line.call(callback, self._state.cause)
        else:
            self._callbacks.append(callback)
        return callback

    async def release(self, *, put: bytes | str | None = None, delete: bool = False) -> bool:
        """Releases the lock. Returns whether it was held until now.

        `put` writes a last value to its key; `delete` deletes the key. The release is retried until the cluster has
        answered or the session has ended. In a forked child it does nothing and returns False.
        """
        if put is not None and delete:
            raise ValueError("a release puts a last value or deletes the key, not both")
        session = self.session
        if session._client._guard.forked:
            return False
        request = lock_pb2.ReleaseLockRequest(
            key=self.sequencer.key, session_id=session.id, lock_index=self.sequencer.lock_index
        )
        if put is not None:
            request.put = _convert.to_bytes(put)
        elif delete:
            request.delete = True
        session._tick()
        ended_from_inside(self)
        if not self._end(EndCause.RELEASED):  # From here on it must be sent.
            return False
        return await until_finished(session._client._tasks.start(session._holdings.release(self, request), "release"))

    def __repr__(self) -> str:
        how = "safe" if self.safe else f"ended: {self.cause}" if self.ended else "not safe"
        return f"<{type(self).__name__} {self.key!r} token {self.token}, {how}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Releases it. Raises HoldLost if it was lost before that, unless another exception is being raised."""
        await self.release()
        if kind is None:
            self._check_not_lost()

    def _check_not_lost(self) -> None:
        """Raises HoldLost if it ended for another reason than an action of this process."""
        if self.cause in _LOSSES:
            raise errors.HoldLost(f"{self.key!r} was lost: {self.cause}")
        if self._lost_unheard is not None:
            raise errors.HoldLost(f"{self.key!r} was lost before its release: {self._lost_unheard}")

    def _note_loss(self, cause: EndCause | None) -> None:
        """Takes how it had ended before its release, as the answer to that tells."""
        if not self._state.doubts and cause in _LOSSES:  # In doubt, what passes it on ended it.
            self._lost_unheard = cause

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


async def until_finished(task: asyncio.Task[T]) -> T:
    """Awaits a task that goes on when its caller is cancelled; then the log hears how it fails."""
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
    """A lock on a key. Tasks can share it like an asyncio.Lock: each acquisition has its own owner.

    With `session.lock(key, owner="me")`, all acquisitions have that owner: they share one hold, and one release ends
    it.
    """

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
            value=None if value is None else _convert.to_bytes(value),
        )

    async def acquire(
        self,
        timeout: float | None = None,
        *,
        value: bytes | str | None = None,
        on_queued: Callable[[Place], Any] | None = None,
    ) -> Held:
        """Waits in the queue until the lock is held. Raises WaitTimeout after `timeout` seconds.

        A `timeout` of None is that of the Lock; if that is None too, it waits as long as the session lives. With a
        timeout of 0 or less it acquires the lock only if it is free and no client waits. However the wait ends, no
        place and no hold remains for it.

        `value` is written to the lock's key in the same step; `applied` of an error says whether that happened, because
        the lock may have been granted just before the wait was given up. `on_queued` is called with the Place if the
        lock is not free.
        """
        return await acquire(
            self.session, self._want(value), self._timeout if timeout is None else timeout, on_queued, Held
        )

    async def attempt(self, *, value: bytes | str | None = None) -> Held | LockInfo:
        """Acquires the lock if it is free and no client waits; otherwise returns its LockInfo, with the holders.

        Raises DeadlineExceeded if no member answers within the client's timeout.
        """
        return await attempt(self.session, self._want(value), Held)

    async def try_acquire(self, *, value: bytes | str | None = None) -> Held | None:
        """Acquires the lock if it is free and no client waits; otherwise returns None. Raises as `attempt` does."""
        result = await self.attempt(value=value)
        return result if isinstance(result, Held) else None

    async def info(self) -> LockInfo:
        """Returns the lock with its holders and waiters."""
        return await self.session._client.lock_info(self.key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"

    async def __aenter__(self) -> Held:
        held = await self.acquire()
        self._entered.enter(asyncio.current_task(), held)
        return held

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Releases it. Raises HoldLost if it was lost before that, unless another exception is being raised."""
        await self._entered.leave(asyncio.current_task()).__aexit__(kind)


class ReadWriteLock:
    """Many readers or one writer: `async with lock.read`, `async with lock.write`.

    No reader skips the queue, so writers do not starve.
    """

    def __init__(self, session: Session, key: str, *, timeout: float | None = None) -> None:
        self.key = key
        self.read = Lock(session, key, mode=Mode.SHARED, timeout=timeout)
        self.write = Lock(session, key, mode=Mode.EXCLUSIVE, timeout=timeout)


class Semaphore(Lock):
    """A lock with `limit` permits, of which each acquisition takes `permits`.

    The first holder sets the limit: another limit raises LockModeMismatch while the lock is in use.
    """

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
