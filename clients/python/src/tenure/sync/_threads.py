"""Threads in which the library runs functions of users: callbacks, and what runs while a session leads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tenure.aio._dispatch import CALLBACKS_SECONDS, STILL_CALLED

log = logging.getLogger("tenure")

# How many callbacks of one client run at the same time at most. Beyond that, lines wait for a thread.
THREADS_MAX = 32

_Call = tuple[Callable[..., Any], tuple[Any, ...]]


class ThreadDispatcher:
    """Runs callbacks in threads of its own, so that they may block, and call the client.

    A line is served by one thread at a time, and a thread ends when no line has callbacks left. Whether one is needed
    is decided under the same lock under which callbacks are added and threads end, so none is left without a thread.
    """

    def __init__(self, threads_max: int = THREADS_MAX) -> None:
        self._threads_max = threads_max
        self._lock = threading.Lock()  # Guards what follows, and the queues of all lines.
        self._ready: deque[_ThreadLine] = deque()  # Lines with callbacks that no thread serves.
        self._serving = 0  # Threads that will look at _ready again.
        self._threads: list[threading.Thread] = []  # Those, and some that have ended.
        self._closed = False

    def line(self) -> _ThreadLine:
        """Returns a new line."""
        return _ThreadLine(self)

    def _add(self, line: _ThreadLine, call: _Call) -> None:
        with self._lock:
            if self._closed:
                return
            line.queue.append(call)
            comes = not line.served
            if comes:
                line.served = True
                self._ready.append(line)
            if (comes or self._serving == 0) and self._serving < self._threads_max:
                self._begin_thread()

    def _begin_thread(self) -> None:
        """Begins a thread. If there can be none now, the next callback tries again, and so does join."""
        thread = threading.Thread(target=self._serve, name="tenure-callbacks", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            log.exception("no thread for callbacks")
            return
        self._serving += 1
        self._threads = [t for t in self._threads if t.is_alive()]
        self._threads.append(thread)

    def _serve(self, end: float = float("inf")) -> None:
        """Calls callbacks until there are none, one of each line before the next of the same. Begins none after end."""
        line: _ThreadLine | None = None
        while True:
            with self._lock:
                if line is not None and line.queue:
                    self._ready.append(line)
                elif line is not None:
                    line.served = False
                if not self._ready:
                    self._serving -= 1
                    return
                if time.monotonic() >= end:
                    break
                line = self._ready.popleft()
                callback, args = line.queue.popleft()
            try:
                callback(*args)
            except BaseException as error:  # SystemExit, too: the next are called all the same.
                if isinstance(error, KeyboardInterrupt) and not self.calls:
                    raise  # Whoever closes is interrupted.
                log.exception("a callback failed")
        log.warning(STILL_CALLED)

    @property
    def calls(self) -> bool:
        """Whether the caller is one of its callbacks."""
        return threading.current_thread() in self._threads

    async def close(self) -> None:
        """Takes no more callbacks; join waits a moment for those taken so far."""
        with self._lock:
            self._closed = True

    def join(self) -> None:
        """Waits a moment until the callbacks taken so far have been called, unless one of them is the caller.

        Whoever closes may have what a callback waits for, so one that takes longer is left behind. If no thread can
        begin, who closes calls them: then it waits for the one that it calls, and the rest is dropped when time is up.
        """
        if self.calls:
            return
        end = time.monotonic() + CALLBACKS_SECONDS
        with self._lock:
            if self._ready and self._serving == 0:
                self._begin_thread()
            threads, alone = list(self._threads), self._ready and self._serving == 0
            self._serving += bool(alone)
        if alone:  # No thread could be begun for them.
            self._serve(end)
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            log.warning(STILL_CALLED)


class _ThreadLine:
    """A line whose callbacks run in whichever thread is free."""

    def __init__(self, owner: ThreadDispatcher) -> None:
        self.queue: deque[_Call] = deque()
        self.served = False  # Whether a thread calls one of its callbacks, or it is in _ready.
        self._owner = owner

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback."""
        self._owner._add(self, (callback, args))


class Worker(threading.Thread):
    """A thread that calls a function which may block. A thread cannot be cancelled: its end is waited for.

    `owners` are what the function may end by itself, and that then do not wait for it.
    """

    def __init__(self, owners: tuple[object, ...], function: Callable[..., Any], *args: Any) -> None:
        super().__init__(name="tenure-run", daemon=True)
        self.owners = owners
        self._function = function
        self._args = args
        self._loop = asyncio.get_running_loop()
        self._result: asyncio.Future[Any] = self._loop.create_future()

    def run(self) -> None:
        """Calls the function."""
        value: Any = None
        error: Exception | None = None
        try:
            value = self._function(*self._args)
        except SystemExit:
            pass  # It ends its thread, as in any other.
        except StopIteration as raised:  # No coroutine may raise it.
            error = RuntimeError("the function raised StopIteration")
            error.__cause__ = raised
        except Exception as raised:
            error = raised
        except BaseException:
            log.exception("a function failed")
        self._tell(value, error)

    def let_go(self) -> None:
        """Lets nobody wait for the function any more: it is what ends whoever waits."""
        self._tell(None, None)

    def _tell(self, value: Any, error: Exception | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits.
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: Exception | None) -> None:
        if self._result.done():  # It was let go.
            if error is not None:
                log.error("a function failed", exc_info=error)
            return
        if error is None:
            self._result.set_result(value)
        else:
            self._result.set_exception(error)

    async def wait(self) -> Any:
        """Returns what the function returned."""
        cancelled = False
        while not self._result.done():
            try:
                await asyncio.wait({self._result})
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            error = self._result.exception()
            if error is not None:
                log.error("a function failed", exc_info=error)
            raise asyncio.CancelledError
        return self._result.result()


async def in_thread(owners: tuple[object, ...], function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that may block in a thread of its own."""
    worker = Worker(owners, function, *args)
    worker.start()
    return await worker.wait()


def runs_for(owner: object) -> bool:
    """Tells whether the caller is a function that the library runs in a thread for this owner."""
    thread = threading.current_thread()
    return isinstance(thread, Worker) and any(owner is o for o in thread.owners)


def let_go(owner: object) -> None:
    """Lets nobody wait for the caller, if it is a function that the library runs for this owner."""
    thread = threading.current_thread()
    if isinstance(thread, Worker) and runs_for(owner):
        thread.let_go()
