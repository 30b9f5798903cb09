"""How long to wait before the next attempt."""

from __future__ import annotations

import random

BASE_SECONDS = 0.02
CAP_SECONDS = 2.0


class Backoff:
    """Full jitter: each delay is drawn evenly from zero to a bound that doubles from BASE_SECONDS to CAP_SECONDS."""

    def __init__(self, rng: random.Random, base: float = BASE_SECONDS, cap: float = CAP_SECONDS) -> None:
        self._rng = rng
        self._base = base
        self._cap = cap
        self._bound = base

    def next(self, at_least: float = 0.0) -> float:
        """Returns the next delay, in seconds: no less than the server asked for."""
        delay = self._rng.uniform(0.0, self._bound)
        self._bound = min(self._cap, self._bound * 2)
        return at_least + delay

    def reset(self) -> None:
        """Begins anew after a success."""
        self._bound = self._base
