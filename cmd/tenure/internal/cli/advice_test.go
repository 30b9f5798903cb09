package cli

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// Who is told why a member could not be reached reads the words of whoever found out, not those of the system beneath them.
func TestCausesAreToldInTheirOwnWords(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, err := range map[string]error{
		"connection reset by peer":                reset,
		"TLS failed: " + reset.Error():            &handshakeError{err: reset},
		"lookup h: no such host":                  &net.OpError{Op: "dial", Err: &net.DNSError{Name: "h", Err: "no such host"}},
		"it closed the connection: use something": worded{reset},
	} {
		if got := plainCause(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Where somebody answered, nobody is asked whether a member runs; and flags are named, not parameters of a connection string.
func TestACauseSaysWhatToDoWithTheFlags(t *testing.T) {
	const runs = ": is `tenure serve` running? --endpoints takes gRPC addresses (default port 7400)"
	for cause, want := range map[string]string{
		"connection refused":                "(connection refused)" + runs,
		"its name is not known":             "(its name is not known)" + runs,
		"it demands TLS: use tenures://":    "(it demands TLS: give --ca-file, or tenures:// in --endpoints)",
		"it has no TLS: use tenure://":      "(it has no TLS: use tenure://)",
		errHTTP.Error():                     "(it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default)",
		"TLS failed: x, or set server_name": "(TLS failed: x, or set --server-name)",
		"TLS failed: x: set ca_file to y":   "(TLS failed: x: set --ca-file to y)",
		"TLS failed: it demands a client certificate: set cert_file and key_file": "(TLS failed: it demands a client certificate: " +
			"set --cert-file and --key-file, unless this is the port for members)",
		"TLS failed: it refuses the client certificate: check who signed cert_file, and that it has not expired": "(TLS failed: it refuses the client " +
			"certificate: check who signed --cert-file, and that it has not expired, unless this is the port for members)",
		"it closed the connection: if it demands TLS, use tenures://": "(it closed the connection: if it demands TLS, give --ca-file, or tenures:// in " +
			"--endpoints): --endpoints takes gRPC addresses (default port 7400)",
	} {
		unreachable := &UnreachableError{endpoints: []string{"h:1"}, causes: []error{errors.New(cause)}}
		if got := Explain(0, unreachable).Error(); got != "no member answered at h:1 "+want {
			t.Errorf("%s: got %s, want %s", cause, got, want)
		}
	}
}

// worded is an error with words of its own.
type worded struct{ error }

// Error returns the words.
func (worded) Error() string { return "it closed the connection: use something" }

// Unwrap returns what is beneath.
func (w worded) Unwrap() error { return w.error }
