package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

const (
	// errorDomain is the domain of every ErrorInfo.
	errorDomain = "tenure.io"
	// reasonPrefix is cut off the names of ErrorReason.
	reasonPrefix = "ERROR_REASON_"
	// internalText is all that a client learns of an internal error, with the request id.
	internalText = "internal error; the member's log has the cause under the request id"
)

// What an error says about the change that was asked for, in ErrorInfo's metadata under "applied".
const (
	appliedYes     = "yes"
	appliedNo      = "no"
	appliedUnknown = "unknown"
)

// Errors of the server itself.
var (
	// errStopping ends streams and refuses calls while the server stops.
	errStopping = errors.New("member is stopping")
	// errPanic stands for a panic of a handler.
	errPanic = errors.New("panic")
)

// apiError is the one error that services return: a reason of the API with its facts. toStatus makes a gRPC status of
// it.
type apiError struct {
	reason     tenurev1.ErrorReason
	message    string
	applied    string // one of the applied constants; empty means no
	metadata   map[string]string
	violations []*errdetails.BadRequest_FieldViolation
	retryAfter time.Duration // zero: not told
	code       codes.Code    // OK: that of the reason
	far        bool          // another member said it
}

// Error returns the text for people.
func (e *apiError) Error() string { return e.message }

// newError returns an error of the API. Nothing was applied, unless with says otherwise.
func newError(reason tenurev1.ErrorReason, format string, args ...any) *apiError {
	return &apiError{reason: reason, message: fmt.Sprintf(format, echoed(args)...)}
}

// invalid returns the error for one field with a value that is not allowed.
func invalid(field, format string, args ...any) *apiError {
	return invalidAs(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, field, format, args...)
}

// invalidAs is invalid with a reason of its own.
func invalidAs(reason tenurev1.ErrorReason, field, format string, args ...any) *apiError {
	text := fmt.Sprintf(format, echoed(args)...)
	e := &apiError{reason: reason, message: field + ": " + text}
	e.violations = []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text, Reason: reasonName(reason)}}
	return e
}

// notServed returns the error for an RPC or field that this version does not serve.
func notServed(what string) *apiError {
	return newError(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "%s is not supported by this version", what)
}

// with adds a fact to the error's metadata, and returns the error.
func (e *apiError) with(name, value string) *apiError {
	e.add(name, value)
	return e
}

// add adds a fact to the error's metadata.
func (e *apiError) add(name, value string) {
	if e.metadata == nil {
		e.metadata = map[string]string{}
	}
	e.metadata[name] = fact(name, value)
}

// reasonName returns the reason as it is sent.
func reasonName(reason tenurev1.ErrorReason) string {
	return strings.TrimPrefix(reason.String(), reasonPrefix)
}

// codeOf is the table from reason to gRPC code.
func codeOf(reason tenurev1.ErrorReason) codes.Code {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
		tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY,
		tenurev1.ErrorReason_ERROR_REASON_KEY_TOO_LONG,
		tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST,
		tenurev1.ErrorReason_ERROR_REASON_UNKNOWN_FIELD,
		tenurev1.ErrorReason_ERROR_REASON_PAGE_TOKEN_INVALID,
		tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID,
		tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID,
		tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		return codes.InvalidArgument
	case tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND:
		return codes.NotFound
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG,
		tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return codes.PermissionDenied
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:
		return codes.Unauthenticated
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED,
		tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD,
		tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE,
		tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH,
		tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED,
		tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE,
		tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED,
		tenurev1.ErrorReason_ERROR_REASON_FROZEN,
		tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH,
		tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED,
		tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND,
		tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS,
		tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED:
		return codes.FailedPrecondition
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED,
		tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:
		return codes.OutOfRange
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
		tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER,
		tenurev1.ErrorReason_ERROR_REASON_STOPPING,
		tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN:
		return codes.Unavailable
	case tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL,
		tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
		tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE:
		return codes.ResourceExhausted
	case tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
		tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND:
		return codes.Unimplemented
	case tenurev1.ErrorReason_ERROR_REASON_CANCELLED:
		return codes.Canceled
	case tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED:
		return codes.DeadlineExceeded
	case tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW:
		return codes.Aborted
	default:
		return codes.Internal
	}
}

