"""Typed errors: one class for each reason that the cluster gives, and a few that only a client knows.

Branch on the class, or on `reason`, never on the text. `applied` says whether the call changed anything: True, False,
or None if that is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping


class TenureError(Exception):
    """Base of every error of this package.

    `reason` is the cluster's name for the error, such as COMPARE_FAILED. `applied` says whether the call changed
    anything: True, False, or None if that is unknown. `metadata` has facts about the error as text, and `violations`
    the wrong fields of a request, each with what is wrong with it.
    """

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
        """How long to wait before the next try, in seconds; None if the server does not say."""
        text = self.metadata.get("retry_after_ms")
        return int(text) / 1000 if text and text.isdigit() else None


# Mistakes of the caller.


class InvalidArgument(TenureError):
    """A field is missing or has a value that is not allowed; `violations` names each."""

    reason = "INVALID_ARGUMENT"


class KeyEmpty(InvalidArgument):
    """A key is empty."""

    reason = "KEY_EMPTY"


class KeyTooLong(InvalidArgument):
    """A key, with its namespace, is longer than 1 024 bytes."""

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


# Things that do not exist.


class NotFound(TenureError):
    """Base of the errors about something that does not exist."""


class KeyNotFound(NotFound):
    """The key does not exist."""

    reason = "KEY_NOT_FOUND"


class LockNotFound(NotFound):
    """No session holds this lock or waits for it. None ever held it, or the cluster has forgotten that."""

    reason = "LOCK_NOT_FOUND"


class MemberNotFound(NotFound):
    """The member does not exist."""

    reason = "MEMBER_NOT_FOUND"


# Ends of a session. All are final: open a new one.


class SessionClosed(TenureError):
    """The session has ended, or is being handed over. Base of the errors that say how it ended."""

    reason = "SESSION_CLOSED"


class SessionNotFound(SessionClosed, NotFound):
    """The session does not exist: it is neither alive nor among the last that ended."""

    reason = "SESSION_NOT_FOUND"


class SessionExpired(SessionClosed):
    """The session has ended: its TTL elapsed, or another client destroyed it."""

    reason = "SESSION_EXPIRED"


class SessionSuperseded(SessionClosed):
    """Another instance took the session over."""

    reason = "SESSION_SUPERSEDED"


class SessionSecretWrong(SessionClosed):
    """The session has a secret, and the call did not carry it."""

    reason = "SESSION_SECRET_WRONG"


class ForkedError(SessionClosed):
    """The process was forked. Clients, sessions and holds belong to the parent: a child cannot use them."""

    reason = "FORKED"


class ClientClosed(TenureError):
    """The client was closed."""

    reason = "CLIENT_CLOSED"


# Conditions that do not hold.


class ConditionFailed(TenureError):
    """Base of the errors of calls whose condition does not hold. Nothing was applied."""


class CompareFailed(ConditionFailed):
    """A key does not have the expected revision, version or value, or exists when it must not, or the reverse."""

    reason = "COMPARE_FAILED"


class LockHeld(ConditionFailed):
    """The lock is held, or another session waits for it; in transactions."""

    reason = "LOCK_HELD"


class LockDelayed(ConditionFailed):
    """The lock is in its lock-delay, because its last holder lost it; in transactions."""

    reason = "LOCK_DELAYED"


class LockNotHeld(ConditionFailed):
    """The lock is not held by this session and owner."""

    reason = "LOCK_NOT_HELD"


class FencingTokenStale(ConditionFailed):
    """The hold that a guard or call names has ended: the sequencer is no longer valid."""

    reason = "FENCING_TOKEN_STALE"


class LockModeMismatch(ConditionFailed):
    """The lock is in use in another mode or with another limit."""

    reason = "LOCK_MODE_MISMATCH"


class EpochMismatch(ConditionFailed):
    """The epoch to replace is not the session's."""

    reason = "EPOCH_MISMATCH"


class AttemptOutdated(ConditionFailed):
    """A later attempt of the same process to attach arrived first."""

    reason = "ATTEMPT_OUTDATED"

    @property
    def attempt(self) -> int:
        """Number of the later attempt; 0 if the server did not say."""
        return int(self.metadata.get("attempt", "0"))


