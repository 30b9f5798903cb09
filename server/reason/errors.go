package reason

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
	"google.golang.org/protobuf/proto"
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
	// prefix is cut off the names of ErrorReason.
	prefix = "ERROR_REASON_"
	// internalText is all that a client learns of an internal error, with the request id.
	internalText = "internal error; the member's log has the cause under the request id"
)

// What an error says about the change that was asked for, in ErrorInfo's metadata under "applied".
const (
	AppliedYes     = "yes"
	AppliedNo      = "no"
	AppliedUnknown = "unknown"
)

// Errors of the server itself.
var (
	// ErrStopping ends streams and refuses calls while the server stops.
	ErrStopping = errors.New("member is stopping")
	// ErrConnectionEnds is the ErrStopping of one connection, whose certificate is no longer valid.
	ErrConnectionEnds = fmt.Errorf("connection ends: %w", ErrStopping)
	// ErrPanic stands for a panic of a handler.
	ErrPanic = errors.New("panic")
)

// Error is the one error that services return: a reason of the API with its facts. Status makes a gRPC status of
// it.
type Error struct {
	Reason     tenurev1.ErrorReason
	Message    string
	Applied    string // one of the applied constants; empty means no
	Metadata   map[string]string
	Violations []*errdetails.BadRequest_FieldViolation
	RetryAfter time.Duration // zero: not told
	Code       codes.Code    // OK: that of the reason
	Far        bool          // another member said it
	key        string        // what its facts are about; empty: as its metadata say
}

// About returns the key that the error's facts are about, whole where this member knows it; empty: they are about none.
func (e *Error) About() string {
	if e.key != "" {
		return e.key
	}
	return e.Metadata["key"]
}

// Error returns the text for people.
func (e *Error) Error() string { return e.Message }

// New returns an error of the API. What it says about the change is what the table has for the reason.
func New(reason tenurev1.ErrorReason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, echoed(args)...), Applied: rowOf(reason).applied}
}

// Invalid returns the error for one field with a value that is not allowed.
func Invalid(field, format string, args ...any) *Error {
	return InvalidAs(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, field, format, args...)
}

// InvalidAs is invalid with a reason of its own.
func InvalidAs(reason tenurev1.ErrorReason, field, format string, args ...any) *Error {
	text := fmt.Sprintf(format, echoed(args)...)
	e := &Error{Reason: reason, Message: field + ": " + text}
	e.Violations = []*errdetails.BadRequest_FieldViolation{{Field: field, Description: text, Reason: Name(reason)}}
	return e
}

// NotServed returns the error for an RPC or field that this version does not serve.
func NotServed(what string) *Error {
	return New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "%s is not supported by this version", what)
}

// Exceeds returns the error for a named limit.
func Exceeds(limit string, value int, format string, args ...any) error {
	return New(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "%s", fmt.Sprintf(format, args...)).
		With("limit", limit).With("limit_value", strconv.Itoa(value))
}

// With adds a fact to the error's metadata, and returns the error.
func (e *Error) With(name, value string) *Error {
	e.Add(name, value)
	return e
}

// Add adds a fact to the error's metadata.
func (e *Error) Add(name, value string) {
	if e.Metadata == nil {
		e.Metadata = map[string]string{}
	}
	e.Metadata[name] = fact(name, value)
}

// Name returns the reason as it is sent.
func Name(reason tenurev1.ErrorReason) string {
	return strings.TrimPrefix(reason.String(), prefix)
}

// Label returns a reason as a label of metrics; empty for a call that went well.
func Label(reason tenurev1.ErrorReason) string {
	if reason == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return ""
	}
	return Name(reason)
}

// Named returns the reason with a name as Name gives it, and whether this version knows it.
func Named(name string) (tenurev1.ErrorReason, bool) {
	number, known := tenurev1.ErrorReason_value[prefix+name]
	return tenurev1.ErrorReason(number), known
}

