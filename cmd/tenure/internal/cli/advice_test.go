package cli

import (
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

// worded is an error with words of its own.
type worded struct{ error }

// Error returns the words.
func (worded) Error() string { return "it closed the connection: use something" }

// Unwrap returns what is beneath.
func (w worded) Unwrap() error { return w.error }
