"""What to do when a call has failed: try again, and where, or give up."""

from __future__ import annotations

from dataclasses import dataclass

from tenure import errors

MOVE_AFTER_FAILURES = 3


@dataclass(frozen=True)
class Decision:
    """What to do after a failure."""

    retry: bool
    move: bool = False  # whether this member should be left
    after: float = 0.0  # seconds that the server asked to wait


GIVE_UP = Decision(retry=False)


class FailedHere(errors.InternalError):
    """A call failed in this process, by an exception of an interceptor, its cause: that says nothing of the member."""


# Reasons after which the same call may succeed.
_PASSING = (
    errors.Unavailable,
    errors.TooManyRequests,
    errors.RequestWindowFull,
    errors.DeadlineExceeded,
    errors.Cancelled,
    errors.InternalError,
    errors.AttemptOutdated,  # The next attempt has a higher number.
)

# Refusals of changes that only the state machine gives, after it has looked for an attempt before: they hold for all
# attempts. All others may come from a member that has looked for none, such as for want of a right.
_DECIDED = (
    errors.KeyNotFound,
    errors.CompareFailed,
    errors.LockHeld,
    errors.LockDelayed,
    errors.LockNotHeld,
    errors.FencingTokenStale,
    errors.LockModeMismatch,
    errors.CandidateNotFound,
    errors.Frozen,
    errors.TooManyKeys,
    errors.NodeNotFound,
    errors.QueryNotFound,
    errors.QueryNameTaken,
    errors.CheckCritical,
    errors.NodeIDConflict,
    errors.SyncOutdated,
)


def decided(error: errors.TenureError) -> bool:
    """Whether a refusal of one attempt says that no attempt before was applied either."""
    return isinstance(error, _DECIDED)


def decide(error: errors.TenureError, *, failures: int) -> Decision:
    """Says what to do after a failure of one attempt, of so many.

    Doing a call twice must be the same as doing it once, as it is for reads, and for changes with a request id or an
    idempotency key.
    """
    if not isinstance(error, _PASSING) or isinstance(error, errors.TLSFailed):
        return GIVE_UP
    if isinstance(error, errors.InternalError) and failures > 1:
        return GIVE_UP
    move = isinstance(error, (errors.LinkLost, errors.NotLeader, errors.Stopping))
    if isinstance(error, (errors.NoLeader, errors.DeadlineExceeded, errors.OutcomeUnknown)):
        move = failures >= MOVE_AFTER_FAILURES
    return Decision(retry=True, move=move, after=error.retry_after or 0.0)
