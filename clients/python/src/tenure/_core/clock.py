"""Clocks by which leases are believed. They run through suspend, or at worst run fast."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A clock that never goes back, in seconds since some moment."""

    def now(self) -> float:
        """Returns the time."""
        ...


class BoottimeClock:
    """The kernel's CLOCK_BOOTTIME: it runs on while the machine is suspended and nobody can set it."""

    def now(self) -> float:
        """Returns seconds since boot."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class AdvancingClock:
    """The larger of monotonic and wall-clock advance, for systems whose monotonic clock may stop in suspend.

    A wall clock that is set forward makes it run ahead: a lease then ends early, which is safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # Guards what follows.
        self._monotonic = time.monotonic()
        self._wall = time.time()
        self._now = 0.0

    def now(self) -> float:
        """Returns how much time has passed at most."""
        with self._lock:
            monotonic, wall = time.monotonic(), time.time()
            self._now += max(monotonic - self._monotonic, wall - self._wall, 0.0)
            self._monotonic, self._wall = monotonic, wall
            return self._now


def system_clock() -> Clock:
    """Returns the best clock this system has."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return BoottimeClock()
    return AdvancingClock()
