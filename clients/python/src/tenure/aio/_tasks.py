"""The tasks of a client, which its close ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure import errors
from tenure.aio._function import is_function, outside, waits_for_caller

log = logging.getLogger("tenure")

T = TypeVar("T")

# After what time end cancels once more what has not ended, unless a function of the user takes that long.
CANCEL_AGAIN_SECONDS = 1.0


class Tasks:
    """Tasks that run until they have ended, or are cancelled."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._endings: set[asyncio.Task[Any]] = set()  # What is waited for, not cancelled: sessions that are destroyed.

    def start(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Starts a task. Whoever awaits it hears how it fails."""
        task = outside(lambda: asyncio.get_running_loop().create_task(coroutine, name=f"tenure-{name}"))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def spawn(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Starts a task in the background: the log hears how it fails."""
        task = self.start(coroutine, name)
        task.add_done_callback(log_failure)
        return task

    def start_ending(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Starts something with an end of its own, that close waits for. Whoever awaits it hears how it fails."""
        task = self.start(coroutine, name)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        return task

    def see_through(self, coroutine: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Starts something in the background, with an end of its own, that close waits for."""
        task = self.start_ending(coroutine, name)
        task.add_done_callback(log_failure)
        return task

    async def endings(self) -> None:
        """Waits for what has an end of its own."""
        while self._endings:
            await asyncio.wait(self._endings)

    async def end(self) -> None:
        """Cancels what still runs, but the caller and what waits for the caller, and waits for its end."""
        spared = (asyncio.current_task(), *waits_for_caller())
        told: set[asyncio.Task[Any]] = set()
        while tasks := [t for t in self._tasks if t not in spared]:
            for task in tasks:
                if task not in told:
                    task.cancel()
            told.update(tasks)
            _, left = await asyncio.wait(tasks, timeout=CANCEL_AGAIN_SECONDS)
            if not any(is_function(t) for t in left):
                told.clear()  # One that took the cancellation for another's is told again.


def log_failure(task: asyncio.Task[Any]) -> None:
    """Logs how a task failed that is not awaited. A typed error tells all by itself."""
    if task.cancelled() or (error := task.exception()) is None:
        return
    if isinstance(error, errors.TenureError):
        log.warning("%s failed: %s", task.get_name(), error)
    else:
        log.error("%s failed", task.get_name(), exc_info=error)
