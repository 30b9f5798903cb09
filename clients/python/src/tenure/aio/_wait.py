"""Waits with an end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure import errors

T = TypeVar("T")


async def within(coroutine: Coroutine[Any, Any, T], timeout: float | None, what: str) -> T:
    """Awaits something for at most `timeout` seconds; then cancels it and raises WaitTimeout."""
    task = asyncio.ensure_future(coroutine)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await stop(task)
        raise
    if not done:
        await stop(task)
        raise errors.WaitTimeout(f"{what}: not within {timeout} s")
    return task.result()


async def stop(task: asyncio.Future[Any]) -> None:
    """Cancels a task and waits until it has ended, however."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
