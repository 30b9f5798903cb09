package tenure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// The kinds of errors, for errors.Is.
var (
	// ErrSessionExpired says that the cluster has ended the session: by its TTL, an operator, or otherwise.
	ErrSessionExpired = errors.New("session expired")
	// ErrSessionSuperseded says that another process took the session over. This is permanent.
	ErrSessionSuperseded = errors.New("session taken over by another process")
	// ErrSessionClosed says that this process closed or exported the session.
	ErrSessionClosed = errors.New("session closed")
	// ErrClientClosed says that the client was closed.
	ErrClientClosed = errors.New("client closed")
	// ErrCacheClosed says that the cache was closed.
	ErrCacheClosed = errors.New("cache closed")
	// ErrServiceListClosed says that the service list was closed.
	ErrServiceListClosed = errors.New("service list closed")
	// ErrRegistrationClosed says that the registration was closed.
	ErrRegistrationClosed = errors.New("registration closed")
	// ErrAuth says that a secret is wrong, or that the caller may not do this.
	ErrAuth = errors.New("not allowed")
	// ErrKeyNotFound says that the key does not exist.
	ErrKeyNotFound = errors.New("key not found")
	// ErrLockNotFound says that a lock has no holder and no waiter, and was never held or has been forgotten since.
	ErrLockNotFound = errors.New("lock not found")
	// ErrSessionNotFound says that the cluster does not know the session.
	ErrSessionNotFound = errors.New("session not found")
	// ErrNodeNotFound says that the catalog has no such node.
	ErrNodeNotFound = errors.New("node not found")
	// ErrServiceNotFound says that the node has no such instance of a service.
	ErrServiceNotFound = errors.New("service not found")
	// ErrCheckNotFound says that the node has no such check.
	ErrCheckNotFound = errors.New("check not found")
	// ErrCheckCritical says that a session cannot be bound to a check, because it is critical.
	ErrCheckCritical = errors.New("check critical")
	// ErrQueryNotFound says that no prepared query has this id or name.
	ErrQueryNotFound = errors.New("query not found")
	// ErrQueryNameTaken says that another prepared query has this name.
	ErrQueryNameTaken = errors.New("query name taken")
	// ErrNodeConflict says that another machine has the name of the node.
	ErrNodeConflict = errors.New("the node is another machine's")
	// ErrCompareFailed says that a revision, a version or the existence of a key, or the revision of a prepared query, was not as required.
	ErrCompareFailed = errors.New("compare failed")
	// ErrLockHeld says, in transactions, that a lock is held or waited for.
	ErrLockHeld = errors.New("lock held")
	// ErrLockDelayed says, in transactions, that the lock-delay of a lost hold still runs.
	ErrLockDelayed = errors.New("lock delayed")
	// ErrNotHeld says that the session and owner do not hold the lock.
	ErrNotHeld = errors.New("lock not held")
	// ErrStaleToken says that a sequencer is no longer valid.
	ErrStaleToken = errors.New("fencing token stale")
	// ErrModeMismatch says that a lock is in use in another mode or with another limit.
	ErrModeMismatch = errors.New("lock in use in another mode")
	// ErrLockLost says that a hold ended other than by its user's release.
	ErrLockLost = errors.New("lock lost")
	// ErrReleased says that a hold was released by its user.
	ErrReleased = errors.New("lock released")
	// ErrWaitTimedOut says that a lock was not granted within the given wait or by the given deadline.
	ErrWaitTimedOut = errors.New("wait timed out")
	// ErrWaitEnded says that an operator ended a wait.
	ErrWaitEnded = errors.New("wait ended by an operator")
	// ErrCandidateNotFound says that the named candidate is not waiting.
	ErrCandidateNotFound = errors.New("candidate not found")
	// ErrCompacted says that the requested history was discarded.
	ErrCompacted = errors.New("revision compacted")
	// ErrFutureRevision says that a revision is ahead of the cluster.
	ErrFutureRevision = errors.New("revision ahead of the cluster")
	// ErrHistoryChanged says that the cluster has been restored since then.
	ErrHistoryChanged = errors.New("history changed")
	// ErrTooSlow says that a watcher read too slowly, and the history that it needs was discarded.
	ErrTooSlow = errors.New("watcher too slow")
	// ErrTokenInvalid says that a token or sequencer text is damaged, or belongs elsewhere.
	ErrTokenInvalid = errors.New("token invalid")
	// ErrUnavailable says that no member answered, and nothing was applied.
	ErrUnavailable = errors.New("unavailable")
	// ErrTLSFailed says that no member could be reached from the first, because certificates do not verify: the members' or the client's. Or a file of
	// TLS cannot be read. The message says which, and what to do. Once connected, a client takes such a member for one that is down.
	ErrTLSFailed = errors.New("TLS failed")
	// ErrOutcomeUnknown says that the answer was lost: the change may or may not have been applied.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrLimit says that a limit of the cluster, of a member or of a session was reached.
	ErrLimit = errors.New("limit reached")
	// ErrInvalidArgument says that an argument is not allowed.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrFrozen says that grants are frozen after a restore.
	ErrFrozen = errors.New("grants are frozen after a restore")
	// ErrNotSupported says that the cluster does not support this.
	ErrNotSupported = errors.New("not supported by this cluster")
	// ErrInternal says that the service has an internal fault.
	ErrInternal = errors.New("internal fault of the service")
)

