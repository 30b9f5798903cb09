"""Functions of users that the library runs. One may end what runs it, or what it runs for, and go on."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from typing import Any

# The call in which the present code runs. What a function starts runs in it, too.
_inside: contextvars.ContextVar[FunctionCall | None] = contextvars.ContextVar("tenure_function_call", default=None)


class FunctionCall:
    """One call of a function, in a task of its own.

    `owners` are what the function may end by itself: it is not cancelled for that, and nothing waits for it.
    """

    def __init__(self, *owners: object, waits: asyncio.Task[Any] | None = None) -> None:
        self._owners = owners
        self._waits = waits  # Who waits until the function has returned.
        self._running = False
        self.ends_itself = False

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        _inside.set(self)
        self._running = True
        try:
            result = function(*args)
            return await result if inspect.isawaitable(result) else result
        finally:
            self._running = False

    def begin(self, function: Callable[..., Any], *args: Any) -> asyncio.Task[Any]:
        """Begins the call."""
        return asyncio.get_running_loop().create_task(self._run(function, *args))

    def ends(self, owner: object) -> bool:
        """Tells whether this function runs, and ends that owner."""
        if not self._running or not any(owner is o for o in self._owners):
            return False
        self.ends_itself = True
        return True


def ended_from_inside(owner: object) -> bool:
    """Tells whether something is ended by a function that runs for it: then the function must not be waited for."""
    call = _inside.get()
    return call is not None and call.ends(owner)


def waits_for_caller() -> asyncio.Task[Any] | None:
    """Returns the task that waits for the function that calls; None when no function does."""
    call = _inside.get()
    return call._waits if call is not None and call._running else None


def outside(begin: Callable[[], asyncio.Task[Any]]) -> asyncio.Task[Any]:
    """Starts a task that is no part of the function that happens to start it."""
    token = _inside.set(None)
    try:
        return begin()
    finally:
        _inside.reset(token)
