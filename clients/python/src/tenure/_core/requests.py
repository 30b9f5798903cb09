"""Request ids: what makes a change under a session happen once, however often it is sent."""

from __future__ import annotations

OPEN_MAX = 512


class RequestWindow:
    """Numbers the requests of one session and epoch, and knows which have been answered.

    The cluster remembers results from the oldest open number on, so the distance from it to the newest is bounded.
    """

    def __init__(self, first: int = 1, size: int = OPEN_MAX) -> None:
        self._next = first
        self._size = size
        self._open: dict[int, None] = {}  # In ascending order: numbers are only ever added at the end.

    def begin(self) -> int | None:
        """Returns the number of a new request; None while the window is full."""
        if self._next - self.done_below >= self._size:
            return None
        sequence = self._next
        self._next += 1
        self._open[sequence] = None
        return sequence

    def finish(self, sequence: int) -> None:
        """Notes that a request was answered, or that nobody will ever retry it. Twice is once."""
        self._open.pop(sequence, None)

    def renumber(self, sequence: int) -> int:
        """Gives a request of which nothing was done another number, the last."""
        self.finish(sequence)
        sequence, self._next = self._next, self._next + 1
        self._open[sequence] = None
        return sequence

    @property
    def done_below(self) -> int:
        """Every number below this one has been answered."""
        return next(iter(self._open), self._next)

    @property
    def next_sequence(self) -> int:
        """The number that the next request gets."""
        return self._next
