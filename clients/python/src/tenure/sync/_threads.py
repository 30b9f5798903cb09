"""Threads in which the library runs functions of users: callbacks, and what runs while a session leads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

log = logging.getLogger("tenure")


class ThreadDispatcher:
    """Runs callbacks in a thread of its own, so that they may block, and call the client."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback. The loop's thread calls this, and no other."""
        self._queue.put((callback, args))
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="tenure-callbacks", daemon=True)
            self._thread.start()

    @property
    def calls(self) -> bool:
        """Whether the caller is one of its callbacks."""
        return threading.current_thread() is self._thread

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            callback, args = item
            try:
                callback(*args)
            except BaseException:  # SystemExit, too: the next are called all the same.
                log.exception("a callback failed")

    async def close(self) -> None:
        """Lets the thread end after the callbacks taken so far; join waits for it."""
        self._queue.put(None)

    def join(self) -> None:
        """Waits until the thread has ended, unless it is the caller."""
        if self._thread is not None and not self.calls:
            self._thread.join()


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
