package conn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
)

// CauseError says in a few words why a member could not be reached, and what to do where that is known.
type CauseError struct {
	text string
	err  error // What the network, TLS or gRPC said; nil if nobody said anything.
}

// Error returns the words.
func (c *CauseError) Error() string { return c.text }

// Unwrap returns what the network, TLS or gRPC said.
func (c *CauseError) Unwrap() error { return c.err }

// Timeout reports whether time alone was missing, as a net.Error does: the next attempt may find the member less busy.
func (c *CauseError) Timeout() bool {
	timed, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](c.err)
	return ok && timed.Timeout()
}

// The words. Those of the other clients are the same.
const (
	textRefused     = "connection refused"
	textUnknownName = "its name is not known"
	textHTTP        = "it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default"
	textDemandsTLS  = "it demands TLS: use tenures://"
	textMayWantTLS  = "it closed the connection: if it demands TLS, use tenures://"
	textNoTLS       = "it has no TLS: use tenure://"
	textOther       = "it does not speak HTTP/2"
	textNoAPI       = "it does not serve Tenure's API: is this a peer port?"
	textLate        = "no answer in time"
	textNotYet      = "no answer yet"
)

// errLate says that a member did not answer in time.
var errLate = &CauseError{text: textLate, err: lateError{}}

// errNoAPI says that who answers is no member, or not where clients are answered.
var errNoAPI = &CauseError{text: textNoAPI}

// errNotYet stands for an attempt that has not ended, or not begun.
var errNotYet = &CauseError{text: textNotYet, err: lateError{}}

// lateError says that time was missing.
type lateError struct{}

// Error says the same as the CauseError that wraps it.
func (lateError) Error() string { return textLate }

// Timeout reports that time alone was missing.
func (lateError) Timeout() bool { return true }

// dialCause says why no connection was made.
func dialCause(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return &CauseError{text: textUnknownName, err: err}
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return &CauseError{text: textRefused, err: err}
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return &CauseError{text: number.Error(), err: err}
	}
	return err
}

// handshakeCause says why TLS was not agreed on.
func handshakeCause(err error) error {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case ok && bytes.Equal(record.RecordHeader[:4], firstOfHTTP):
		return &CauseError{text: textHTTP, err: err}
	case ok:
		return &CauseError{text: textNoTLS, err: err}
	default:
		return &CauseError{text: "TLS failed: " + err.Error(), err: err}
	}
}

var (
	// firstOfHTTP begins each answer of a server of HTTP/1.
	firstOfHTTP = []byte("HTTP")
	// firstOfAlert begins what a server says that wants TLS and gets something else.
	firstOfAlert = []byte{0x15, 0x03}
	// typeOfFrame is where a frame of HTTP/2 says of what type it is; the first is one of settings.
	typeOfFrame, typeOfSettings = 3, byte(4)
)

// answerCause says by the first bytes of a member, which are as many as came up to sizeOfFirst, why HTTP/2 was not agreed on. Err is how reading ended.
func answerCause(first []byte, err error) error {
	switch {
	case bytes.HasPrefix(first, firstOfHTTP):
		return &CauseError{text: textHTTP, err: err}
	case bytes.HasPrefix(first, firstOfAlert):
		return &CauseError{text: textDemandsTLS, err: err}
	case len(first) > typeOfFrame && first[typeOfFrame] != typeOfSettings:
		return &CauseError{text: textOther, err: err}
	case len(first) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return &CauseError{text: textMayWantTLS, err: err}
	case err != nil:
		return dialCause(err)
	default:
		return errLate
	}
}
