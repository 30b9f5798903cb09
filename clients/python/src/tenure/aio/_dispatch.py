"""Calls the callbacks of users, away from where the library reads and writes."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tenure.aio._function import outside

log = logging.getLogger("tenure")

# How long close waits for callbacks that were taken before.
CALLBACKS_SECONDS = 1.0
STILL_CALLED = "callbacks have not returned yet; close does not wait for them"


class Line(Protocol):
    """Callbacks of one session, cache or client. They are called one after another, in the order they were taken."""

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback to be called soon. It does not wait."""
        ...


class Dispatcher(Protocol):
    """Where callbacks run. None of them is called by the library's own tasks, and no line waits for another."""

    def line(self) -> Line:
        """Returns a new line. One without callbacks to call costs nothing, and need not be closed."""
        ...

    async def close(self) -> None:
        """Takes no more callbacks, and waits a moment until those taken so far have been called."""
        ...


class Listeners:
    """Callbacks that are told each change of one thing, all of them in one line."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._callbacks: list[Callable[..., Any]] = []

    def add(self, callback: Callable[..., Any], *present: Any) -> None:
        """Adds one. With arguments, it is told these at once."""
        self._callbacks.append(callback)
        if present:
            self.line.call(callback, *present)

    def tell(self, *args: Any) -> None:
        """Calls all of them soon."""
        for callback in self._callbacks:
            self.line.call(callback, *args)


class TaskDispatcher:
    """Runs callbacks in tasks, one for each line that has any; what they return is awaited if it can be."""

    def __init__(self) -> None:
        self._serving: set[_TaskLine] = set()  # Lines with a task.
        self._closed = False

    def line(self) -> Line:
        """Returns a new line."""
        return _TaskLine(self)

    async def close(self) -> None:
        """Waits a moment until the callbacks taken so far have been called, unless one of them is what closes.

        Whoever closes may have what a callback waits for, so one that takes longer is left behind.
        """
        self._closed = True
        if any(line.calls for line in self._serving):
            return
        loop = asyncio.get_running_loop()
        end = loop.time() + CALLBACKS_SECONDS
        while tasks := [line.task for line in self._serving if line.task is not None]:
            if end <= loop.time():
                log.warning(STILL_CALLED)
                return
            await asyncio.wait(tasks, timeout=end - loop.time())


class _TaskLine:
    """A line with a task while it has callbacks to call."""

    def __init__(self, owner: TaskDispatcher) -> None:
        self.task: asyncio.Task[None] | None = None
        self._owner = owner
        self._queue: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._calling: asyncio.Future[Any] | None = None  # What a callback returned, while it is awaited.

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback."""
        if self._owner._closed:
            return
        self._queue.append((callback, args))
        if self.task is None:
            self.task = outside(lambda: asyncio.get_running_loop().create_task(self._run()))
            self._owner._serving.add(self)

    @property
    def calls(self) -> bool:
        """Whether the caller is one of its callbacks."""
        return asyncio.current_task() in (self.task, self._calling)

    async def _run(self) -> None:
        try:
            while self._queue:
                callback, args = self._queue.popleft()
                await self._serve(callback, args)
        finally:
            self.task = None
            self._owner._serving.discard(self)

    async def _serve(self, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        try:
            result = callback(*args)
            if inspect.isawaitable(result):
                self._calling = asyncio.ensure_future(result)
                # One that was cancelled, or awaited what was, ends by itself: the next are called all the same.
                await asyncio.wait({self._calling})
                if not self._calling.cancelled():
                    self._calling.result()
        except Exception:
            log.exception("a callback failed")
        finally:
            self._calling = None