class CandidateNotFound(ConditionFailed):
    """The named candidate is not waiting."""

    reason = "CANDIDATE_NOT_FOUND"


class Frozen(ConditionFailed):
    """The cluster was restored from a backup recently, and grants no locks yet."""

    reason = "FROZEN"


class TooManyKeys(ConditionFailed):
    """A delete by prefix would delete more than 10 000 keys; nothing was deleted."""

    reason = "TOO_MANY_KEYS"


class MembershipRefused(ConditionFailed):
    """The membership change would lose the quorum, or another is in progress."""

    reason = "MEMBERSHIP_REFUSED"


class NodeNotFound(NotFound):
    """No node of the catalog has this name or id."""

    reason = "NODE_NOT_FOUND"


class ServiceNotFound(NotFound):
    """The node has no instance of a service with this id."""

    reason = "SERVICE_NOT_FOUND"


class CheckNotFound(NotFound):
    """The node has no check with this id."""

    reason = "CHECK_NOT_FOUND"


class PolicyNotFound(NotFound):
    """There is no policy with this name."""

    reason = "POLICY_NOT_FOUND"


class TokenNotFound(NotFound):
    """There is no token with this accessor."""

    reason = "TOKEN_NOT_FOUND"


class QueryNotFound(NotFound):
    """No prepared query has this id or name."""

    reason = "QUERY_NOT_FOUND"


class CheckCritical(ConditionFailed):
    """A check that the session would be bound to is critical."""

    reason = "CHECK_CRITICAL"


class NodeIDConflict(ConditionFailed):
    """Another machine that still lives has this name or this id."""

    reason = "NODE_ID_CONFLICT"


class SyncOutdated(ConditionFailed):
    """A later sync of the node's agent was applied."""

    reason = "SYNC_OUTDATED"


class QueryNameTaken(ConditionFailed):
    """Another prepared query has this name."""

    reason = "QUERY_NAME_TAKEN"


class AuthNotBootstrapped(ConditionFailed):
    """The cluster has no tokens yet: its first one was not made."""

    reason = "AUTH_NOT_BOOTSTRAPPED"


class AuthBootstrapped(ConditionFailed):
    """The first token was made already."""

    reason = "AUTH_BOOTSTRAPPED"


class AuthUnsafe(ConditionFailed):
    """Tokens would travel without TLS."""

    reason = "AUTH_UNSAFE"


class LimitInUse(ConditionFailed):
    """A limit would be lowered below what is in use, without force."""

    reason = "LIMIT_IN_USE"


class RequestIDReused(ConditionFailed):
    """A request id was used for another request."""

    reason = "REQUEST_ID_REUSED"


class RequestIDDone(ConditionFailed):
    """A request id belongs to a request that the client had marked as done; nothing was applied."""

    reason = "REQUEST_ID_DONE"


# History.


class HistoryError(TenureError):
    """Base of the errors about a position in the history of changes."""


class RevisionCompacted(HistoryError):
    """The cluster no longer has this part of the history: it has no revisions up to `compacted_revision`."""

    reason = "REVISION_COMPACTED"

    @property
    def compacted_revision(self) -> int:
        """Last revision that the cluster no longer has; 0 if the server did not say."""
        return int(self.metadata.get("compacted_revision", "0"))


class RevisionFuture(HistoryError):
    """The cluster has not reached this revision yet."""

    reason = "REVISION_FUTURE"


class HistoryChanged(HistoryError):
    """A token, sequencer or revision belongs to another history: the cluster was restored from a backup since."""

    reason = "HISTORY_CHANGED"


class WatcherTooSlow(HistoryError):
    """A watcher read so slowly that the cluster no longer has the events it needs next."""

    reason = "WATCHER_TOO_SLOW"


# Errors that pass: a later call may succeed.


class Unavailable(TenureError):
    """No member answered; the text has the last cause for each."""

    reason = "UNAVAILABLE"


