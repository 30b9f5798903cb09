"""Waits with an end."""

from __future__ import annotations

import asyncio
import numbers
from collections.abc import Coroutine
from typing import Any, TypeVar

from tenure import _convert, errors

T = TypeVar("T")


async def within(coroutine: Coroutine[Any, Any, T], timeout: float | None, what: str) -> T:
    """Awaits something for at most `timeout` seconds; then cancels it and raises WaitTimeout."""
    if timeout is not None and not isinstance(timeout, numbers.Real):
        coroutine.close()
        _convert.check_seconds(timeout)
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


async def until_set(event: asyncio.Event, timeout: float | None) -> None:
    """Waits for an event, for so many seconds at most."""
    waiter = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiter}, timeout=timeout)
    finally:
        waiter.cancel()


async def stop(task: asyncio.Future[Any]) -> None:
    """Cancels a task and waits until it has ended, however. Who is cancelled meanwhile does not cancel it once more."""
    task.cancel()
    task.add_done_callback(hear)
    await asyncio.wait({task})


def hear(task: asyncio.Future[Any]) -> None:
    """Takes note of how a task failed: nobody else will."""
    if not task.cancelled():
        task.exception()
