package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// hostile is the address of an attacker: another one of this machine than those of quiet callers.
const hostile = "127.0.0.2"

// dialHostile connects from the attacker's address.
func dialHostile(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostile)}}).DialContext(ctx, "tcp", address)
}

// attack connects from the attacker's address, and skips the test on systems that have no such address.
func attack(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := dialHostile(t.Context(), address)
	if err != nil {
		t.Skipf("this machine has one loopback address: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// sharedValue returns a metric of what callers share.
func sharedValue(t *testing.T, registry *prometheus.Registry, name, label, value string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && len(m.GetLabel()) == 1 && m.GetLabel()[0].GetName() == label && m.GetLabel()[0].GetValue() == value {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s{%s=%q}", name, label, value)
	return 0
}

// wireClient speaks HTTP/2 by itself.
type wireClient struct {
	*http2.Framer
	gone   chan struct{} // closed when the member hangs up
	window chan int      // what the member allows more for the whole connection
	room   int           // what may be sent before more is allowed
}

// spend waits until the member allows so many bytes. It reports false when the member hangs up.
func (c *wireClient) spend(n int) bool {
	for c.room < n {
		select {
		case more := <-c.window:
			c.room += more
		case <-c.gone:
			return false
		}
	}
	c.room -= n
	return true
}

// attackFrames connects as a client of HTTP/2.
func attackFrames(t *testing.T, address string, settings ...http2.Setting) *wireClient {
	t.Helper()
	conn := attack(t, address)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c := &wireClient{Framer: http2.NewFramer(conn, conn), gone: make(chan struct{}), window: make(chan int, 1<<16), room: 65_535}
	if err := c.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		for {
			f, err := c.ReadFrame()
			if err != nil {
				return
			}
			if more, ok := f.(*http2.WindowUpdateFrame); ok && more.StreamID == 0 {
				c.window <- int(more.Increment)
			}
		}
	}()
	return c
}

// call begins a call.
func (c *wireClient) call(stream uint32, method string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "tenure"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
}

// wantCut waits until the member hangs up.
func (c *wireClient) wantCut(t *testing.T) {
	t.Helper()
	select {
	case <-c.gone:
	case <-time.After(patience):
		t.Error("the connection stays")
	}
}

// wantServed demands that a quiet caller is served, over gRPC and over REST.
func (m *member) wantServed(t *testing.T, key string) {
	t.Helper()
	put := &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100_000)}}
	if _, err := m.Put(t.Context(), put); err != nil {
		t.Errorf("a quiet caller's put: %v", err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+m.at.HTTP+"/v1/kv/"+key, bytes.NewReader(make([]byte, 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Errorf("a quiet caller's put over REST: %v", err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("a quiet caller's put over REST: %s", answer.Status)
	}
}

// TestMessagesThatNeverEndPinLittle begins puts of 1 MB whose last bytes never come, on as many connections as it takes.
func TestMessagesThatNeverEndPinLittle(t *testing.T) {
	const bound = 4 << 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.IntakeBytesMax = registry, bound })
	part := append(binary.BigEndian.AppendUint32([]byte{0}, 1_000_000), make([]byte, 16_000)...) // As the windows allow at once.
	for cut := 1.0; cut <= 3; cut++ {
		c := attackFrames(t, m.at.GRPC)
		for stream := uint32(1); c.spend(len(part)); stream += 2 {
			if c.call(stream, tenurev1.KVService_Put_FullMethodName) != nil || c.WriteData(stream, false, part) != nil {
				break
			}
		}
		c.wantCut(t)
		if n := sharedValue(t, registry, "tenure_server_connections_cut_total", "cause", "budget"); n != cut {
			t.Errorf("%v connections were cut, want %v", n, cut)
		}
		if used := sharedValue(t, registry, "tenure_server_shared_used", "limit", "intake_bytes_max"); used > bound {
			t.Errorf("%v bytes are pinned, want at most %d", used, bound)
		}
		m.wantServed(t, "quiet")
	}
}

// TestUnfinishedMessagesEnd leaves messages incomplete until the member hangs up.
func TestUnfinishedMessagesEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.MessageTimeout = registry, 50*time.Millisecond })
	for _, method := range []string{tenurev1.KVService_Put_FullMethodName, tenurev1.SessionService_KeepAlive_FullMethodName} {
		c := attackFrames(t, m.at.GRPC)
		if err := errors.Join(c.call(1, method), c.WriteData(1, false, []byte{0, 0, 0, 1, 0, 7})); err != nil {
			t.Fatal(err)
		}
		c.wantCut(t)
	}
	if n := sharedValue(t, registry, "tenure_server_connections_cut_total", "cause", "late"); n != 2 {
		t.Errorf("%v connections were cut, want 2", n)
	}
}

