package certs_test

import (
	"crypto/tls"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/certs"
)

// refusal is a client without a certificate at a listener that requires one.
type refusal struct {
	*tls.Conn // The client has made its side of the handshake, and the listener has refused it.
	failed    func(cause string) float64
	again     func() (*tls.Conn, error)
}

func refused(t *testing.T, o certs.ListenOptions) refusal {
	t.Helper()
	ours := newCA(t)
	member := ours.member("a", 0)
	member.CA = ours.path
	o.Auth = certs.AuthRequire
	address, metrics := listen(t, open(t, member), o)
	config, err := certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	r := refusal{
		failed: func(cause string) float64 { return failures(t, metrics, cause) },
		again:  func() (*tls.Conn, error) { return tls.Dial("tcp", address, config) },
	}
	if r.Conn, err = r.again(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	await(t, "it is refused", func() bool { return r.failed("certificate") == 1 })
	return r
}

// roomForAnother reports whether another one comes as far as the first.
func (r refusal) roomForAnother() bool {
	other, err := r.again()
	if err == nil {
		_ = other.Close()
	}
	return err == nil
}

// TestWhoIsRefusedHearsWhy writes after it was refused, as clients of TLS 1.3 do, which know of it only when they read.
func TestWhoIsRefusedHearsWhy(t *testing.T) {
	r := refused(t, certs.ListenOptions{})
	for range 12 {
		if _, err := r.Write(make([]byte, 1<<10)); err != nil {
			t.Fatalf("the connection is gone before the client could hear why: %v", err)
		}
	}
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("the client heard %v, want that a certificate is required", err)
	}
}

// TestWhoIsRefusedAndStaysIsClosed does not go away, where there is room for one.
func TestWhoIsRefusedAndStaysIsClosed(t *testing.T) {
	t.Run("after it had time to hear why", func(t *testing.T) {
		r := refused(t, certs.ListenOptions{HandshakesMax: 1, Linger: time.Millisecond})
		await(t, "it is closed", r.roomForAnother)
	})
	t.Run("when its handshake must have ended", func(t *testing.T) {
		r := refused(t, certs.ListenOptions{HandshakesMax: 1, Timeout: 2 * time.Second})
		await(t, "it is closed", r.roomForAnother)
	})
	t.Run("after it has sent much", func(t *testing.T) {
		r := refused(t, certs.ListenOptions{HandshakesMax: 1})
		_, _ = r.Write(make([]byte, 20<<10)) // It may be closed before all is sent.
		await(t, "it is closed", r.roomForAnother)
	})
}

// TestWhoIsRefusedTakesRoomUntilItIsGone has room for one handshake, and one that was refused and does not go.
func TestWhoIsRefusedTakesRoomUntilItIsGone(t *testing.T) {
	r := refused(t, certs.ListenOptions{HandshakesMax: 1})
	if r.roomForAnother() || r.failed("room") != 1 {
		t.Error("there is room for another handshake")
	}
	_ = r.Close()
	await(t, "it is gone", r.roomForAnother)
}
