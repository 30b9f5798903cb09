package certs_test

import (
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/credentials"

	"github.com/tenure-io/tenure/server/certs"
)

// TestAListenerTakesBothWhileItMay lets one connection in without TLS beside one with it, and none once it may not any more.
func TestAListenerTakesBothWhileItMay(t *testing.T) {
	ours := newCA(t)
	var closed atomic.Bool
	address, metrics := listen(t, open(t, ours.member("a", 0)), certs.ListenOptions{Cleartext: func() bool { return !closed.Load() }})
	if _, err := connect(address, certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}); err != nil {
		t.Errorf("with TLS: %v", err)
	}
	say := func() string {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err = io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // A reset is an end, too.
		return string(answer)
	}
	if got := say(); got != "\x01" {
		t.Errorf("without TLS: got %q", got)
	}
	await(t, "it is counted", func() bool { return metric(t, metrics, "tenure_certs_cleartext_connections_total") == 1 })
	await(t, "it is closed", func() bool { return metric(t, metrics, "tenure_certs_cleartext_connections") == 0 })
	closed.Store(true)
	if got := say(); got == "\x01" {
		t.Error("without TLS: let in although it may not be")
	}
	await(t, "it is refused", func() bool { return failures(t, metrics, "not_tls") == 1 })
}

// metric returns a metric that has one value.
func metric(t *testing.T, metrics *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestAHostWithoutTLSIsNamed lets a connection of gRPC in, and names whose it was.
func TestAHostWithoutTLSIsNamed(t *testing.T) {
	ours := newCA(t)
	h := open(t, ours.member("a", 0)).Handshaker(certs.ListenOptions{Timeout: time.Hour, Cleartext: func() bool { return true }})
	near, far := connected(t)
	if _, err := io.WriteString(near, "PRI * HTTP/2.0\r\n"); err != nil {
		t.Fatal(err)
	}
	conn, info, err := h.Credentials().ServerHandshake(far)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := info.(certs.Cleartext); !ok {
		t.Errorf("got %T", info)
	}
	first := make([]byte, 3)
	if _, err = io.ReadFull(conn, first); err != nil || string(first) != "PRI" {
		t.Errorf("read %q, %v", first, err)
	}
	_ = conn.Close()
	if got := h.Strangers(); !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("got %q", got)
	}
}

// TestAMemberThatSpokeTLSIsNeverMetWithout has a member meet another one that has no TLS yet, that has it, and that has it no more.
func TestAMemberThatSpokeTLSIsNeverMetWithout(t *testing.T) {
	ours := newCA(t)
	files := func(name string) certs.Files {
		f := ours.member(name, 0)
		f.CA = ours.path
		return f
	}
	peers := certs.NewPeers(open(t, files("a")), domain)
	peers.Accept(func() bool { return true })
	with := certs.NewPeers(open(t, files("b")), domain).Handshaker(certs.ListenOptions{Timeout: time.Hour})
	meet := func(known bool, accept func(net.Conn)) credentials.AuthInfo {
		near, far := connected(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			accept(far)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, info, err := peers.Credentials("b", known).ClientHandshake(ctx, "", near)
		if err != nil {
			info = nil
			_ = near.Close()
		}
		<-done
		return info
	}
	speakClear := func(far net.Conn) { // as a server of gRPC without TLS
		_, _ = far.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0})
		_, _ = io.ReadFull(far, make([]byte, 1))
		_ = far.Close()
	}
	spoken := func(far net.Conn) { _, _, _ = with.Credentials().ServerHandshake(far) }
	nothing := func(net.Conn) {}
	if info := meet(true, speakClear); info != nil {
		t.Errorf("one that is known to speak TLS: got %T", info)
	}
	if info := meet(false, speakClear); info != nil {
		t.Errorf("the first attempt: got %T", info)
	}
	if _, ok := meet(false, nothing).(certs.Cleartext); !ok {
		t.Error("one without TLS is not met without")
	}
	if err := peers.Proves(meet(false, nothing), "b"); err != nil {
		t.Errorf("one without TLS is not believed: %v", err)
	}
	var info credentials.AuthInfo
	await(t, "TLS is tried again", func() bool {
		info = meet(true, spoken)
		return info != nil
	})
	if got := infoOf(t, info).Certificate(); got == nil || got.VerifyHostname("b.member."+domain) != nil {
		t.Errorf("got %v", got)
	}
	for range 3 {
		if info = meet(false, speakClear); info != nil {
			t.Fatalf("one that spoke TLS before: got %T", info)
		}
	}
	strict := certs.NewPeers(open(t, files("c")), domain)
	if err := strict.Proves(certs.Cleartext{}, "b"); err == nil {
		t.Error("a member that takes only TLS believes one without")
	}
}
