package conn

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/tenure-io/tenure/clients/go/internal/secure"
)

// CauseError says in a few words why a member could not be reached, and what to do where that is known.
type CauseError struct {
	text string
	err  error // What the network, TLS or gRPC said; nil if nobody said anything.
	tls  bool  // Whether a certificate or a file of TLS is to blame, so that only a change of these helps.
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
	textMayWantCert = "it closed the connection: if it demands a client certificate, set cert_file and key_file"
)

// The words where TLS fails for a certificate. Those of the other clients are the same.
const (
	textTLS        = "TLS failed: "
	textUnknownCA  = textTLS + "its certificate is not signed by a trusted authority: set ca_file to the certificate of the one that signed it"
	textOtherName  = textTLS + "its certificate is for another name: connect by a name that it has, or set server_name"
	textOutOfDate  = textTLS + "its certificate has expired or is not valid yet: renew it, and check the clocks"
	textWantsCert  = textTLS + "it demands a client certificate: set cert_file and key_file"
	textRefuses    = textTLS + "it refuses the client certificate: check who signed cert_file, and that it has not expired"
	textOldVersion = textTLS + "it does not offer TLS 1.3"
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
	}
	if _, ok := errors.AsType[*secure.FileError](err); ok {
		return &CauseError{text: textTLS + err.Error(), err: err, tls: true}
	}
	if lost(err) {
		return &CauseError{text: textTLS + err.Error(), err: err}
	}
	if _, remote := remoteAlert(err); remote {
		return alertCause(err)
	}
	return &CauseError{text: certificateText(err), err: err, tls: true}
}

// certificateText says what is wrong with a member's certificate, or with a file.
func certificateText(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return textUnknownCA
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return textOtherName
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return textOutOfDate
	}
	return textTLS + err.Error()
}

// lost reports whether the connection was lost, which says nothing about certificates.
func lost(err error) bool {
	_, system := errors.AsType[syscall.Errno](err)
	timed, ok := errors.AsType[net.Error](err)
	return system || ok && timed.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// remoteAlert returns what the other end said in an alert of TLS, if it said something.
func remoteAlert(err error) (string, bool) {
	said, ok := errors.AsType[*net.OpError](err)
	if !ok || said.Op != "remote error" {
		return "", false
	}
	return said.Err.Error(), true
}

// alertCause says why a member refuses the client, which it may say only after TLS was agreed on.
func alertCause(err error) error {
	alert, _ := remoteAlert(err)
	text := textTLS + alert
	switch strings.TrimPrefix(alert, "tls: ") {
	case "certificate required":
		text = textWantsCert
	case "bad certificate", "unknown certificate authority", "expired certificate", "unsupported certificate", "revoked certificate",
		"unknown certificate", "access denied":
		text = textRefuses
	case "protocol version not supported":
		text = textOldVersion
	case "internal error", "user canceled", "close notify":
		return &CauseError{text: text, err: err}
	}
	return &CauseError{text: text, err: err, tls: true}
}

// securedCause says why a member with which TLS was agreed on does not speak HTTP/2, by the first bytes of it and how reading ended.
func securedCause(first []byte, err error) error {
	if _, remote := remoteAlert(err); remote {
		return alertCause(err)
	}
	if len(first) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return &CauseError{text: textMayWantCert, err: err}
	}
	return answerCause(first, err)
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