// TestHalfBodiesPinLittle sends bodies whose last byte never comes.
func TestHalfBodiesPinLittle(t *testing.T) {
	const bound = 4 << 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.IntakeBytesMax = registry, bound })
	head := "PUT /v1/kv/hostile HTTP/1.1\r\nHost: " + m.at.HTTP + "\r\nContent-Length: 1000000\r\n\r\n"
	refused := func() bool {
		return sharedValue(t, registry, "tenure_server_shared_refused_total", "limit", "intake_bytes_max") > 0
	}
	for i := 0; i < 100 && !refused(); i++ {
		conn := attack(t, m.at.HTTP)
		_, _ = io.WriteString(conn, head+strings.Repeat("v", 999_999)) // The member may hang up in the middle.
	}
	for wait := time.Now(); !refused() && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if used := sharedValue(t, registry, "tenure_server_shared_used", "limit", "intake_bytes_max"); used > bound || !refused() {
		t.Errorf("%v bytes are pinned and refused is %v, want at most %d, and that some are", used, refused(), bound)
	}
	m.wantServed(t, "quiet")
}

// attackers are connections of gRPC from the attacker's address.
func attackers(t *testing.T, m *member, n int) []*grpc.ClientConn {
	t.Helper()
	_ = attack(t, m.at.GRPC).Close()
	conns := make([]*grpc.ClientConn, n)
	for i := range conns {
		conns[i] = dial(t, m.at.GRPC, grpc.WithContextDialer(dialHostile))
	}
	return conns
}

// TestOneCallersWaitsAndCallsLeaveRoomForOthers has one address wait for a lock far more often than calls are served at a
// time, and make calls that last as often as it may. Calls of all kinds of another address are served.
func TestOneCallersWaitsAndCallsLeaveRoomForOthers(t *testing.T) {
	const callsMax, waits, conns = 64, 640, 10
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.CallsMax = registry, callsMax })
	holder := m.openSession(t, "holder")
	held, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: holder})
	if err != nil || !held.GetAcquired() {
		t.Fatal(held, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*patience)
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	from := attackers(t, m, conns)
	sessions := tenurev1.NewSessionServiceClient(from[0])
	for i := range waits {
		s, err := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		under.Go(func() { // It ends with the test.
			_, _ = tenurev1.NewLockServiceClient(from[i%conns]).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
				Key: "k", SessionId: s.GetSessionId(), Wait: seconds(60),
			})
		})
	}
	m.awaitWaiters(t, "k", waits)
	for range 2 * callsMax {
		under.Go(func() {
			for ctx.Err() == nil {
				_, _ = tenurev1.NewKVServiceClient(from[0]).Put(ctx, &tenurev1.PutRequest{Key: "hostile"})
			}
		})
	}
	for wait := time.Now(); sharedValue(t, registry, "tenure_server_shared_refused_total", "limit", "calls_max") == 0; {
		if time.Since(wait) > patience {
			t.Fatal("the attacker is not refused")
		}
		<-time.After(time.Millisecond)
	}
	for name, call := range map[string]func() error{
		"get": func() error { _, err := m.List(t.Context(), &tenurev1.ListRequest{}); return err },
		"renew": func() error {
			_, err := m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: holder})
			return err
		},
		"status": func() error { _, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{}); return err },
		"try": func() error {
			_, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "other", SessionId: holder, Wait: seconds(1)})
			return err
		},
		"release": func() error {
			_, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{Key: "other", SessionId: holder})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s of a quiet caller: %v", name, err)
		}
	}
	m.wantServed(t, "quiet")
}

