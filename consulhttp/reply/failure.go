package reply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// echoBytesMax is how much of what a client sent an error repeats.
const echoBytesMax = 256

// Error is an error as Consul's HTTP shows it.
type Error struct {
	Status int
	Text   string
	// Known says that it is an answer like any other, although its status is 500.
	Known bool
	// Closes says that the connection is of no use any more.
	Closes bool
}

// Error returns the text.
func (f *Error) Error() string { return f.Text }

// Refusal returns the failure of a request that is refused here.
func Refusal(status int, format string, args ...any) *Error {
	return &Error{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Known says of a failure that Consul answers with this 500, too, and clients look for its text.
func Known(f *Error) *Error {
	f.Known = true
	return f
}

// Shown returns the beginning of a text that a client sent.
func Shown(text string) string {
	if len(text) <= echoBytesMax {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:echoBytesMax], "") + "..."
}

const (
	// textLeader is the text that clients take for "try again".
	textLeader = "No cluster leader"
	// TextNotFound is the text for a token that there is not.
	TextNotFound = "ACL not found"
)

// Of returns what is shown of an error.
func Of(err error) *Error {
	if f, ok := errors.AsType[*Error](err); ok {
		return f
	}
	s, _ := status.FromError(err)
	text := s.Message()
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:
		return Known(Refusal(http.StatusInternalServerError, textLeader))
	case tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_STOPPING, tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_INTERNAL, tenurev1.ErrorReason_ERROR_REASON_CANCELLED:
		return Known(Refusal(http.StatusInternalServerError, "%s", text))
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:
		return Refusal(http.StatusForbidden, TextNotFound)
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return Refusal(http.StatusForbidden, "Permission denied: %s", text)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return Refusal(http.StatusForbidden, "Permission denied")
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW:
		return Refusal(http.StatusTooManyRequests, "%s", text)
	case tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:
		return Refusal(http.StatusRequestEntityTooLarge, "%s", text)
	case tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED:
		// Nothing was changed, and a later attempt may succeed. Clients that repeat all that is 500 or more do so; to the others it is final.
		return Refusal(http.StatusServiceUnavailable, "%s", text)
	case tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND:
		return Refusal(http.StatusNotImplemented, "%s", text)
	default:
		return ofCode(err, s)
	}
}

// ofCode returns what is shown of an error whose reason says no more than its code.
func ofCode(err error, s *status.Status) *Error {
	switch s.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.OutOfRange, codes.AlreadyExists:
		return Refusal(http.StatusBadRequest, "%s", s.Message())
	case codes.ResourceExhausted:
		return Refusal(http.StatusTooManyRequests, "%s", s.Message())
	case codes.Unavailable:
		return Known(Refusal(http.StatusInternalServerError, "%s", s.Message()))
	case codes.Canceled, codes.DeadlineExceeded:
		return Known(Refusal(http.StatusInternalServerError, "The request was not answered in time."))
	default:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return Known(Refusal(http.StatusInternalServerError, "The request was not answered in time."))
		}
		return Refusal(http.StatusInternalServerError, "internal error")
	}
}

// RevisionOf returns the revision at which a call failed; 0 where it is not known.
func RevisionOf(err error) uint64 {
	n, _ := strconv.ParseUint(errorinfo.Fact(err, "revision"), 10, 64)
	return n
}

// MessageOf returns the text of a failed call.
func MessageOf(err error) string {
	s, _ := status.FromError(err)
	return s.Message()
}