// retryAfter is how long a client should wait before it tries again, where that is not known better.
func retryAfter(reason tenurev1.ErrorReason) time.Duration {
	switch reason {
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER:
		return 500 * time.Millisecond
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return time.Second
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS:
		return 100 * time.Millisecond
	default:
		return 0
	}
}

// toStatus makes the gRPC status of any error. One that is not an error of the API becomes INTERNAL with a fixed text,
// and internal is true: the caller logs the cause under requestID.
func toStatus(err error, requestID string) (s *status.Status, internal bool) {
	e := toAPI(err)
	if e == nil {
		e = newError(tenurev1.ErrorReason_ERROR_REASON_INTERNAL, "%s %s", internalText, requestID)
		e.applied = appliedUnknown
		e.add("request_id", requestID)
		internal = true
	}
	metadata := map[string]string{"applied": e.applied}
	if e.applied == "" {
		metadata["applied"] = appliedNo
	}
	maps.Copy(metadata, e.metadata)
	wait := e.retryAfter
	if wait == 0 {
		wait = retryAfter(e.reason)
	}
	if wait > 0 {
		metadata["retry_after_ms"] = strconv.FormatInt(wait.Milliseconds(), 10)
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason:   reasonName(e.reason),
		Domain:   errorDomain,
		Metadata: metadata,
	}}
	if len(e.violations) > 0 {
		details = append(details, &errdetails.BadRequest{FieldViolations: e.violations})
	}
	if wait > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	}
	code := e.code
	if code == codes.OK {
		code = codeOf(e.reason)
	}
	s = status.New(code, short(strings.ToValidUTF8(e.message, "\uFFFD"), messageBytesMax))
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s, internal
}

// reasonIn returns the reason in a status that a service of Tenure made; nil if gRPC or a gateway made it on the way.
func reasonIn(s *status.Status) *errdetails.ErrorInfo {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info
		}
	}
	return nil
}