// TestExemptCallersGetWhatIsFree makes one address exempt: its calls fill all the room.
func TestExemptCallersGetWhatIsFree(t *testing.T) {
	const callsMax = 8
	for name, tc := range map[string]struct {
		exempt []string
		want   float64
	}{
		"a share": {nil, callsMax / 2}, "all": {[]string{"127.0.0.0/8"}, callsMax},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			disk := newHeldDisk()
			m := startMember(t, func(c *server.Config) {
				c.Registry, c.CallsMax, c.ExemptCallers, c.FS = registry, callsMax, tc.exempt, disk
			})
			disk.hold(t)
			ctx, stop := context.WithTimeout(t.Context(), 10*patience)
			refused := make(chan error, 2*callsMax)
			for range 2 * callsMax {
				go func() {
					_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k"})
					refused <- err
				}()
			}
			for range 2*callsMax - int(tc.want) {
				wantError(t, <-refused, codes.ResourceExhausted, "TOO_MANY_REQUESTS")
			}
			if used := sharedValue(t, registry, "tenure_server_shared_used", "limit", "calls_max"); used != tc.want {
				t.Errorf("%v calls are served, want %v", used, tc.want)
			}
			stop()
			for range int(tc.want) {
				if err := <-refused; status.Code(err) != codes.Canceled {
					t.Errorf("got %v, want CANCELLED", err)
				}
			}
		})
	}
}

// TestOneCallersSessionsLeaveRoomForOthers has one address open all the sessions that it may,
// over gRPC and over REST.
func TestOneCallersSessionsLeaveRoomForOthers(t *testing.T) {
	const sessionsMax = 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry = registry })
	limit := uint64(sessionsMax)
	if _, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{SessionsMax: &limit}}); err != nil {
		t.Fatal(err)
	}
	greedy := tenurev1.NewSessionServiceClient(attackers(t, m, 1)[0])
	var opened []string
	var refused error
	for refused == nil && len(opened) < sessionsMax {
		s, err := greedy.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
		if refused = err; err == nil {
			opened = append(opened, s.GetSessionId())
		}
	}
	if len(opened) != sessionsMax/2 {
		t.Errorf("one caller opened %d of %d sessions, want half", len(opened), sessionsMax)
	}
	wantError(t, refused, codes.ResourceExhausted, "LIMIT_EXCEEDED")
	if info := infoOf(refused); info.GetMetadata()["limit"] != "sessions_max" || info.GetMetadata()["applied"] != "no" {
		t.Errorf("got %v, want that it names the limit, and that nothing was applied", info)
	}
	if n := sharedValue(t, registry, "tenure_server_shared_refused_total", "limit", "sessions_max"); n != 1 {
		t.Errorf("%v are counted as refused, want 1", n)
	}
	// Over REST it is the same caller; others are served.
	if conn := attack(t, m.at.HTTP); true {
		_, _ = io.WriteString(conn, "POST /v1/sessions HTTP/1.1\r\nHost: "+m.at.HTTP+"\r\nContent-Length: 2\r\n\r\n{}")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
			t.Errorf("got %v, %v, want 429 and when to ask again", answer, err)
		} else {
			_ = answer.Body.Close()
		}
	}
	_, err := greedy.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{
		Options: &tenurev1.CallOptions{IdempotencyKey: []byte("0123456789abcdef")},
	})
	if info := infoOf(err); info.GetMetadata()["applied"] != "unknown" {
		t.Errorf("got %v, want that an earlier attempt may have been applied", info)
	}
	for range 3 {
		m.openSession(t, "quiet")
	}
	// What it gave up it may have again.
	for _, id := range opened[:6] {
		if _, err := greedy.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := greedy.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{}); err != nil {
		t.Errorf("after it ended some: %v", err)
	}
}

// TestIdleConnectionsLeaveRoomForOthers opens connections that say nothing, to every port, until the member closes them.
func TestIdleConnectionsLeaveRoomForOthers(t *testing.T) {
	const connectionsMax = 64
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.ConnectionsMax = registry, connectionsMax })
	for address, limit := range map[string]string{
		m.at.GRPC: "connections_max", m.at.HTTP: "connections_max", m.at.Peer: "peer_connections_max",
	} {
		for range 4 * connectionsMax {
			conn, err := dialHostile(t.Context(), address)
			if err != nil {
				t.Skipf("this machine has one loopback address: %v", err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
		for wait := time.Now(); sharedValue(t, registry, "tenure_server_shared_refused_total", "limit", limit) < connectionsMax; {
			if time.Since(wait) > patience {
				t.Fatalf("%s: no connection is refused", limit)
			}
			<-time.After(time.Millisecond)
		}
		if used := sharedValue(t, registry, "tenure_server_shared_used", "limit", limit); used > connectionsMax*3/4 {
			t.Errorf("%s: %v are taken, want that some are left", limit, used)
		}
		_ = dial(t, m.at.GRPC) // A new connection, and one of HTTP, are served.
		http.DefaultClient.CloseIdleConnections()
		m.wantServed(t, "quiet")
	}
}
