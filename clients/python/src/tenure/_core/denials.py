"""Renewals that are refused because a right is gone, or the credential is not accepted."""

from __future__ import annotations

import random

PAUSE_MIN_SECONDS = 0.1
PAUSE_MAX_SECONDS = 5.0


class Denials:
    """The attempts in a row to renew one session that were refused so, and how long to wait after each.

    Nothing in this process brings the right back; but if it comes, the session is to be renewed in time.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._count = 0
        self._since = 0.0  # When the first of them was; meaningful while there are some.

    def add(self, now: float, beat: float, left: float) -> float:
        """Counts one of a session that is renewed each `beat` seconds, and whose lease lasts for `left` more.

        Returns how many seconds to wait: never past the middle of what is left, for the right may come back until
        the end.
        """
        if not self._count:
            self._since = now
        self._count += 1
        pause = min(PAUSE_MIN_SECONDS * 2.0 ** min(self._count, 10), PAUSE_MAX_SECONDS, beat)
        if left > 0:
            pause = min(pause, max(PAUSE_MIN_SECONDS, left / 3))
        return pause * self._rng.uniform(0.5, 1.5)

    def clear(self) -> None:
        """Forgets them: a renewal was acknowledged."""
        self._count = 0

    def last(self, now: float) -> float:
        """For how many seconds there have been some; 0 if there are none."""
        return now - self._since if self._count else 0.0
