"""Whether something held may still be believed to be held."""

from __future__ import annotations

from tenure._core.clock import Clock
from tenure._core.lease import Lease
from tenure.types import EndCause


class HoldState:
    """One hold, as its holder may believe it. Any thread may read it; what ended stays ended.

    It is bound to the lease as it was when the hold was had: a lease that ran out and was renewed later does not make
    it good again. `safe_from` is when an earlier user of the session can no longer believe in the hold.
    """

    def __init__(self, clock: Clock, lease: Lease, safe_from: float = float("-inf")) -> None:
        self._clock = clock
        self._lease = lease
        self._lapses = lease.lapses
        self.safe_from = safe_from
        self.doubts = 0  # Attempts to give it up whose outcome is not known yet.
        self.cause: EndCause | None = None

    @property
    def ended(self) -> EndCause | None:
        """Why it has ended; None before. A lease that ran out ended it, though nobody may have noticed yet."""
        if self.cause is None and (self._lapses != self._lease.lapses or self._clock.now() >= self._lease.safe_until):
            return EndCause.LEASE_RAN_OUT
        return self.cause

    @property
    def safe(self) -> bool:
        """Whether it is held, by this process, at this moment."""
        # The clock first: a thread that is held up between the two must not take a later lease for that of the hold.
        believed = self.safe_from <= self._clock.now() < self._lease.safe_until
        return believed and self._stands

    @property
    def safe_for(self) -> float:
        """For how many seconds it is held even if no renewal succeeds; 0 when it is not."""
        seconds = max(0.0, self._lease.safe_until - self._clock.now())
        return seconds if self.safe else 0.0

    @property
    def safe_until(self) -> float:
        """Until when it is held even if no renewal succeeds, on the client's clock; -inf when it is not."""
        until = self._lease.safe_until
        return until if self._stands else float("-inf")

    @property
    def _stands(self) -> bool:
        """Whether nothing but time speaks against it."""
        return self.cause is None and not self.doubts and self._lapses == self._lease.lapses

    def end(self, cause: EndCause) -> bool:
        """Ends it. Returns whether it had not ended before."""
        if self.cause is not None:
            return False
        self.cause = cause
        return True
