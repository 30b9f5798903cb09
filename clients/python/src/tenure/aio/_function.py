"""Functions of users that the library runs. One may end what runs it, or what it runs for, and go on."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tenure.aio._connection import Connection

T = TypeVar("T")

# The call in which the present code runs. What a function starts inherits it.
_call: contextvars.ContextVar[FunctionCall | None] = contextvars.ContextVar("tenure_function_call", default=None)

# Name of the tasks in which functions run.
FUNCTION = "function"


class FunctionCall:
    """One call of a function, in a task of its own.

    `owners` are what the function may end by itself: it is not cancelled for that, and nothing waits for it.
    """

    def __init__(self, *owners: object, waits: asyncio.Task[Any] | None = None) -> None:
        self._owners = owners
        self._waits = waits  # Who waits until the function has returned.
        self._task: asyncio.Task[Any] | None = None
        self._lent: set[asyncio.Task[Any]] = set()
        self.ends_itself = False

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        _call.set(self)
        result = function(*args)
        return await result if inspect.isawaitable(result) else result

    def begin(self, client: Connection, function: Callable[..., Any], *args: Any) -> asyncio.Task[Any]:
        """Begins the call. The client's close ends it."""
        self._task = client._tasks.start(self._run(function, *args), FUNCTION)
        return self._task

    def runs_for(self, owner: object) -> bool:
        """Tells whether the caller is the function itself, not what it has started, and runs for that owner."""
        task = asyncio.current_task()
        return (task is self._task or task in self._lent) and any(owner is o for o in self._owners)


def is_function(task: asyncio.Task[Any]) -> bool:
    """Tells whether a task runs a function of the user."""
    return task.get_name() == f"tenure-{FUNCTION}"


def inside(owner: object) -> FunctionCall | None:
    """Returns the call of the function that runs for an owner, if it is that function that asks."""
    call = _call.get()
    return call if call is not None and call.runs_for(owner) else None


def ended_from_inside(owner: object) -> bool:
    """Notes that something is ended, and tells whether by a function that runs for it: that must not be waited for."""
    call = inside(owner)
    if call is not None:
        call.ends_itself = True
    return call is not None


def lend(owner: object, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
    """Makes a task act for the function, if it is that which asks."""
    call = inside(owner)
    if call is not None:
        call._lent.add(task)
        task.add_done_callback(call._lent.discard)
    return task


def waits_for_caller() -> tuple[asyncio.Task[Any] | None, ...]:
    """Returns what may wait for the caller: the function that calls, or has started it, and what runs that."""
    call = _call.get()
    return (call._task, call._waits) if call is not None else ()


def outside(begin: Callable[[], asyncio.Task[Any]]) -> asyncio.Task[Any]:
    """Starts a task that is no part of the function that happens to start it."""
    token = _call.set(None)
    try:
        return begin()
    finally:
        _call.reset(token)


def as_exception(error: BaseException) -> Exception:
    """Returns what a function raised as an Exception: what ends a thread or an iterator must not end who waits."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    made = RuntimeError(f"the function raised {error!r}")
    made.__cause__ = error
    return made


async def contained(awaitable: Awaitable[T]) -> T:
    """Awaits a function of the user. One that exits does not end the library's own event loop.

    It ends that of the program, as anywhere in asyncio: a signal may have raised that.
    """
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as error:
        if threading.current_thread() is threading.main_thread():
            raise
        raise as_exception(error) from error
