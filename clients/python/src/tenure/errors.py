"""Typed errors: one class for each reason that the cluster gives, and a few that only a client knows.

Branch on the class, or on `reason`; never on the text. `applied` tells whether the call changed anything: True, False,
or None when nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping


class TenureError(Exception):
    """Base of every error of this package."""

    reason: str = ""

    def __init__(
        self,
        message: str = "",
        *,
        reason: str | None = None,
        applied: bool | None = False,
        metadata: Mapping[str, str] | None = None,
        violations: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason
        self.applied = applied
        self.metadata = dict(metadata or {})
        self.violations = dict(violations or {})

    @property
    def retry_after(self) -> float | None:
        """How long the server asks to wait, in seconds."""
        text = self.metadata.get("retry_after_ms")
        return int(text) / 1000 if text and text.isdigit() else None


# What the caller got wrong.


class InvalidArgument(TenureError):
    """A field is missing or has a value that is not allowed; `violations` names each."""

    reason = "INVALID_ARGUMENT"


class KeyEmpty(InvalidArgument):
    """A key is empty."""

    reason = "KEY_EMPTY"


class KeyTooLong(InvalidArgument):
    """A key is longer than 1 024 bytes."""

    reason = "KEY_TOO_LONG"


class MalformedRequest(InvalidArgument):
    """Text is not valid UTF-8, or a message could not be decoded."""

    reason = "MALFORMED_REQUEST"


class UnknownField(InvalidArgument):
    """A field is unknown, repeated or in conflict."""

    reason = "UNKNOWN_FIELD"


class PageTokenInvalid(InvalidArgument):
    """A page token is damaged or belongs to another request."""

    reason = "PAGE_TOKEN_INVALID"


class ResumeTokenInvalid(InvalidArgument):
    """A resume token is damaged or belongs to another watch."""

    reason = "RESUME_TOKEN_INVALID"


class SequencerInvalid(InvalidArgument):
    """The text of a sequencer is damaged."""

    reason = "SEQUENCER_INVALID"


class TokenInvalid(InvalidArgument, ValueError):
    """The text of a sequencer or of an exported session is damaged."""

    reason = "TOKEN_INVALID"


class TTLOutOfRange(InvalidArgument):
    """A TTL is negative."""

    reason = "TTL_OUT_OF_RANGE"


class LockDelayOutOfRange(InvalidArgument):
    """A lock-delay is outside 0 to 60 s."""

    reason = "LOCK_DELAY_OUT_OF_RANGE"


class SessionIDInvalid(InvalidArgument):
    """A session id is not a UUID."""

    reason = "SESSION_ID_INVALID"


# What is not there.


class NotFound(TenureError):
    """Base of what is not there."""


class KeyNotFound(NotFound):
    """No such key."""

    reason = "KEY_NOT_FOUND"


class LockNotFound(NotFound):
    """Nobody holds, waits for, or ever held this lock."""

    reason = "LOCK_NOT_FOUND"


class MemberNotFound(NotFound):
    """No such member."""

    reason = "MEMBER_NOT_FOUND"


# What became of the session. All final: open a new one.


class SessionClosed(TenureError):
    """Base of why a session is over."""

    reason = "SESSION_CLOSED"


class SessionNotFound(SessionClosed, NotFound):
    """No such session, neither live nor among the last that ended."""

    reason = "SESSION_NOT_FOUND"


class SessionExpired(SessionClosed):
    """The session has ended: its TTL ran out, or it was destroyed."""

    reason = "SESSION_EXPIRED"


class SessionSuperseded(SessionClosed):
    """Another instance took the session over."""

    reason = "SESSION_SUPERSEDED"


class SessionSecretWrong(SessionClosed):
    """The session has a secret, and the call did not bring it."""

    reason = "SESSION_SECRET_WRONG"


class ForkedError(SessionClosed):
    """The process was forked. Clients, sessions and holds stay with the parent; a child opens its own."""

    reason = "FORKED"


class ClientClosed(TenureError):
    """The client was closed."""

    reason = "CLIENT_CLOSED"


# What is not as demanded.


class ConditionFailed(TenureError):
    """Base of refusals because the state is not as the call demands."""


class CompareFailed(ConditionFailed):
    """A revision, version or existence is not as demanded."""

    reason = "COMPARE_FAILED"


class LockHeld(ConditionFailed):
    """The lock is held or waited for."""

    reason = "LOCK_HELD"


class LockDelayed(ConditionFailed):
    """The lock is delayed after a loss."""

    reason = "LOCK_DELAYED"


class LockNotHeld(ConditionFailed):
    """Session and owner do not hold the lock."""

    reason = "LOCK_NOT_HELD"


class FencingTokenStale(ConditionFailed):
    """The sequencer does not hold any more."""

    reason = "FENCING_TOKEN_STALE"


class LockModeMismatch(ConditionFailed):
    """The lock is in use in another mode or with another limit."""

    reason = "LOCK_MODE_MISMATCH"


class EpochMismatch(ConditionFailed):
    """The epoch to replace is not the session's."""

    reason = "EPOCH_MISMATCH"


class AttemptOutdated(ConditionFailed):
    """A later attempt of the same instance to attach came first."""

    reason = "ATTEMPT_OUTDATED"

    @property
    def attempt(self) -> int:
        """Number of the later attempt; 0 when the server did not say."""
        return int(self.metadata.get("attempt", "0"))


class CandidateNotFound(ConditionFailed):
    """The named candidate does not wait."""

    reason = "CANDIDATE_NOT_FOUND"


class Frozen(ConditionFailed):
    """Grants are frozen after a restore."""

    reason = "FROZEN"