// toAPI finds the error of the API that an error of any room means; nil if it means none.
func toAPI(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	if e := fromNode(err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, errPanic):
		return nil
	case errors.Is(err, errStopping), errors.Is(err, storage.ErrClosed), errors.Is(err, watch.ErrStopped):
		return newError(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "this member is stopping; ask another")
	case errors.Is(err, watch.ErrTooMany):
		return newError(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "this member has reached its limit of watches").
			with("limit", "watches_max")
	case errors.Is(err, storage.ErrSessionID):
		return newError(tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID, "a session id must be a UUID")
	case errors.Is(err, storage.ErrCompacted):
		return newError(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED, "the requested history was discarded")
	case errors.Is(err, storage.ErrFuture):
		return newError(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE, "the revision is ahead of the cluster")
	case errors.Is(err, context.DeadlineExceeded):
		return newError(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the deadline passed")
	case errors.Is(err, context.Canceled):
		return newError(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the caller cancelled the call")
	default:
		return fromStatus(err)
	}
}

// fromNode returns what an error of raftnode means.
func fromNode(err error) *apiError {
	var hint *raftnode.NotLeaderError
	switch {
	case errors.Is(err, raftnode.ErrOutcomeUnknown):
		return unknownOutcome(err)
	case errors.As(err, &hint) && hint.Leader != 0:
		return newError(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader").
			with("leader_id", strconv.FormatUint(hint.Leader, 10))
	case errors.Is(err, raftnode.ErrNotLeader):
		return newError(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader")
	case errors.Is(err, raftnode.ErrNoLeader), errors.Is(err, raftnode.ErrTransferring):
		return newError(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "there is no leader; most members may be down")
	case errors.Is(err, raftnode.ErrDiskHangs):
		return newError(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "the disk of this member hangs; use another member")
	case errors.Is(err, raftnode.ErrMemberUnknown):
		return newError(tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND, "the member does not exist; `tenure member list` shows all members")
	case errors.Is(err, raftnode.ErrTooBusy):
		return newError(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "too many changes are under way")
	case errors.Is(err, raftnode.ErrDiskFull):
		return newError(tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
			"the disk of a member has too little room; deletes, releases, renewals and expiry go on")
	case errors.Is(err, raftnode.ErrNoAgreement):
		return newError(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
			"the states of the members differ and no quorum has the same; nothing is written until an operator steps in")
	case errors.Is(err, raftnode.ErrTooLarge):
		return newError(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the change is too large")
	case errors.Is(err, raftnode.ErrCommandUnknown):
		return newError(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
			"the leader does not support a part of this change; it may run an older version than this member")
	case errors.Is(err, raftnode.ErrStopped):
		return newError(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "this member is stopping; ask another")
	default:
		return refusedChange(err)
	}
}

// refusedChange returns what a refused change of members means; nil for another error.
func refusedChange(err error) *apiError {
	for _, refusal := range []struct {
		err   error
		cause string
	}{
		{raftnode.ErrMemberExists, "exists"},
		{raftnode.ErrMemberRemoved, "removed"},
		{raftnode.ErrMemberRefused, "refused"},
		{raftnode.ErrLosesQuorum, "loses_quorum"},
		{raftnode.ErrNotCaughtUp, "not_caught_up"},
		{raftnode.ErrConfChangePending, "change_pending"},
		{raftnode.ErrTransferFailed, "transfer_failed"},
		{raftnode.ErrOnlyVoter, "only_voter"},
		{raftnode.ErrNoPeers, "no_peers"},
	} {
		if errors.Is(err, refusal.err) {
			return newError(tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED, "%s", err).with("cause", refusal.cause)
		}
	}
	return nil
}

// unknownOutcome tells why the answer to a proposed command was lost. Whatever the reason, it may be applied.
func unknownOutcome(err error) *apiError {
	reason := tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN
	text := "the answer was lost; the change may or may not be applied"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		reason = tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED
		text = "the deadline passed; the change may or may not be applied"
	case errors.Is(err, context.Canceled):
		reason = tenurev1.ErrorReason_ERROR_REASON_CANCELLED
		text = "the caller gave up; the change may or may not be applied"
	}
	e := newError(reason, "%s", text)
	e.applied = appliedUnknown
	return e
}

// afterChange returns the error of a call that has made its change already, and could not tell what came of it.
func afterChange(err error) error {
	e := toAPI(err)
	if e == nil {
		return err
	}
	made := *e
	made.applied = appliedYes
	return &made
}

// fromStatus returns what a status that gRPC itself made means: of codes that clients cause.
func fromStatus(err error) *apiError {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	switch s.Code() {
	case codes.Canceled:
		return newError(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the caller cancelled the call")
	case codes.DeadlineExceeded:
		return newError(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the deadline passed")
	case codes.ResourceExhausted:
		return newError(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "%s", s.Message())
	case codes.Unimplemented:
		return newError(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "%s", s.Message())
	case codes.InvalidArgument:
		return newError(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "%s", s.Message())
	case codes.Internal:
		// Ours are no statuses yet; gRPC's own mean that the client broke its framing, and were sent already.
		return newError(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, "%s", s.Message())
	case codes.Unavailable:
		return newError(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the connection broke")
	default:
		return nil
	}
}

// reasonOfFailure is the table from broken rules of the state machine to reasons of the API.
func reasonOfFailure(reason storev1.FailureReason) tenurev1.ErrorReason {
	known, ok := map[storev1.FailureReason]tenurev1.ErrorReason{
		storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND:   tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND,
		storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED:     tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED:  tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED,
		storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED:      tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED,
		storev1.FailureReason_FAILURE_REASON_KEY_NOT_FOUND:       tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND,
		storev1.FailureReason_FAILURE_REASON_LOCK_HELD:           tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD,
		storev1.FailureReason_FAILURE_REASON_LOCK_DELAYED:        tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED,
		storev1.FailureReason_FAILURE_REASON_LOCK_NOT_HELD:       tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD,
		storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE: tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE,
		storev1.FailureReason_FAILURE_REASON_LOCK_MODE_MISMATCH:  tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH,
		storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED:      tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED:   tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED,
		storev1.FailureReason_FAILURE_REASON_REQUEST_ID_DONE:     tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE,
		storev1.FailureReason_FAILURE_REASON_REQUEST_WINDOW_FULL: tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL,
		storev1.FailureReason_FAILURE_REASON_REVISION_FUTURE:     tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE,
		storev1.FailureReason_FAILURE_REASON_REVISION_COMPACTED:  tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED,
		storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE:    tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE,
		storev1.FailureReason_FAILURE_REASON_OVER_BUDGET:         tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE,
		storev1.FailureReason_FAILURE_REASON_CANDIDATE_NOT_FOUND: tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND,
		storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH:      tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH,
		storev1.FailureReason_FAILURE_REASON_FROZEN:              tenurev1.ErrorReason_ERROR_REASON_FROZEN,
		storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED: tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
		storev1.FailureReason_FAILURE_REASON_TOO_MANY_KEYS:       tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS,
		storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND:     tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
		storev1.FailureReason_FAILURE_REASON_STORE_FULL:          tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
		storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS:       tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED,
		storev1.FailureReason_FAILURE_REASON_MEMBER_NOT_FOUND:    tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND,
	}[reason]
	if !ok {
		return tenurev1.ErrorReason_ERROR_REASON_INTERNAL
	}
	return known
}

// failureError returns the error for a rule that a command broke. Nothing was written by the command; an earlier
// attempt of a remembered request may have been applied, and then the failure says so.
func failureError(f *storev1.Failure, remembered bool) error {
	reason := reasonOfFailure(f.GetReason())
	if reason == tenurev1.ErrorReason_ERROR_REASON_INTERNAL {
		return fmt.Errorf("command failed with %v: %s", f.GetReason(), storage.FailureText(f))
	}
	e := newError(reason, "%s", storage.FailureText(f))
	addFacts(e, f)
	if remembered && (reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED ||
		reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND ||
		reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED) {
		e.applied = appliedOf(f.GetApplied())
	}
	return e
}

// appliedOf returns what a failure knows about an earlier attempt.
func appliedOf(applied uint32) string {
	switch applied {
	case 1:
		return appliedYes
	case 2:
		return appliedNo
	default:
		return appliedUnknown
	}
}

// addFacts copies a failure's facts to the error's metadata.
func addFacts(e *apiError, f *storev1.Failure) {
	if f.GetKey() != "" {
		e.add("key", f.GetKey())
	}
	if id, err := storage.SessionIDFromBytes(f.GetSessionId()); err == nil {
		e.add("session_id", id.String())
	}
	switch f.GetReason() {
	case storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED:
		e.add("revision", strconv.FormatUint(f.GetActual(), 10))
		e.add("position", strconv.FormatUint(uint64(f.GetPosition()), 10))
	case storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH,
		storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED:
		e.add("epoch", strconv.FormatUint(f.GetActual(), 10))
	case storev1.FailureReason_FAILURE_REASON_OVER_BUDGET:
		e.add("amount", strconv.FormatUint(f.GetActual(), 10))
	case storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS:
		e.add("cause", "exists")
	case storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE:
		e.add("position", strconv.FormatUint(uint64(f.GetPosition()), 10))
	default:
		// The others have no facts of their own.
	}
	if ops := f.GetOperations(); len(ops) > 0 {
		names := make([]string, 0, len(ops))
		for _, op := range ops {
			names = append(names, fmt.Sprintf("%d:%s", op.GetPosition(), reasonName(reasonOfFailure(op.GetFailure().GetReason()))))
		}
		e.add("operations", strings.Join(names, ","))
		list := "then"
		if f.GetElseOps() {
			list = "otherwise"
		}
		e.add("list", list)
	}
	if f.GetLimitName() != "" {
		e.add("limit", f.GetLimitName())
		e.add("limit_value", strconv.FormatUint(f.GetLimit(), 10))
	}
	if holds := f.GetLock().GetHolds(); len(holds) > 0 {
		holder := ""
		if id, err := storage.SessionIDFromBytes(holds[0].GetSessionId()); err == nil {
			holder = id.String()
		}
		e.add("holder_session_id", holder)
		e.add("holder_name", holds[0].GetSessionName())
		e.add("holder_since_ms", strconv.FormatInt(holds[0].GetGrantTimeMs(), 10))
	}
}