// Status makes the gRPC status of any error. One that is not an error of the API becomes INTERNAL with a fixed text,
// and internal is true: the caller logs the cause under requestID.
func Status(err error, requestID string) (s *status.Status, internal bool) {
	e := Of(err)
	if e == nil {
		e = New(tenurev1.ErrorReason_ERROR_REASON_INTERNAL, "%s %s", internalText, requestID)
		e.Applied = AppliedUnknown
		e.Add("request_id", requestID)
		internal = true
	}
	metadata := map[string]string{"applied": e.Applied}
	if e.Applied == "" {
		metadata["applied"] = AppliedNo
	}
	maps.Copy(metadata, e.Metadata)
	wait := e.RetryAfter
	if wait == 0 {
		wait = rowOf(e.Reason).retry
	}
	if wait > 0 {
		metadata["retry_after_ms"] = strconv.FormatInt(wait.Milliseconds(), 10)
	}
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{
		Reason:   Name(e.Reason),
		Domain:   errorDomain,
		Metadata: metadata,
	}}
	if len(e.Violations) > 0 {
		details = append(details, &errdetails.BadRequest{FieldViolations: e.Violations})
	}
	if wait > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	}
	code := e.Code
	if code == codes.OK {
		code = Code(e.Reason)
	}
	s = status.New(code, short(strings.ToValidUTF8(e.Message, "\uFFFD"), messageBytesMax))
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s, internal
}

// In returns the reason in a status that a service of Tenure made; nil if gRPC or a gateway made it on the way.
func In(s *status.Status) *errdetails.ErrorInfo {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info
		}
	}
	return nil
}

// Of finds the error of the API that an error of any room means; nil if it means none.
func Of(err error) *Error {
	if err == nil { // Each call that is allowed asks.
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e := fromNode(err); e != nil {
		return e
	}
	switch {
	case errors.Is(err, ErrPanic):
		return nil
	case errors.Is(err, ErrConnectionEnds):
		return New(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "the certificate that this connection has shown is no longer valid; connect again")
	case errors.Is(err, ErrStopping), errors.Is(err, storage.ErrClosed), errors.Is(err, watch.ErrStopped):
		return New(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "this member is stopping; ask another")
	case errors.Is(err, watch.ErrTooMany):
		return New(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "this member has reached its limit of watches").
			With("limit", "watches_max")
	case errors.Is(err, storage.ErrSessionID):
		return New(tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID, "a session id must be a UUID")
	case errors.Is(err, storage.ErrCompacted):
		return New(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED, "the requested history was discarded")
	case errors.Is(err, storage.ErrFuture):
		return New(tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE, "the revision is ahead of the cluster")
	case errors.Is(err, context.DeadlineExceeded):
		return New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the deadline passed")
	case errors.Is(err, context.Canceled):
		return New(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the caller cancelled the call")
	default:
		return FromStatus(err)
	}
}

// fromNode returns what an error of raftnode means.
func fromNode(err error) *Error {
	var hint *raftnode.NotLeaderError
	switch {
	case errors.Is(err, raftnode.ErrOutcomeUnknown):
		return UnknownOutcome(err)
	case errors.As(err, &hint) && hint.Leader != 0:
		return New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader").
			With("leader_id", strconv.FormatUint(hint.Leader, 10))
	case errors.Is(err, raftnode.ErrNotLeader):
		return New(tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, "this member is not the leader")
	case errors.Is(err, raftnode.ErrNoLeader), errors.Is(err, raftnode.ErrTransferring):
		return New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "there is no leader; most members may be down")
	case errors.Is(err, raftnode.ErrDiskHangs):
		return New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "the disk of this member hangs; use another member")
	case errors.Is(err, raftnode.ErrMemberUnknown):
		return New(tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND, "the member does not exist; `tenure member list` shows all members")
	case errors.Is(err, raftnode.ErrTooBusy):
		return New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "too many changes are in progress")
	case errors.Is(err, raftnode.ErrDiskFull):
		return New(tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
			"the disk of a member has too little free space; deletes, releases, renewals and expiry continue")
	case errors.Is(err, raftnode.ErrNoAgreement):
		return New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
			"the states of the members differ and no quorum has the same; nothing is written until an operator steps in")
	case errors.Is(err, raftnode.ErrTooLarge):
		return New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the change is too large")
	case errors.Is(err, raftnode.ErrCommandUnknown):
		return New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
			"the leader does not support a part of this change; it may run an older version than this member")
	case errors.Is(err, raftnode.ErrRightsTaken), errors.Is(err, raftnode.ErrRightsUnsettled):
		return New(tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED, "rights changed during the call; retry it")
	case errors.Is(err, raftnode.ErrStopped):
		return New(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "this member is stopping; ask another")
	default:
		return refusedChange(err)
	}
}

