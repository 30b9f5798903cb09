"""Calls the callbacks of users, one after another, away from where the library reads and writes."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any, Protocol

from tenure.aio._function import outside

log = logging.getLogger("tenure")


class Dispatcher(Protocol):
    """Where callbacks run. Calls keep their order; none of them is called by the library's own tasks."""

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback to be called soon. It does not wait."""
        ...

    async def close(self) -> None:
        """Waits until the callbacks taken so far have been called."""
        ...


class TaskDispatcher:
    """Runs callbacks in a task of its own; what they return is awaited if it can be."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Callable[..., Any], tuple[Any, ...]] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._calling: asyncio.Future[Any] | None = None  # What a callback returned, while it is awaited.

    def call(self, callback: Callable[..., Any], *args: Any) -> None:
        """Takes a callback."""
        self._queue.put_nowait((callback, args))
        if self._task is None:
            self._task = outside(lambda: asyncio.get_running_loop().create_task(self._run()))

    async def _run(self) -> None:
        while (item := await self._queue.get()) is not None:
            callback, args = item
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

    async def close(self) -> None:
        """Waits until the callbacks taken so far have been called, unless one of them is what closes."""
        if self._task is None:
            return
        self._queue.put_nowait(None)
        if asyncio.current_task() not in (self._task, self._calling):
            await self._task
