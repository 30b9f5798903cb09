"""The thread behind a sync client: it runs the asyncio client, and callers wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tenure._core.fork import ForkGuard

log = logging.getLogger("tenure")

T = TypeVar("T")

SETTLE_SECONDS = 1.0


class Portal:
    """An event loop in a thread of its own. Any thread but that one may run coroutines in it and wait for them."""

    def __init__(self) -> None:
        self._guard = ForkGuard()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="tenure-io", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_settle())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and returns its result. When the caller is interrupted, the coroutine is cancelled."""
        if self._guard.forked or self._loop.is_closed() or threading.current_thread() is self._thread:
            coroutine.close()
            self._guard.check()
            raise RuntimeError("the client was closed, or is called by its own thread")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise
        except BaseException:
            if not future.done():
                future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Calls a function in the loop and returns its result."""

        async def call() -> T:
            return function()

        return self.run(call())

    @property
    def closed(self) -> bool:
        """Whether nothing runs in it any more."""
        return self._loop.is_closed()

    def close(self) -> None:
        """Ends the thread, once what runs in it has ended."""
        if self._guard.forked or not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()


async def _settle() -> None:
    """Lets what gRPC still runs for calls that were cancelled come to its end."""
    current = asyncio.current_task()
    tasks = [t for t in asyncio.all_tasks() if t is not current]
    if tasks:
        await asyncio.wait(tasks, timeout=SETTLE_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


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

    def _serve(self) -> None:
        while (item := self._queue.get()) is not None:
            callback, args = item
            try:
                callback(*args)
            except Exception:
                log.exception("a callback failed")

    async def close(self) -> None:
        """Lets the thread end after the callbacks taken so far; join waits for it."""
        self._queue.put(None)

    def join(self) -> None:
        """Waits until the thread has ended, unless it is the caller."""
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()


async def in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function that may block in a thread of its own. A thread cannot be cancelled: its end is waited for."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if result.done():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)

    def work() -> None:
        value, error = None, None
        try:
            value = function(*args)
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits.
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name="tenure-run", daemon=True).start()
    cancelled = False
    while not result.done():
        try:
            await asyncio.wait({result})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        result.exception()
        raise asyncio.CancelledError
    return result.result()