// Applied says whether a failed change was applied.
type Applied string

// The values of Applied.
const (
	AppliedNo      Applied = "no"
	AppliedYes     Applied = "yes"
	AppliedUnknown Applied = "unknown"
)

// Error describes a failed call, as reported by a member or by the library. Its kind is one of this package's
// sentinels; errors.Is finds it and everything else that is wrapped.
//
// If a call had no answer when its context ended, the kind is ErrOutcomeUnknown, or ErrUnavailable if the call was
// never sent. The error wraps what ended the context: context.Canceled or context.DeadlineExceeded, and context.Cause,
// such as ErrLockLost or ErrReleased with Held.Context. If the end of the session or WithWait ended the call, that is
// the kind, and ErrOutcomeUnknown is wrapped if the call was sent.
type Error struct {
	// Kind is the sentinel.
	Kind error
	// Reason is the API's reason, such as KEY_NOT_FOUND; empty if the error is not from a member.
	Reason string
	// Applied says whether the change was made.
	Applied Applied
	// Message describes the error for people.
	Message string
	// Facts are further facts from the member: "leader", "compacted_revision", "resume_token" and so on.
	Facts map[string]string

	cause error
}

// Error returns kind and message.
func (e *Error) Error() string {
	text := e.text()
	if e.Applied != AppliedNo && !errors.Is(e.Kind, ErrOutcomeUnknown) {
		text += fmt.Sprintf(" (applied: %s)", known(e.Applied))
	}
	return text
}

// text is Error without what is known of the change.
func (e *Error) text() string {
	switch {
	case e.Kind == nil && e.Message == "":
		return "unknown error"
	case e.Kind == nil:
		return e.Message
	case e.Message == "" || e.Message == e.Kind.Error():
		return e.Kind.Error()
	}
	return e.Kind.Error() + ": " + e.Message
}

// with returns the error with what is known of the change. The kind of a call without answer says it, too.
func (e *Error) with(applied Applied) *Error {
	told := *e
	told.Applied = applied
	if applied == AppliedUnknown && errors.Is(e.Kind, ErrUnavailable) {
		told.Kind = ErrOutcomeUnknown
	}
	return &told
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Kind, e.cause}, func(err error) bool { return err == nil })
}

// KindOf returns the sentinel of this package that matches an error, or nil.
func KindOf(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return nil
}

// isAny tells whether an error is one of some kinds.
func isAny(err error, kinds ...error) bool {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// AppliedOf returns what an error says about the change: AppliedUnknown if it says nothing.
func AppliedOf(err error) Applied {
	if e, ok := errors.AsType[*Error](err); ok {
		return known(e.Applied)
	}
	return AppliedUnknown
}

// known returns what may be known of a change: only a plain yes or no tells something.
func known(applied Applied) Applied {
	if applied == AppliedYes || applied == AppliedNo {
		return applied
	}
	return AppliedUnknown
}

// kindOfReason returns the sentinel of one of the API's reasons; nil of those that go by their gRPC code.
func kindOfReason(reason tenurev1.ErrorReason) error {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED:
		return ErrSessionExpired
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED, tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH:
		return ErrSessionSuperseded
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		return ErrSessionNotFound
	case tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND:
		return ErrKeyNotFound
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND:
		return ErrLockNotFound
	case tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED:
		return ErrCompareFailed
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD:
		return ErrLockHeld
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED:
		return ErrLockDelayed
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD:
		return ErrNotHeld
	case tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE:
		return ErrStaleToken
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH:
		return ErrModeMismatch
	case tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND:
		return ErrCandidateNotFound
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED:
		return ErrCompacted
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:
		return ErrFutureRevision
	case tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED:
		return ErrHistoryChanged
	case tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW:
		return ErrTooSlow
	case tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID, tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID:
		return ErrTokenInvalid
	case tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE:
		return ErrOutcomeUnknown
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:
		return ErrLimit
	case tenurev1.ErrorReason_ERROR_REASON_FROZEN:
		return ErrFrozen
	case tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED:
		return ErrUnavailable // The next attempt has a higher number.
	default:
		return kindOfCatalogReason(reason)
	}
}

