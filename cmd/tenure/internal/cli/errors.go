package cli

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
	// errEndedTLS says that who took a connection closed it after TLS was agreed on, and that no alert said why. Members send one; a server that does
	// not read what was sent meanwhile loses it.
	errEndedTLS = errors.New("it closed the connection; if it demands a client certificate, set cert_file and key_file")
	// errDemandsTLS says that who took a connection speaks TLS. The words are those of the client libraries.
	errDemandsTLS = errors.New("it demands TLS: use tenures://")
	// errHTTP says that who took a connection answered as HTTP/1 has it. The words are those of the client libraries.
	errHTTP = errors.New("it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default")
	// ErrFellSilent says that a member from which something long was read said nothing for a while. Nothing was changed.
	ErrFellSilent = fmt.Errorf("the member stopped responding: %w", context.DeadlineExceeded)
	// ErrNotRenewed says that a lease ran out.
	ErrNotRenewed = errors.New("it could not be renewed in time")
	// ErrOutcomeUnknown says that a change was sent and its answer was lost.
	ErrOutcomeUnknown = errors.New("the answer was lost; it is not known whether the change was made")
)

// UnreachableError says that no member could be connected to.
type UnreachableError struct {
	endpoints []string
	causes    []error
}

// Error names the endpoints.
func (e *UnreachableError) Error() string {
	return "no member answered at " + strings.Join(e.endpoints, ", ")
}

// Cause says why the first endpoint failed, with flags in place of the parameters that the client library names.
func (e *UnreachableError) Cause() string {
	return Printable(forFlags.Replace(plainCause(e.causes[0])))
}

// Unwrap returns why each endpoint failed.
func (e *UnreachableError) Unwrap() []error { return e.causes }

// StrangerError says that who answered at an endpoint is not a member, or not where clients are answered.
type StrangerError struct {
	Endpoint string
	Err      error
}

// Error names the endpoint.
func (e *StrangerError) Error() string {
	return "no Tenure member serves clients at " + e.Endpoint
}

// Unwrap returns what was answered.
func (e *StrangerError) Unwrap() error { return e.Err }

// lateError says that the time was over during another attempt.
type lateError struct {
	err    error
	before error // Why there was another attempt.
}

// Error tells how the last attempt ended.
func (e *lateError) Error() string { return e.err.Error() }

// Unwrap returns how the last attempt ended.
func (e *lateError) Unwrap() error { return e.err }

// SessionEndedError says that the cluster ended a session, or does not know it.
type SessionEndedError struct {
	ID    string
	Cause string
}

// Error tells which session, and why.
func (e *SessionEndedError) Error() string {
	return fmt.Sprintf("session %s has ended: %s", e.ID, e.Cause)
}

// HoldLostError says that a lock was taken away, or given back by somebody else.
type HoldLostError struct {
	Cause  tenurev1.HoldEndCause
	Reason string
}

// Error tells how.
func (e *HoldLostError) Error() string {
	if e.Cause == tenurev1.HoldEndCause_HOLD_END_CAUSE_UNSPECIFIED {
		return "it is no longer held; `tenure lock info KEY` shows why"
	}
	text := EndText(e.Cause)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return text
}
