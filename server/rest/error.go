package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// fieldBytesMax is how much of the name of a field an error repeats.
const fieldBytesMax = 128

// restError is an error as REST shows it. Its JSON is the value of "error" in an answer, and in the last line of a stream.
type restError struct {
	// Code is the ErrorReason without its prefix; clients branch on it.
	Code string `json:"code"`
	// Status is the name of the gRPC code.
	Status string `json:"status"`
	// Message is for people.
	Message string `json:"message"`
	// Metadata holds the facts of ErrorInfo, at least "applied".
	Metadata map[string]string `json:"metadata,omitempty"`
	// Violations names each wrong field.
	Violations []restViolation `json:"violations,omitempty"`

	httpStatus int
	allow      string // value of the header Allow; empty: none
}

// restViolation is one wrong field.
type restViolation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// Error returns the text for people.
func (e *restError) Error() string { return e.Message }

// refused returns the error for a request that REST itself refuses. Field is the name of what is wrong with it.
func refused(why tenurev1.ErrorReason, field, format string, args ...any) *restError {
	// Clients choose the names of fields that do not exist; an answer repeats only so much of them.
	if len(field) > fieldBytesMax {
		field = strings.ToValidUTF8(field[:fieldBytesMax], "") + "…"
	}
	// The field is named as the client sent it, even if that is no name in JSON.
	return shownError(reason.InvalidAs(why, field, format, args...).With("field", field), func(sent string) string { return sent })
}

// malformed is refused for what cannot be decoded.
func malformed(field, format string, args ...any) *restError {
	return refused(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, field, format, args...)
}

// unknownField is refused for parameters and fields that are unknown, repeated or in conflict.
func unknownField(field, format string, args ...any) *restError {
	return refused(tenurev1.ErrorReason_ERROR_REASON_UNKNOWN_FIELD, field, format, args...)
}

// as changes the HTTP status, where it says more than the reason's own.
func (e *restError) as(httpStatus int) *restError {
	e.httpStatus = httpStatus
	return e
}

// restErrorOf returns what REST shows of an error: of a call over gRPC, of the API, or of REST itself.
func restErrorOf(err error) *restError {
	if e, ok := errors.AsType[*restError](err); ok {
		return e
	}
	return shownError(err, camel)
}

// shownError returns what REST shows of an error, with the names of its fields as nameOf gives them.
func shownError(err error, nameOf func(field string) string) *restError {
	s, ok := status.FromError(err)
	if !ok {
		s, _ = reason.Status(err, "")
	}
	if reason.In(s) == nil {
		s = withReason(s)
	}
	e := &restError{Status: code.Code(s.Code()).String(), Message: s.Message(), httpStatus: runtime.HTTPStatusFromCode(s.Code())}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			e.Code, e.Metadata = d.GetReason(), d.GetMetadata()
			if why, known := reason.Named(d.GetReason()); known {
				e.httpStatus = reason.HTTPStatus(why)
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				field := nameOf(v.GetField())
				e.Violations = append(e.Violations, restViolation{Field: field, Description: v.GetDescription()})
				if rest, named := strings.CutPrefix(e.Message, v.GetField()+":"); named {
					e.Message = field + ":" + rest
				}
			}
		}
	}
	return e
}

// camel returns the name in JSON of a field that the services name as in the protos.
func camel(path string) string {
	var name strings.Builder
	upper := false
	for _, c := range path {
		switch {
		case c == '_':
			upper = true
			continue
		case upper && c >= 'a' && c <= 'z':
			c += 'A' - 'a'
		}
		upper = false
		name.WriteRune(c)
	}
	return name.String()
}

// withReason gives a reason to a status that gRPC or the gateway made on the way.
func withReason(s *status.Status) *status.Status {
	var e *reason.Error
	switch s.Code() {
	case codes.Unavailable:
		// Inside this process only a server that stops is not there. What it did with the request is not known.
		e = reason.New(tenurev1.ErrorReason_ERROR_REASON_STOPPING, "this member is stopping; ask another")
		e.Applied = reason.AppliedUnknown
	case codes.InvalidArgument:
		// The gateway could not decode what the checks let through.
		e = reason.New(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, "%s", s.Message())
	case codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unimplemented:
		e = reason.FromStatus(s.Err())
		if s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded {
			e.Applied = reason.AppliedUnknown
		}
	default:
		e = reason.New(tenurev1.ErrorReason_ERROR_REASON_INTERNAL, "internal error")
	}
	s, _ = reason.Status(e, "")
	return s
}

// write answers a request with the error.
func (e *restError) write(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", contentTypeJSON)
	header.Del("Content-Length")
	if ms, err := strconv.ParseInt(e.Metadata["retry_after_ms"], 10, 64); err == nil && ms > 0 {
		header.Set("Retry-After", strconv.FormatInt((ms+999)/1000, 10))
	} else if e.httpStatus == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	if e.allow != "" {
		header.Set("Allow", e.allow)
	}
	w.WriteHeader(e.httpStatus)
	// A client that has gone away is the only way to fail, and then nobody is left to tell.
	_, _ = w.Write(e.line())
}

// line returns the error as a line of JSON.
func (e *restError) line() []byte {
	text, err := json.Marshal(struct {
		Error *restError `json:"error"`
	}{e})
	if err != nil {
		return []byte(`{"error":{"code":"INTERNAL","status":"INTERNAL","message":"internal error"}}` + "\n")
	}
	return append(text, '\n')
}
