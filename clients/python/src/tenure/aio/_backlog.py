"""What a listener was not told yet."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from tenure.aio._dispatch import Line
from tenure.types import Event, EventType

T = TypeVar("T")

# How many events may wait for a listener before it gets only what is not outdated.
BACKLOG_MAX = 1024


class Backlog(Generic[T]):
    """Events that wait for one listener. One that is too slow for all of them gets those that `latest` leaves.

    So no more events wait than BACKLOG_MAX, or twice as many as it leaves.
    """

    def __init__(self, line: Line, callback: Callable[[T], Any], latest: Callable[[Iterable[T]], Iterable[T]]) -> None:
        self._line = line
        self._callback = callback
        self._latest = latest
        self._lock = threading.Lock()  # Guards what follows: callbacks may run in another thread than events come.
        self._events: deque[T] = deque()
        self._most = BACKLOG_MAX
        self._calls = 0  # Of next that the line has yet to make.

    def tell(self, event: T) -> None:
        """Has the listener told of an event soon."""
        with self._lock:
            self._events.append(event)
            if len(self._events) > self._most:
                self._events = deque(self._latest(self._events))
                self._most = max(BACKLOG_MAX, 2 * len(self._events))
            if calls := self._calls < len(self._events):
                self._calls += 1
        if calls:
            self._line.call(self._next)

    def _next(self) -> Any:
        """Tells the listener of the event that has waited longest, if it still is to be told."""
        with self._lock:
            self._calls -= 1
            event = self._events.popleft() if self._events else None
        return None if event is None else self._callback(event)


def latest_of_each_key(events: Iterable[Event]) -> list[Event]:
    """Leaves out what is outdated by a later event, and keys that came and went."""
    kept: dict[str | EventType, tuple[Event, bool]] = {}  # With whether the key came with an event that was left out.
    for event in events:
        if event.type is EventType.RESET:
            kept.clear()
        name = event.key if event.key else event.type
        before = kept.pop(name, None)
        came = before[1] if before is not None else _comes(event)
        if not (event.type is EventType.DELETED and came):
            kept[name] = event, came
    return [event for event, _ in kept.values()]


def _comes(event: Event) -> bool:
    """Whether a key was not there before an event."""
    return event.type is EventType.PRESENT or (event.kv is not None and event.kv.version == 1)
