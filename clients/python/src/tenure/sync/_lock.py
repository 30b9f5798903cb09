"""Locks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from tenure import aio
from tenure._core.entered import Entered
from tenure.sync._portal import Portal
from tenure.types import EndCause, Hold, LockInfo, Mode, Place, Sequencer
from tenure.v1 import types_pb2


class Held:
    """A lock that is held.

    `safe` tells whether it is held at this moment; `lost` is set when it ends. It ends at the latest when the session's
    lease can no longer be believed, before the cluster could give the lock to another because of that. What ended stays
    ended.
    """

    def __init__(self, portal: Portal, held: aio.Held) -> None:
        self._portal = portal
        self._aio = held
        self.key = held.key
        self.lost = threading.Event()
        held._at_end.append(self.lost.set)
        if held._state.cause is not None:  # Looked at after that: the end is told by one of the two at least.
            self.lost.set()

    @property
    def hold(self) -> Hold:
        """The hold as the cluster granted it."""
        return self._aio.hold

    @property
    def sequencer(self) -> Sequencer:
        """Proof of the hold, to be passed on."""
        return self._aio.sequencer

    @property
    def token(self) -> int:
        """Fencing token: larger with every grant in the cluster."""
        return self._aio.token

    @property
    def owner(self) -> str:
        """Name of the hold within its session."""
        return self._aio.owner

    @property
    def mode(self) -> Mode:
        """How the lock is shared."""
        return self._aio.mode

    @property
    def safe(self) -> bool:
        """Whether it is held at this moment, by the clock; False in a forked child."""
        return self._aio.safe

    @property
    def safe_until(self) -> float:
        """Until when it is held without a renewal, on CLOCK_BOOTTIME where there is one; -inf when it is not."""
        return self._aio.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it is held even if no renewal succeeds."""
        return self._aio.safe_for

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._aio.ended

    @property
    def cause(self) -> EndCause | None:
        """Why it ended; None before."""
        return self._aio.cause

    @property
    def guard(self) -> types_pb2.Guard:
        """The hold as a condition of writes."""
        return self._aio.guard

    def check(self) -> None:
        """Raises HoldLost unless it is held at this moment."""
        self._aio.check()

    def on_lost(self, callback: Callable[[EndCause], Any]) -> Callable[[EndCause], Any]:
        """Registers a callback for the end, called at once if that has come. Also a decorator."""
        self._portal.call(lambda: self._aio.on_lost(callback))
        return callback

    def release(self, *, put: bytes | str | None = None, delete: bool = False) -> bool:
        """Gives it back, with a last value for the key or none. Returns whether it was held until now.

        It is retried until the cluster has answered or the session is over. In a forked child it does nothing.
        """
        if self._aio._state.cause is not None or self._aio.session._client._guard.forked or self._portal.closed:
            return False
        return self._portal.run(self._aio.release(put=put, delete=delete))

    def __repr__(self) -> str:
        return repr(self._aio)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Gives it back. Raises HoldLost if it was lost before, unless another error is on its way."""
        self.release()
        if kind is None:
            self._aio._check_not_lost()


class Lock:
    """A lock by name. Each acquisition has an owner of its own, so threads may share a Lock like a threading.Lock."""

    def __init__(self, portal: Portal, lock: aio.Lock) -> None:
        self._portal = portal
        self._aio = lock
        self.key = lock.key
        self._lock = threading.Lock()  # Guards what follows.
        self._entered = Entered[threading.Thread, Held](lambda thread: not thread.is_alive())

    def acquire(
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
        acquiring = self._aio.acquire(timeout, value=value, on_queued=on_queued)
        return Held(self._portal, self._portal.run(acquiring, undo=give_back))

    def attempt(self, *, value: bytes | str | None = None) -> Held | LockInfo:
        """Takes the lock if it is free and nobody waits; else returns who holds it.

        Raises DeadlineExceeded when no member answers within the client's timeout.
        """
        result = self._portal.run(self._aio.attempt(value=value), undo=give_back)
        return result if isinstance(result, LockInfo) else Held(self._portal, result)

    def try_acquire(self, *, value: bytes | str | None = None) -> Held | None:
        """Takes the lock if it is free and nobody waits; else returns None."""
        result = self.attempt(value=value)
        return None if isinstance(result, LockInfo) else result

    def info(self) -> LockInfo:
        """Returns the lock with its holders and waiters."""
        return self._portal.run(self._aio.info())

    def __enter__(self) -> Held:
        held = self.acquire()
        with self._lock:
            self._entered.enter(threading.current_thread(), held)
        return held

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Gives it back. Raises HoldLost if it was lost before, unless another error is on its way."""
        if self._portal._guard.forked:  # Who has taken the lock here may be another thread of the parent.
            return
        with self._lock:
            held = self._entered.leave(threading.current_thread())
        held.__exit__(kind)


async def give_back(result: aio.Held | LockInfo) -> None:
    """Releases what was acquired for a caller that was interrupted."""
    if isinstance(result, aio.Held):
        await result.release()


class ReadWriteLock:
    """Many readers or one writer; nobody passes the queue, so writers do not starve."""

    def __init__(self, portal: Portal, lock: aio.ReadWriteLock) -> None:
        self.key = lock.key
        self.read = Lock(portal, lock.read)
        self.write = Lock(portal, lock.write)


class Semaphore(Lock):
    """A lock of `limit` permits, of which an acquisition takes `permits`."""
