"""The thread behind a sync client: it runs the asyncio client, and callers wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenure import errors
from tenure._core.fork import ForkGuard

T = TypeVar("T")

SETTLE_SECONDS = 1.0
LOOK_SECONDS = 1.0


class Portal:
    """An event loop in a thread of its own. Any thread but that one may run coroutines in it and wait for them."""

    def __init__(self) -> None:
        self._guard = ForkGuard()
        self._lock = threading.Lock()  # Guards _ended: once it is set, no call is added.
        self._ended = False
        # What is run, and who is told of its end. What comes too late to be run is closed.
        self._calls: dict[concurrent.futures.Future[Any], _Call] = {}
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
            with self._lock:
                self._ended = True
            self._loop.close()
            for future, call in list(self._calls.items()):
                future.cancel()
                _close(call.coroutines)
                call.done.put(None)

    def run(self, coroutine: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, Any]] | None = None) -> T:
        """Runs a coroutine and returns its result.

        When the caller is interrupted, the coroutine is cancelled; a result that it had all the same is undone.
        """
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("the sync client is called by its own thread")
        if self._guard.forked:
            coroutine.close()
            self._guard.check()
        outcome = _Outcome(coroutine)
        done: queue.SimpleQueue[object] = queue.SimpleQueue()
        try:
            self._begin(_Call(done, (outcome.keep(), coroutine)))
            _await(done)
            return outcome.result()
        except BaseException as error:
            if error is not outcome.error:  # The caller was interrupted, or the client closed.
                with contextlib.suppress(errors.ClientClosed):
                    self._begin(_Call(queue.SimpleQueue(), (outcome.abandon(undo),)))
            raise
        finally:
            outcome.error = None  # It refers to this frame.

    def _begin(self, call: _Call) -> None:
        """Begins a call. Raises ClientClosed."""
        with self._lock:
            if self._ended:
                _close(call.coroutines)
                raise errors.ClientClosed("the client was closed")
            future = asyncio.run_coroutine_threadsafe(call.coroutines[0], self._loop)
            self._calls[future] = call
            self._loop.call_soon_threadsafe(self._watch, future, call)

    def _watch(self, future: concurrent.futures.Future[Any], call: _Call) -> None:
        """Notes the end of a call. It runs in the loop, for the sake of whoever is interrupted: see _await."""
        future.add_done_callback(lambda ended: self._calls.pop(ended, None))
        future.add_done_callback(call.done.put)

    def call(self, function: Callable[[], T]) -> T:
        """Calls a function in the loop and returns its result."""

        async def call() -> T:
            return function()

        return self.run(call())

    def end(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Closes something of the client. A client that is closed, or closes meanwhile, has done that itself."""
        if not self.closed:
            with contextlib.suppress(errors.ClientClosed):
                self.run(close())

    @property
    def closed(self) -> bool:
        """Whether nothing runs in it any more, as in a forked child."""
        return self._guard.forked or self._loop.is_closed()

    def close(self) -> None:
        """Ends the thread, once what runs in it has ended."""
        if self._guard.forked or not self._thread.is_alive():
            return
        with contextlib.suppress(RuntimeError):  # It has ended meanwhile.
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()


@dataclass(frozen=True)
class _Call:
    """A coroutine that the loop runs, the first one; it awaits the others. Its end is put into done."""

    done: queue.SimpleQueue[object]
    coroutines: tuple[Coroutine[Any, Any, Any], ...]


def _await(done: queue.SimpleQueue[object]) -> None:
    """Waits for the end of a call, and looks now and then whether the caller was interrupted.

    An interrupt that comes while the lock of a Future is taken may leave it taken, and the loop, which needs it too,
    would stand still for ever: a Future is not asked before its end. A SimpleQueue has no such moment.
    """
    while True:
        with contextlib.suppress(queue.Empty):
            done.get(timeout=LOOK_SECONDS)
            return


def _close(coroutines: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Closes coroutines that nobody will run."""
    for coroutine in coroutines:
        coroutine.close()


class _Outcome(Generic[T]):
    """What becomes of a coroutine, for the sake of a caller who is interrupted.

    All but result runs in the loop. An error is kept here, for the loop may end before a Future or Task is heard.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._task: asyncio.Task[Any] | None = None  # None: it has not begun.
        self._abandoned = False
        self._results: list[T] = []
        self.error: Exception | None = None

    async def keep(self) -> None:
        """Runs the coroutine, and keeps its result or its error."""
        if self._abandoned:
            self._coroutine.close()
            return
        self._task = asyncio.current_task()
        try:
            self._results.append(await self._coroutine)
        except Exception as error:
            self.error = error

    def result(self) -> T:
        """Returns or raises what was kept. Raises ClientClosed if the loop ended before."""
        if self.error is not None:
            raise self.error
        if not self._results:
            raise errors.ClientClosed("the client was closed", applied=None)
        return self._results[0]

    async def abandon(self, undo: Callable[[T], Coroutine[Any, Any, Any]] | None) -> None:
        """Cancels it. When it has ended, which may take a while, a result that it had all the same is undone."""
        self._abandoned = True
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait({self._task})
        if undo is not None:
            for result in self._results:
                await undo(result)


async def _settle() -> None:
    """Lets what gRPC still runs for calls that were cancelled come to its end."""
    current = asyncio.current_task()
    tasks = [t for t in asyncio.all_tasks() if t is not current]
    if tasks:
        await asyncio.wait(tasks, timeout=SETTLE_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