class TooManyKeys(ConditionFailed):
    """A delete by prefix would delete more than 10 000 keys; nothing was deleted."""

    reason = "TOO_MANY_KEYS"


class MembershipRefused(ConditionFailed):
    """The membership change would lose the quorum, or another is under way."""

    reason = "MEMBERSHIP_REFUSED"


class LimitInUse(ConditionFailed):
    """A limit would be lowered below what is in use, without force."""

    reason = "LIMIT_IN_USE"


class RequestIDReused(ConditionFailed):
    """A request id was used for another request."""

    reason = "REQUEST_ID_REUSED"


class RequestIDDone(ConditionFailed):
    """A request id is below the mark of done requests; nothing was applied."""

    reason = "REQUEST_ID_DONE"


# History.


class HistoryError(TenureError):
    """Base of what is wrong with a place in history."""


class RevisionCompacted(HistoryError):
    """The history asked for is forgotten; `compacted_revision` tells how much."""

    reason = "REVISION_COMPACTED"

    @property
    def compacted_revision(self) -> int:
        """Last forgotten revision; 0 when the server did not say."""
        return int(self.metadata.get("compacted_revision", "0"))


class RevisionFuture(HistoryError):
    """The revision is ahead of the cluster."""

    reason = "REVISION_FUTURE"


class HistoryChanged(HistoryError):
    """A token, sequencer or revision is of another history: the cluster was restored."""

    reason = "HISTORY_CHANGED"


class WatcherTooSlow(HistoryError):
    """A watcher was so slow that its place in history is forgotten."""

    reason = "WATCHER_TOO_SLOW"


# What passes.


class Unavailable(TenureError):
    """No member could answer."""

    reason = "UNAVAILABLE"


class NoLeader(Unavailable):
    """There is no leader."""

    reason = "NO_LEADER"


class NotLeader(Unavailable):
    """This member is not the leader."""

    reason = "NOT_LEADER"


class Stopping(Unavailable):
    """This member is stopping."""

    reason = "STOPPING"


class OutcomeUnknown(Unavailable):
    """The answer was lost: the change was made, or not."""

    reason = "OUTCOME_UNKNOWN"


class LinkLost(Unavailable):
    """The connection to the member broke before the answer."""

    reason = "LINK_LOST"


class InJeopardy(Unavailable):
    """The session's lease is over, and no member has answered since."""

    reason = "IN_JEOPARDY"


class DeadlineExceeded(TenureError, TimeoutError):
    """The deadline passed; `applied` tells what is known."""

    reason = "DEADLINE_EXCEEDED"


class Cancelled(TenureError):
    """The call was cancelled; `applied` tells what is known."""

    reason = "CANCELLED"


# Limits.


class ResourceExhausted(TenureError):
    """Base of limits that are reached."""


class TooManyRequests(ResourceExhausted):
    """Too many requests wait; nothing was applied."""

    reason = "TOO_MANY_REQUESTS"


class RequestWindowFull(ResourceExhausted):
    """Too many requests of the session are open."""

    reason = "REQUEST_WINDOW_FULL"


class LimitExceeded(ResourceExhausted):
    """A limit is reached: that of the name `limit`, which is `limit_value` where the server says so."""

    reason = "LIMIT_EXCEEDED"

    @property
    def limit(self) -> str:
        """Name of the limit."""
        return self.metadata.get("limit", "")

    @property
    def limit_value(self) -> int | None:
        """What the limit is; None when the server did not say."""
        text = self.metadata.get("limit_value", "")
        return int(text) if text.isdigit() else None


class QuotaExceeded(ResourceExhausted):
    """The store is full; deletes, renewals and expiry go on."""

    reason = "QUOTA_EXCEEDED"


class TooLarge(ResourceExhausted):
    """A value, request, response or transaction is too large."""

    reason = "TOO_LARGE"


# The rest.


class FeatureNotEnabled(TenureError):
    """The cluster does not serve this call or field."""

    reason = "FEATURE_NOT_ENABLED"


class MethodNotFound(TenureError):
    """The cluster does not know this call."""

    reason = "METHOD_NOT_FOUND"


class PermissionDenied(TenureError):
    """The caller may not do this."""

    reason = "PERMISSION_DENIED"


class Unauthenticated(TenureError):
    """The caller is not known."""

    reason = "UNAUTHENTICATED"


class InternalError(TenureError):
    """A fault of the service; its log has the cause."""

    reason = "INTERNAL"


# What only a client knows.


class WaitTimeout(TenureError, TimeoutError):
    """A wait ended before what it waited for came."""

    reason = "WAIT_TIMEOUT"


class WaitBroken(TenureError):
    """An operator removed the waiter from its queue."""

    reason = "WAIT_BROKEN"


class HoldLost(TenureError):
    """What was held is held no more, or can no longer be believed to be."""

    reason = "HOLD_LOST"


class StaleToken(TenureError):
    """A fencing token is older than one that the resource has seen."""

    reason = "STALE_TOKEN"


def _leaves(base: type[TenureError]) -> list[type[TenureError]]:
    found: list[type[TenureError]] = []
    for cls in base.__subclasses__():
        found.append(cls)
        found.extend(_leaves(cls))
    return found


_BY_REASON: dict[str, type[TenureError]] = {
    cls.__dict__["reason"]: cls for cls in _leaves(TenureError) if "reason" in cls.__dict__
}


def for_reason(reason: str) -> type[TenureError]:
    """Returns the class of a reason; TenureError for one that is not known."""
    return _BY_REASON.get(reason, TenureError)