// WithSize returns the error of a command with what there is to know of its size if it was too large, and otherwise the error as it is. A member adds
// the findings, so what a client sent may have been smaller.
func WithSize(err error, c *storev1.Command) error {
	e := Of(err)
	if e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE {
		return err
	}
	size, of := proto.Size(c), ""
	if size <= raftnode.CommandBytesMax {
		return err // Something else was.
	}
	if len(c.GetFindings()) > 0 {
		of = fmt.Sprintf(", %d of them to say what is under the ids that it names", proto.Size(&storev1.Command{Findings: c.GetFindings()}))
	}
	return New(e.Reason, "the change takes %d bytes%s; at most %d are allowed", size, of, raftnode.CommandBytesMax)
}

// refusedChange returns what a refused change of members means; nil for another error.
func refusedChange(err error) *Error {
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
			return New(tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED, "%s", err).With("cause", refusal.cause)
		}
	}
	return nil
}

// InDoubt returns what a caller is told whose last attempt failed, and of whose earlier ones one may have been applied, as doubt says; nil: none.
// That is the error of the last attempt, with doubt before it if that one did nothing.
func InDoubt(doubt, err error) error {
	if e := Of(err); doubt == nil || e == nil || e.Applied != "" && e.Applied != AppliedNo {
		return err
	}
	return errors.Join(doubt, err)
}

// UnknownOutcome tells why the answer to a proposed command was lost. Whatever the reason, it may be applied.
func UnknownOutcome(err error) *Error {
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
	e := New(reason, "%s", text)
	e.Applied = AppliedUnknown
	return e
}

// AfterChange returns the error of a call that has made its change already, and could not tell what came of it.
func AfterChange(err error) error {
	e := Of(err)
	if e == nil {
		return err
	}
	made := *e
	made.Applied = AppliedYes
	return &made
}

// FromStatus returns what a status that gRPC itself made means: of codes that clients cause.
func FromStatus(err error) *Error {
	s, ok := status.FromError(err)
	if !ok {
		return nil
	}
	switch s.Code() {
	case codes.Canceled:
		return New(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the caller cancelled the call")
	case codes.DeadlineExceeded:
		return New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, "the deadline passed")
	case codes.ResourceExhausted:
		return New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "%s", s.Message())
	case codes.Unimplemented:
		return New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "%s", s.Message())
	case codes.InvalidArgument:
		return New(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "%s", s.Message())
	case codes.Internal:
		// Ours are no statuses yet; gRPC's own mean that the client broke its framing, and were sent already.
		return New(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, "%s", s.Message())
	case codes.Unavailable:
		return New(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the connection broke")
	default:
		return nil
	}
}

// OfFailure returns the error for a rule that a command broke. Nothing was written by the command; an earlier
// attempt of a remembered request may have been applied, and then the failure says so.
func OfFailure(f *storev1.Failure, remembered bool) error {
	reason := ofFailure(f.GetReason())
	if reason == tenurev1.ErrorReason_ERROR_REASON_INTERNAL {
		return fmt.Errorf("command failed with %v: %s", f.GetReason(), storage.FailureText(f))
	}
	e := New(reason, "%s", storage.FailureText(f))
	addFacts(e, f)
	if remembered && (reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED ||
		reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND ||
		reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED) {
		e.Applied = appliedOf(f.GetApplied())
	}
	return e
}

