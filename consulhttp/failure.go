package consulhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// echoBytesMax is how much of what a client sent an error repeats.
const echoBytesMax = 256

// failure is an error as Consul's HTTP shows it.
type failure struct {
	status int
	text   string
	// known says that it is an answer like any other, although its status is 500.
	known bool
	// closes says that the connection is of no use any more.
	closes bool
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

// refusal returns the failure of a request that is refused here.
func refusal(status int, format string, args ...any) *failure {
	return &failure{status: status, text: fmt.Sprintf(format, args...)}
}

// known says of a failure that Consul answers with this 500, too, and clients look for its text.
func known(f *failure) *failure {
	f.known = true
	return f
}

// shown returns the beginning of a text that a client sent.
func shown(text string) string {
	if len(text) <= echoBytesMax {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.ToValidUTF8(text[:echoBytesMax], "") + "..."
}

// textLeader is the text that clients take for "try again".
const textLeader = "No cluster leader"

// failureOf returns what is shown of an error.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	s, _ := status.FromError(err)
	text := s.Message()
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:
		return known(refusal(http.StatusInternalServerError, textLeader))
	case tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_STOPPING, tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED,
		tenurev1.ErrorReason_ERROR_REASON_INTERNAL, tenurev1.ErrorReason_ERROR_REASON_CANCELLED:
		return known(refusal(http.StatusInternalServerError, "%s", text))
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:
		return refusal(http.StatusForbidden, "ACL not found")
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return refusal(http.StatusForbidden, "Permission denied: %s", text)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG:
		return refusal(http.StatusForbidden, "Permission denied")
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return refusal(http.StatusTooManyRequests, "%s", text)
	case tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:
		return refusal(http.StatusRequestEntityTooLarge, "%s", text)
	case tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND:
		return refusal(http.StatusNotImplemented, "%s", text)
	default:
		return failureOfCode(err, s)
	}
}

// failureOfCode returns what is shown of an error whose reason says no more than its code.
func failureOfCode(err error, s *status.Status) *failure {
	switch s.Code() {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.OutOfRange, codes.AlreadyExists:
		return refusal(http.StatusBadRequest, "%s", s.Message())
	case codes.ResourceExhausted:
		return refusal(http.StatusTooManyRequests, "%s", s.Message())
	case codes.Unavailable:
		return known(refusal(http.StatusInternalServerError, "%s", s.Message()))
	case codes.Canceled, codes.DeadlineExceeded:
		return known(refusal(http.StatusInternalServerError, "The request was not answered in time."))
	default:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return known(refusal(http.StatusInternalServerError, "The request was not answered in time."))
		}
		return refusal(http.StatusInternalServerError, "internal error")
	}
}

// checkKey refuses what cannot be a key; the empty key is checked elsewhere.
func checkKey(key string) error {
	if len(key) > keyBytesMax {
		return refusal(http.StatusBadRequest, "The key is %d bytes long; at most %d are allowed.", len(key), keyBytesMax)
	}
	if !utf8.ValidString(key) {
		return refusal(http.StatusBadRequest, "The key is not valid UTF-8.")
	}
	return nil
}

// revisionOf returns the revision at which a call failed; 0 where it is not known.
func revisionOf(err error) uint64 {
	n, _ := strconv.ParseUint(errorinfo.Fact(err, "revision"), 10, 64)
	return n
}

// messageOf returns the text of a failed call.
func messageOf(err error) string {
	s, _ := status.FromError(err)
	return s.Message()
}
