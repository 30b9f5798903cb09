package main

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Exit codes of every command.
const (
	exitOK          = 0
	exitRefused     = 1
	exitUsage       = 2
	exitUnavailable = 3
)

// exitError ends the program with a code of its own. Without err nothing more is printed.
type exitError struct {
	code int
	err  error
}

// Error returns the cause's text.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// usageError returns an error that ends the program with exitUsage.
func usageError(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// refusedError returns an error that ends the program with exitRefused.
func refusedError(format string, args ...any) error {
	return &exitError{code: exitRefused, err: fmt.Errorf(format, args...)}
}

// silentExit ends the program with a code and prints nothing more.
func silentExit(code int) error { return &exitError{code: code} }

// exitCode returns the exit code for an error of a command.
func exitCode(env *environment, err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if !env.started {
		return exitUsage
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return exitUnavailable
	default:
		return exitRefused
	}
}

// errorText returns what people read: the message of a gRPC status without its technical prefix.
func errorText(err error) string {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return s.Message()
	}
	return err.Error()
}