// appliedOf returns what a failure knows about an earlier attempt.
func appliedOf(applied uint32) string {
	switch applied {
	case 1:
		return AppliedYes
	case 2:
		return AppliedNo
	default:
		return AppliedUnknown
	}
}

// addFacts copies a failure's facts to the error's metadata.
func addFacts(e *Error, f *storev1.Failure) {
	if e.key = f.GetKey(); e.key != "" {
		e.Add("key", e.key)
	}
	if id, err := storage.SessionIDFromBytes(f.GetSessionId()); err == nil {
		e.Add("session_id", id.String())
	}
	switch f.GetReason() {
	case storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED:
		e.Add("revision", strconv.FormatUint(f.GetActual(), 10))
		e.Add("position", strconv.FormatUint(uint64(f.GetPosition()), 10))
	case storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH,
		storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED:
		e.Add("epoch", strconv.FormatUint(f.GetActual(), 10))
	case storev1.FailureReason_FAILURE_REASON_OVER_BUDGET, storev1.FailureReason_FAILURE_REASON_LIMIT_IN_USE:
		e.Add("amount", strconv.FormatUint(f.GetActual(), 10))
	case storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND:
		if f.GetLimitName() != "" {
			e.Add("amount", strconv.FormatUint(f.GetActual(), 10))
			e.Violations = []*errdetails.BadRequest_FieldViolation{{
				Field: limitField(f.GetLimitName()), Description: e.Message, Reason: Name(e.Reason),
			}}
		}
	case storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS:
		e.Add("cause", "exists")
	case storev1.FailureReason_FAILURE_REASON_SYNC_OUTDATED:
		if a := f.GetArguments(); len(a) == 2 {
			e.Add("number", strconv.FormatUint(a[0].GetNumber(), 10))
			e.Add("boot", strconv.FormatUint(a[1].GetNumber(), 10))
		}
	case storev1.FailureReason_FAILURE_REASON_CHECK_NOT_FOUND:
		if f.GetDetail() == storev1.FailureDetail_FAILURE_DETAIL_LIVENESS_NOT_YET {
			e.RetryAfter = time.Second
		}
	case storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE:
		e.Add("position", strconv.FormatUint(uint64(f.GetPosition()), 10))
	default:
		// The others have no facts of their own.
	}
	if ops := f.GetOperations(); len(ops) > 0 {
		names := make([]string, 0, len(ops))
		for _, op := range ops {
			names = append(names, fmt.Sprintf("%d:%s", op.GetPosition(), Name(ofFailure(op.GetFailure().GetReason()))))
		}
		e.Add("operations", strings.Join(names, ","))
		if more := f.GetOperationsLeftOut(); more > 0 {
			e.Add("operations_left_out", strconv.FormatUint(uint64(more), 10))
		}
		list := "then"
		if f.GetElseOps() {
			list = "otherwise"
		}
		e.Add("list", list)
	}
	if f.GetLimitName() != "" {
		e.Add("limit", f.GetLimitName())
		e.Add("limit_value", strconv.FormatUint(f.GetLimit(), 10))
	}
	if holds := f.GetLock().GetHolds(); len(holds) > 0 {
		holder := ""
		if id, err := storage.SessionIDFromBytes(holds[0].GetSessionId()); err == nil {
			holder = id.String()
		}
		e.Add("holder_session_id", holder)
		e.Add("holder_name", holds[0].GetSessionName())
		e.Add("holder_since_ms", strconv.FormatInt(holds[0].GetGrantTimeMs(), 10))
	}
}

// limitField returns the field of SetLimits for a limit as the state machine names it.
func limitField(name string) string {
	if name == "history_ms" {
		name = "history_duration"
	}
	return "limits." + name
}
