"""The state of a session as its client may believe it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tenure._core.clock import Clock
from tenure.types import CloseCause, State, StateChange

MARGIN_MIN_SECONDS = 0.05
MARGIN_SHARE = 0.02
BEAT_MAX_SECONDS = 10.0
BEAT_WITHOUT_TTL_SECONDS = 10.0
SILENCE_MIN_SECONDS = 0.25
SILENCE_MAX_SECONDS = 5.0
JEOPARDY_WAIT_MAX_SECONDS = 45.0


def margin(ttl: float) -> float:
    """Returns what a client takes off a TTL, so that clocks whose rates differ by 1 % do no harm."""
    return max(MARGIN_MIN_SECONDS, MARGIN_SHARE * ttl)


class Lease:
    """What was acknowledged, and until when it may be believed. Zero TTL: for ever.

    At most one renewal is outstanding. `sent_at` is when the session's creation was asked for; None for a session of
    which only a renewal will show that it lives. Renewals are numbered after `last_number`.
    """

    def __init__(self, clock: Clock, ttl: float, sent_at: float | None, last_number: int = 0) -> None:
        self._clock = clock
        self._number = last_number
        self._outstanding: float | None = None  # When the renewal without answer was sent.
        self._waiting_since: float | None = None  # When the first renewal after the last acknowledgement was sent.
        self._acknowledged_sent = float("-inf") if sent_at is None else sent_at
        self.ttl = ttl
        self.lapses = 0
        self.safe_until = float("-inf") if sent_at is None else self._until(sent_at)

    def _until(self, sent_at: float) -> float:
        return sent_at + self.ttl - margin(self.ttl) if self.ttl > 0 else float("inf")

    @property
    def beat(self) -> float:
        """How often to renew, in seconds."""
        return min(self.ttl / 3, BEAT_MAX_SECONDS) if self.ttl > 0 else BEAT_WITHOUT_TTL_SECONDS

    @property
    def silence(self) -> float:
        """How long a renewal may be without answer before the link is doubted, in seconds."""
        if self.ttl <= 0:
            return SILENCE_MAX_SECONDS
        return min(max(SILENCE_MIN_SECONDS, self.ttl / 3), SILENCE_MAX_SECONDS)

    @property
    def valid(self) -> bool:
        """Whether the lease can be believed now."""
        return self._clock.now() < self.safe_until

    @property
    def number(self) -> int:
        """The number of the last renewal."""
        return self._number

    @property
    def outstanding(self) -> bool:
        """Whether a renewal has no answer yet."""
        return self._outstanding is not None

    def renewal(self) -> int:
        """Returns the number of a renewal that is sent now."""
        self._number += 1
        self._outstanding = self._clock.now()
        if self._waiting_since is None:
            self._waiting_since = self._outstanding
        return self._number

    def acknowledged(self, number: int, ttl: float) -> bool:
        """Takes an acknowledgement. Returns whether it is that of the outstanding renewal."""
        if number != self._number or self._outstanding is None:
            return False
        sent_at, self._outstanding, self._waiting_since = self._outstanding, None, None
        if not self.valid:
            self.lapses += 1
        self.ttl = ttl
        self._acknowledged_sent = max(sent_at, self._acknowledged_sent)
        self.safe_until = self._until(self._acknowledged_sent)
        return True

    def put_off(self, number: int) -> None:
        """Takes a refusal that will pass. The link is doubted as if there had been no answer."""
        if number == self._number:
            self._outstanding = None

    def denied(self, number: int) -> None:
        """Takes a refusal that any member would give: it is an answer, and the link is as good as before."""
        if number == self._number:
            self.forget_sent()

    def forget_sent(self) -> None:
        """Forgets the renewal that can no longer be answered: its stream is gone."""
        self._outstanding = self._waiting_since = None

    @property
    def suspect_at(self) -> float:
        """When the link must be doubted. Infinite while nothing waits for an answer."""
        return float("inf") if self._waiting_since is None else self._waiting_since + self.silence


@dataclass
class SessionMachine:
    """A session's state: what happens goes in, changes come out.

    SUSPENDED means that the link is down and the lease still good; JEOPARDY that the lease is over and nobody knows
    whether the session is. CLOSED is final and has a cause.
    """

    lease: Lease
    linked: bool = False
    was_linked: bool = False
    jeopardy: bool = False
    cause: CloseCause | None = None
    state: State = State.CONNECTING
    changes: list[StateChange] = field(default_factory=list)

    @property
    def state_now(self) -> State:
        """The state by the clock, though nobody may have noticed yet."""
        if self.state in (State.CONNECTED, State.SUSPENDED) and not self.lease.valid:
            return State.JEOPARDY
        return self.state

    def link_up(self) -> None:
        """Notes that a member answered for the session."""
        self.linked = self.was_linked = True
        self._settle()

    def link_down(self) -> None:
        """Notes that the member is gone or silent."""
        self.linked = False
        self.lease.forget_sent()
        self._settle()

    def acknowledged(self, number: int, ttl: float) -> bool:
        """Takes the acknowledgement of a renewal. Returns whether it was the one waited for."""
        if self.cause is not None:
            return False
        self.tick()
        if not self.lease.acknowledged(number, ttl):
            return False
        if self.lease.valid:
            self.jeopardy = False
        self.linked = self.was_linked = True
        self._settle()
        return True

    def tick(self) -> None:
        """Looks at the clock."""
        if self.was_linked and not self.lease.valid:
            self._jeopardise()

    def close(self, cause: CloseCause) -> None:
        """Ends it. Only the first cause counts."""
        if self.cause is None:
            self.cause = cause
            self._settle()

    def take_changes(self) -> list[StateChange]:
        """Returns the changes since the last call, oldest first."""
        changes, self.changes = self.changes, []
        return changes

    @property
    def patience(self) -> float:
        """How long calls wait in JEOPARDY, in seconds."""
        ttl = self.lease.ttl
        return min(JEOPARDY_WAIT_MAX_SECONDS, 2 * ttl) if ttl > 0 else JEOPARDY_WAIT_MAX_SECONDS

    def _jeopardise(self) -> None:
        if not self.jeopardy and self.cause is None:
            self.jeopardy = True
            self._settle()

    def _settle(self) -> None:
        if self.cause is not None:
            state = State.CLOSED
        elif self.jeopardy:
            state = State.JEOPARDY
        elif self.linked:
            state = State.CONNECTED
        else:
            state = State.SUSPENDED if self.was_linked else State.CONNECTING
        if state is not self.state:
            self.changes.append(StateChange(self.state, state, self.cause))
            self.state = state
