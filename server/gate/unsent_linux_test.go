package gate_test

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
)

// TestTheSystemKeepsLittleOfAnAnswerThatIsNotRead writes to a client that does not read until the system takes no more.
func TestTheSystemKeepsLittleOfAnAnswerThatIsNotRead(t *testing.T) {
	under, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := &lastAccepted{Listener: under}
	listener := gate.Listener{Listener: accepted, Pool: share.NewPool(10)}
	defer func() { _ = listener.Close() }()
	const readBuffer = 64 << 10
	dialer := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, readBuffer) }), err)
	}}
	client, err := dialer.DialContext(t.Context(), "tcp", under.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if !boundsUnsent(t, accepted.conn) {
		t.Skip("this system cannot bound what it keeps")
	}
	taken := 0
	for part := make([]byte, 16<<10); err == nil; {
		var n int
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		n, err = conn.Write(part)
		taken += n
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("writing ends with %v, want that it blocks", err)
	}
	if allowed := 1 << 20; taken > allowed {
		t.Errorf("the system took %d bytes that nobody reads, at most %d are allowed", taken, allowed)
	}
}

// lastAccepted keeps the connection that it accepted.
type lastAccepted struct {
	net.Listener
	conn net.Conn
}

func (l *lastAccepted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	l.conn = conn
	return conn, err
}

// boundsUnsent reports whether the system knows the bound.
func boundsUnsent(t *testing.T, conn net.Conn) bool {
	t.Helper()
	of, ok := conn.(syscall.Conn)
	if !ok {
		t.Fatalf("a %T has no descriptor", conn)
	}
	raw, err := of.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	known := false
	if err := raw.Control(func(fd uintptr) {
		_, getErr := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
		known = getErr == nil
	}); err != nil {
		t.Fatal(err)
	}
	return known
}
