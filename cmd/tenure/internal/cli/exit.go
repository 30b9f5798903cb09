package cli

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Exit codes of every command.
const (
	ExitOK          = 0
	ExitRefused     = 1
	ExitUsage       = 2
	ExitUnavailable = 3
)

// ExitError ends the program with a code of its own. Without err nothing more is printed.
type ExitError struct {
	Code int
	Err  error
}

// Error returns the cause's text.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// UsageError returns an error that ends the program with ExitUsage.
func UsageError(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// RefusedError returns an error that ends the program with ExitRefused.
func RefusedError(format string, args ...any) error {
	return &ExitError{Code: ExitRefused, Err: fmt.Errorf(format, args...)}
}

// SilentExit ends the program with a code and prints nothing more.
func SilentExit(code int) error { return &ExitError{Code: code} }

// ExitCode returns the exit code for an error of a command.
func ExitCode(env *Environment, err error) int {
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	if !env.Started {
		return ExitUsage
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return ExitUnavailable
	default:
		return ExitRefused
	}
}

// ErrorText returns what people read: the message of a gRPC status without its technical prefix.
func ErrorText(err error) string {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return s.Message()
	}
	return err.Error()
}
