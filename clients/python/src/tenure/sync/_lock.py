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

    `safe` says whether it is held at this moment, and `lost` is an event that is set when it ends. If the session is
    not renewed, it ends with the session's lease, before an expiry can give the lock to another client. A Held that has
    ended never becomes valid again. Any thread can use it.
    """

    def __init__(self, portal: Portal, held: aio.Held) -> None:
        self._portal = portal
        self._aio = held
        self.key = held.key
        self.lost = threading.Event()
        held._at_end.append(self.lost.set)
        if held._state.cause is not None:  # Read after that, so that one of the two reports the end.
            self.lost.set()

    @property
    def hold(self) -> Hold:
        """The hold as the cluster granted it."""
        return self._aio.hold

    @property
    def sequencer(self) -> Sequencer:
        """Proof of the hold, which can be passed on to other processes."""
        return self._aio.sequencer

    @property
    def token(self) -> int:
        """Fencing token: larger than that of every earlier hold in the cluster."""
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
        """Whether it is certainly held at this moment. It reads the clock, not the network. False in a forked child."""
        return self._aio.safe

    @property
    def safe_until(self) -> float:
        """When the hold ends without a further renewal, as a time of CLOCK_BOOTTIME, in seconds; -inf if it has ended.

        Without CLOCK_BOOTTIME it is a time of the library's own clock; use `safe_for`.
        """
        return self._aio.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it is certainly held, even if no further renewal succeeds; 0 if it is not."""
        return self._aio.safe_for

    @property
    def ended(self) -> bool:
        """Whether the hold has ended."""
        return self._aio.ended

    @property
    def cause(self) -> EndCause | None:
        """Why the hold ended; None before that."""
        return self._aio.cause

    @property
    def guard(self) -> types_pb2.Guard:
        """The hold as a condition of a write; usually you pass the Held itself, as in `guards=[held]`."""
        return self._aio.guard

    def check(self) -> None:
        """Raises HoldLost unless the lock is certainly held at this moment."""
        self._aio.check()

    def on_lost(self, callback: Callable[[EndCause], Any]) -> Callable[[EndCause], Any]:
        """Registers a callback for the end of the hold, however it ends. Also a decorator.

        It gets the cause, and is called immediately if the hold has ended.
        """
        self._portal.call(lambda: self._aio.on_lost(callback))
        return callback

    def release(self, *, put: bytes | str | None = None, delete: bool = False) -> bool:
        """Releases the lock. Returns whether it was held until now.

        `put` writes a last value to its key; `delete` deletes the key. The release is retried until the cluster has
        answered or the session has ended. In a forked child it does nothing and returns False.
        """
        if self._aio._state.cause is not None or self._aio.session._client._guard.forked or self._portal.closed:
            return False
        return self._portal.run(self._aio.release(put=put, delete=delete))

    def __repr__(self) -> str:
        return repr(self._aio)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Releases it. Raises HoldLost if it was lost before that, unless another exception is being raised."""
        self.release()
        if kind is None:
            self._aio._check_not_lost()


class Lock:
    """A lock on a key. Threads can share it like a threading.Lock: each acquisition has its own owner.

    With `session.lock(key, owner="me")`, all acquisitions have that owner: they share one hold, and one release ends
    it.
    """

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
        """Waits in the queue until the lock is held. Raises WaitTimeout after `timeout` seconds.

        A `timeout` of None is that of the Lock; if that is None too, it waits as long as the session lives. With a
        timeout of 0 or less it acquires the lock only if it is free and no client waits. However the wait ends, no
        place and no hold remains for it.

        `value` is written to the lock's key in the same step; `applied` of an error says whether that happened, because
        the lock may have been granted just before the wait was given up. `on_queued` is called with the Place if the
        lock is not free.
        """
        acquiring = self._aio.acquire(timeout, value=value, on_queued=on_queued)
        return Held(self._portal, self._portal.run(acquiring, undo=give_back))

    def attempt(self, *, value: bytes | str | None = None) -> Held | LockInfo:
        """Acquires the lock if it is free and no client waits; otherwise returns its LockInfo, with the holders.

        Raises DeadlineExceeded if no member answers within the client's timeout.
        """
        result = self._portal.run(self._aio.attempt(value=value), undo=give_back)
        return result if isinstance(result, LockInfo) else Held(self._portal, result)

    def try_acquire(self, *, value: bytes | str | None = None) -> Held | None:
        """Acquires the lock if it is free and no client waits; otherwise returns None. Raises as `attempt` does."""
        result = self.attempt(value=value)
        return None if isinstance(result, LockInfo) else result

    def info(self) -> LockInfo:
        """Returns the lock with its holders and waiters."""
        return self._portal.run(self._aio.info())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key!r}>"

    def __enter__(self) -> Held:
        held = self.acquire()
        with self._lock:
            self._entered.enter(threading.current_thread(), held)
        return held

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Releases it. Raises HoldLost if it was lost before that, unless another exception is being raised."""
        if self._portal._guard.forked:  # The lock may have been acquired here by another thread of the parent.
            return
        with self._lock:
            held = self._entered.leave(threading.current_thread())
        held.__exit__(kind)


async def give_back(result: aio.Held | LockInfo) -> None:
    """Releases what was acquired for a caller that was interrupted."""
    if isinstance(result, aio.Held):
        await result.release()


class ReadWriteLock:
    """Many readers or one writer: `with lock.read`, `with lock.write`.

    No reader skips the queue, so writers do not starve.
    """

    def __init__(self, portal: Portal, lock: aio.ReadWriteLock) -> None:
        self.key = lock.key
        self.read = Lock(portal, lock.read)
        self.write = Lock(portal, lock.write)


class Semaphore(Lock):
    """A lock with `limit` permits, of which each acquisition takes `permits`.

    The first holder sets the limit: another limit raises LockModeMismatch while the lock is in use.
    """