// kindOfCatalogReason is kindOfReason for reasons of the catalog.
func kindOfCatalogReason(reason tenurev1.ErrorReason) error {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return ErrNodeNotFound
	case tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND:
		return ErrServiceNotFound
	case tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND:
		return ErrCheckNotFound
	case tenurev1.ErrorReason_ERROR_REASON_CHECK_CRITICAL:
		return ErrCheckCritical
	case tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT:
		return ErrNodeConflict
	case tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND:
		return ErrQueryNotFound
	case tenurev1.ErrorReason_ERROR_REASON_QUERY_NAME_TAKEN:
		return ErrQueryNameTaken
	default:
		return nil
	}
}

// kindOfCode returns the sentinel of an error whose reason has none of its own.
func kindOfCode(code codes.Code) error {
	switch code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return ErrInvalidArgument
	case codes.PermissionDenied, codes.Unauthenticated:
		return ErrAuth
	case codes.ResourceExhausted:
		return ErrLimit
	case codes.Unimplemented:
		return ErrNotSupported
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Aborted:
		return ErrUnavailable
	default:
		return ErrInternal
	}
}

// fromRPC returns the error of a call as callers see it.
func fromRPC(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return &Error{Kind: ErrUnavailable, Applied: AppliedUnknown, Message: err.Error(), cause: err}
	}
	e := &Error{Message: s.Message(), cause: err}
	if info := errorinfo.Of(err); info != nil {
		e.Reason = info.GetReason()
		e.Facts = info.GetMetadata()
	}
	if e.Kind = kindOfReason(errorinfo.Reason(err)); e.Kind == nil {
		e.Kind = kindOfCode(s.Code())
	}
	return e.with(known(Applied(e.Facts["applied"])))
}

// again tells whether another attempt, or another member, may bring a better answer.
func again(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable:
		return true
	case codes.ResourceExhausted:
		switch errorinfo.Reason(err) {
		case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL:
			return true
		default:
			return false
		}
	case codes.Canceled, codes.DeadlineExceeded:
		// Of the connection, or of an attempt; the caller's own end is looked at first.
		return true
	default:
		return false
	}
}

// errJeopardy ends calls that waited as long as they may for a session in JEOPARDY.
var errJeopardy = errors.New("no member answered for longer than the session waits")

// ending is why the library itself ended a call's context. Any other *Error there is the caller's: what else of his it was that failed is no word of
// the call.
type ending struct{ error }

func (e ending) Unwrap() error { return e.error }

// interrupted returns the error of a call whose context ended. Sent tells whether it may have been applied.
func interrupted(ctx context.Context, sent bool, last error) error {
	cause := context.Cause(ctx)
	e := &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: cause.Error()}
	if sent {
		e = e.with(AppliedUnknown)
	}
	why, told := errors.AsType[*Error](cause)
	if told {
		e.Message = why.text()
	}
	switch _, own := errors.AsType[ending](cause); {
	case own && told:
		if sent {
			e.cause = e.Kind
		}
		e.Kind, e.Message = why.Kind, why.Message
	case own:
	case told && !errors.Is(cause, ErrLockLost):
		e.cause = ctx.Err()
	default:
		e.cause = errors.Join(ctx.Err(), cause)
	}
	if last != nil && !errors.Is(cause, last) {
		e.Message += "; " + lastText(last)
	}
	return e
}

// lastText tells of the last attempt.
func lastText(err error) string {
	if unreachable, ok := errors.AsType[*UnreachableError](err); ok {
		return unreachable.Error()
	}
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// invalid returns the error of an argument that is not allowed.
func invalid(format string, args ...any) error {
	return &Error{Kind: ErrInvalidArgument, Applied: AppliedNo, Message: fmt.Sprintf(format, args...)}
}
