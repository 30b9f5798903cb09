package process_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// silentMiB is how much memory 10 000 silent connections may take.
const silentMiB = 64

// TestSilentConnectionsHoldUpNoHandshake opens many connections from many addresses to the ports of a member with TLS, on which nothing
// follows, or nothing after the first byte of a handshake. Clients that connect meanwhile are served, the member hangs up on all of the others,
// and its memory stays within a bound.
func TestSilentConnectionsHoldUpNoHandshake(t *testing.T) {
	ctx := t.Context()
	r := newRotation(t)
	r.issue("first")
	r.trust("first")
	r.c = rig.StartSecuredCluster(ctx, t, binary, 1, r.dir, func(int) []string {
		return []string{
			"--peer-cert-file", r.path("peer.crt"), "--peer-key-file", r.path("peer.key"), "--peer-ca-file", r.path("ca.crt"),
		}
	})
	m := r.c.Members[0]
	connections, slowest := scale(600, 10_000), time.Duration(0)
	put := func() {
		began := time.Now()
		conn := m.Dial()
		_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{Key: "a"})
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Fatalf("a client that connects is not served: %v", err)
		}
		slowest = max(slowest, time.Since(began))
	}
	for range connections / 50 { // What it takes for those who connect counts for them.
		put()
	}
	before, most := rig.ResidentKiB(m), 0

	var silent sync.WaitGroup
	var opened, ended atomic.Int64
	listeners := []string{m.Addresses.GRPC, m.Addresses.HTTP, m.Addresses.Peer}
	for i := range connections {
		silent.Go(func() {
			if beSilent(ctx, i, listeners[i%len(listeners)]) {
				opened.Add(1)
			}
			ended.Add(1)
		})
		if i%200 == 199 {
			put()
			most = max(most, rig.ResidentKiB(m))
		}
	}
	for ended.Load() < int64(connections) && ctx.Err() == nil {
		wait(ctx, 50*time.Millisecond)
		put()
		most = max(most, rig.ResidentKiB(m))
	}
	silent.Wait()
	inTime := r.metric(ctx, m, `tenure_certs_handshakes_failed_total{cause="time",listener="grpc"}`)
	t.Logf("%d of %d silent connections were opened; a put on a new connection took at most %v, the member %.1f MiB more; %.0f handshakes of gRPC did not end in time",
		opened.Load(), connections, slowest, float64(most-before)/1024, inTime)
	if opened.Load() == 0 || inTime == 0 {
		t.Error("no handshake was waited for, so that nothing was tried")
	}
	if most-before > silentMiB<<10 {
		t.Errorf("the member took %d MiB more, want at most %d", (most-before)>>10, silentMiB)
	}
}

// beSilent connects from an address of its own, sends at most one byte, and waits until the member hangs up. It reports whether there was a
// connection.
func beSilent(ctx context.Context, i int, address string) bool {
	from := &net.TCPAddr{IP: net.IPv4(127, 77, byte(i>>8), byte(i))}
	conn, err := (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false // The member, or this machine, has no more.
	}
	defer func() { _ = conn.Close() }()
	if i%2 == 0 {
		_, _ = conn.Write([]byte{22}) // The type of a record with a part of a handshake.
	}
	_, _ = io.Copy(io.Discard, conn)
	return true
}
