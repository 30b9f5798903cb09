"""What is due when, for many things of which each is due at another time."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

T = TypeVar("T")

# The heap is cleared of entries that no longer count when it is longer than this, and twice as long as it need be.
CLEAR_AT = 64


class Agenda(Generic[T]):
    """Times, one for each thing at most. Only what is due is looked at, however many things there are."""

    def __init__(self) -> None:
        self._times: dict[T, tuple[float, int]] = {}  # The time that counts, and the number of its entry.
        self._heap: list[tuple[float, int, T]] = []  # Entries; those that do not count are skipped at the top.
        self._number = 0

    def __len__(self) -> int:
        return len(self._times)

    def put(self, thing: T, at: float) -> None:
        """Sets when a thing is due, instead of what was said of it before. Infinity is never."""
        before = self._times.get(thing)
        if before is not None and before[0] == at:
            return
        if at == float("inf"):
            self.drop(thing)
            return
        self._number += 1
        self._times[thing] = (at, self._number)
        heapq.heappush(self._heap, (at, self._number, thing))
        self._clear()

    def drop(self, thing: T) -> None:
        """Forgets a thing."""
        if self._times.pop(thing, None) is not None:
            self._clear()

    def next(self) -> float:
        """Returns when the first thing is due; infinity when nothing is."""
        while self._heap:
            at, number, thing = self._heap[0]
            if self._times.get(thing) == (at, number):
                return at
            heapq.heappop(self._heap)
        return float("inf")

    def take(self, now: float, most: int | None = None) -> list[T]:
        """Takes what is due off the agenda, the earliest first, `most` things at most."""
        due: list[T] = []
        while self._times and self.next() <= now and (most is None or len(due) < most):
            thing = heapq.heappop(self._heap)[2]
            del self._times[thing]
            due.append(thing)
        return due

    def _clear(self) -> None:
        """Removes the entries that do not count, once they are the greater part."""
        if len(self._heap) > CLEAR_AT and len(self._heap) > 2 * len(self._times):
            self._heap = [(at, number, thing) for thing, (at, number) in self._times.items()]
            heapq.heapify(self._heap)
