package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

var (
	// errClosed says that the program is about to end.
	errClosed = errors.New("the connection is closed")
	// errNoAnswer says that a member took a connection, or a request, and said nothing.
	errNoAnswer = errors.New("no answer")
	// errNotGRPC says that who took a connection closed it, or answered in another protocol.
	errNotGRPC = errors.New("it closed the connection, or does not speak gRPC; if it demands TLS, use tenures://")
	// errFellSilent says that a member from which something long was read said nothing for a while. Nothing was changed.
	errFellSilent = fmt.Errorf("the member stopped responding: %w", context.DeadlineExceeded)
	// errNotRenewed says that a lease ran out.
	errNotRenewed = errors.New("it could not be renewed in time")
	// errOutcomeUnknown says that a change was sent and its answer was lost.
	errOutcomeUnknown = errors.New("the answer was lost; it is not known whether the change was made")
)

// unreachableError says that no member could be connected to.
type unreachableError struct {
	endpoints []string
	causes    []error
}

// Error names the endpoints.
func (e *unreachableError) Error() string {
	return "no member answered at " + strings.Join(e.endpoints, ", ")
}

// Unwrap returns why each endpoint failed.
func (e *unreachableError) Unwrap() []error { return e.causes }

// strangerError says that who answered at an endpoint is not a member, or not where clients are answered.
type strangerError struct {
	endpoint string
	err      error
}

// Error names the endpoint.
func (e *strangerError) Error() string {
	return "no Tenure member serves clients at " + e.endpoint
}

// Unwrap returns what was answered.
func (e *strangerError) Unwrap() error { return e.err }

// lateError says that the time was over during another attempt.
type lateError struct {
	err    error
	before error // Why there was another attempt.
}

// Error tells how the last attempt ended.
func (e *lateError) Error() string { return e.err.Error() }

// Unwrap returns how the last attempt ended.
func (e *lateError) Unwrap() error { return e.err }

// sessionEndedError says that the cluster ended a session, or does not know it.
type sessionEndedError struct {
	id    string
	cause string
}

// Error tells which session, and why.
func (e *sessionEndedError) Error() string {
	return fmt.Sprintf("session %s has ended: %s", e.id, e.cause)
}

// holdLostError says that a lock was taken away, or given back by somebody else.
type holdLostError struct {
	cause  tenurev1.HoldEndCause
	reason string
}

// Error tells how.
func (e *holdLostError) Error() string {
	if e.cause == tenurev1.HoldEndCause_HOLD_END_CAUSE_UNSPECIFIED {
		return "it is no longer held; `tenure lock info KEY` shows why"
	}
	text := endText(e.cause)
	if e.reason != "" {
		text += " (" + e.reason + ")"
	}
	return text
}