class NoLeader(Unavailable):
    """The cluster has no leader at the moment."""

    reason = "NO_LEADER"


class RightsChanged(Unavailable):
    """The caller's rights changed during the call."""

    reason = "RIGHTS_CHANGED"


class AuditUnavailable(Unavailable):
    """The member cannot write its audit log, and refuses changes until it can."""

    reason = "AUDIT_UNAVAILABLE"


class NotLeader(Unavailable):
    """This member is not the leader."""

    reason = "NOT_LEADER"


class Stopping(Unavailable):
    """This member is stopping."""

    reason = "STOPPING"


class OutcomeUnknown(Unavailable):
    """The response was lost: whether the change was made is unknown."""

    reason = "OUTCOME_UNKNOWN"


class LinkLost(Unavailable):
    """The connection to the member broke before the response."""

    reason = "LINK_LOST"


class TLSFailed(Unavailable):
    """No member could be reached from the first, because certificates do not verify: the members', or the client's.

    Or a file of TLS cannot be used. The text says which, and what to do. Once connected, a client takes such a member
    for one that is down.
    """

    reason = "TLS_FAILED"


class InJeopardy(Unavailable):
    """The session's lease has ended, and no member has answered since."""

    reason = "IN_JEOPARDY"


class DeadlineExceeded(TenureError, TimeoutError):
    """The call's timeout elapsed; `applied` says whether anything was changed."""

    reason = "DEADLINE_EXCEEDED"


class Cancelled(TenureError):
    """The call was cancelled; `applied` says whether anything was changed."""

    reason = "CANCELLED"


# Limits.


class ResourceExhausted(TenureError):
    """Base of the errors about limits that were reached."""


class TooManyRequests(ResourceExhausted):
    """Too many requests are waiting in the cluster; nothing was applied."""

    reason = "TOO_MANY_REQUESTS"


class RequestWindowFull(ResourceExhausted):
    """Too many requests of this session have no response yet."""

    reason = "REQUEST_WINDOW_FULL"


class LimitExceeded(ResourceExhausted):
    """A limit of the cluster was reached: the one named `limit`, whose value is `limit_value`."""

    reason = "LIMIT_EXCEEDED"

    @property
    def limit(self) -> str:
        """Name of the limit."""
        return self.metadata.get("limit", "")

    @property
    def limit_value(self) -> int | None:
        """Value of the limit; None if the server did not say."""
        text = self.metadata.get("limit_value", "")
        return int(text) if text.isdigit() else None


class QuotaExceeded(ResourceExhausted):
    """The store is full; deletes, renewals and expiry still work."""

    reason = "QUOTA_EXCEEDED"


class TooLarge(ResourceExhausted):
    """A value, request, response or transaction is too large."""

    reason = "TOO_LARGE"


# The rest.


class FeatureNotEnabled(TenureError):
    """This feature is not available in the cluster."""

    reason = "FEATURE_NOT_ENABLED"


class MethodNotFound(TenureError):
    """The cluster does not have this call; it may be older than this client."""

    reason = "METHOD_NOT_FOUND"


class PermissionDenied(TenureError):
    """The caller may not do this."""

    reason = "PERMISSION_DENIED"


class Unauthenticated(TenureError):
    """The caller could not be identified."""

    reason = "UNAUTHENTICATED"


class InternalError(TenureError):
    """A fault of the service; the member's log has the cause. Or of an interceptor; the text names its exception."""

    reason = "INTERNAL"


# Errors that only a client reports.


class WaitTimeout(TenureError, TimeoutError):
    """The timeout of a wait elapsed, such as that of `acquire(timeout)`. The place in the queue was given up.

    `applied` is True if an acquire with a `value` wrote it, because the lock was granted just before.
    """

    reason = "WAIT_TIMEOUT"


class WaitBroken(TenureError):
    """An operator removed the waiter from its queue."""

    reason = "WAIT_BROKEN"


class HoldLost(TenureError):
    """The lock was lost, or may have been lost."""

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
    """Returns the class of a reason, or TenureError for an unknown reason."""
    return _BY_REASON.get(reason, TenureError)
