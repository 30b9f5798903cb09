package service

import (
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/config"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// violationsMax is how many violations a response names.
const violationsMax = 100

// refusal returns what a condition of the registry or of files is to callers.
func refusal(err error) error {
	var wrong *registry.InvalidError
	var mistakes *config.MistakesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		e := invalid("", wrong.Violations)
		e.Message = wrong.Error()
		return e
	case errors.As(err, &mistakes):
		return ofFiles(mistakes)
	case errors.Is(err, registry.ErrServiceNotFound):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND, "%s", err)
	case errors.Is(err, registry.ErrCheckNotFound):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND, "%s", err)
	case errors.Is(err, registry.ErrFromFile), errors.Is(err, registry.ErrExecOff):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "%s", err)
	case errors.Is(err, registry.ErrTooMany):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "%s", err)
	case errors.Is(err, registry.ErrNotTTL):
		return reason.Invalid("check_id", "%s", err)
	case errors.Is(err, registry.ErrNoStatus):
		return reason.Invalid("status", "%s", err)
	default:
		return err
	}
}

// invalid returns the error for fields that are not allowed.
func invalid(prefix string, violations []check.Violation) *reason.Error {
	first := violations[0]
	e := reason.Invalid(prefix+first.Field, "%s", first.Problem)
	for _, v := range violations[1:min(len(violations), violationsMax)] {
		e.Violations = append(e.Violations, &errdetails.BadRequest_FieldViolation{
			Field: prefix + v.Field, Description: v.Problem, Reason: reason.Name(e.Reason),
		})
	}
	if n := len(violations) - 1; n > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", n)
	}
	return e
}

// ofFiles returns the error for mistakes in files, each with its file and line.
func ofFiles(err *config.MistakesError) error {
	e := reason.New(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "%s", err.Mistakes[0])
	if n := len(err.Mistakes) - 1; n > 0 {
		e.Message += fmt.Sprintf(" (and %d more)", n)
	}
	for _, m := range err.Mistakes[:min(len(err.Mistakes), violationsMax)] {
		e.Violations = append(e.Violations, &errdetails.BadRequest_FieldViolation{
			Field: fmt.Sprintf("%s:%d", m.File, m.Line), Description: m.Text, Reason: reason.Name(e.Reason),
		})
	}
	return e
}
