package certs_test

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/server/certs"
)

// TestWhoOnlyLooksWhetherAPortIsOpenIsNotRefused connects and closes without a word, as probes and members do that try an address.
func TestWhoOnlyLooksWhetherAPortIsOpenIsNotRefused(t *testing.T) {
	ours := newCA(t)
	told := make(chan string, 2)
	address, metrics := listen(t, open(t, ours.member("a", 0)), certs.ListenOptions{Failed: func(_ net.Addr, cause string) { told <- cause }})
	for said, want := range map[string]string{"": "closed", "\x16\x03\x01": "cut"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		await(t, "it is counted as "+want, func() bool { return failures(t, metrics, want) == 1 })
	}
	if len(told) != 1 {
		t.Errorf("told of %d, want only of the one that had begun a handshake", len(told))
	}
}

func TestAClientOnThePortForMembersHasNoValidCertificate(t *testing.T) {
	ours := newCA(t)
	member, client := ours.member("a", 0), ours.client("c")
	member.CA, client.CA = ours.path, ours.path
	s := open(t, member)
	h := certs.NewPeers(s, domain).Handshaker(certs.ListenOptions{Name: "peer", Timeout: time.Hour})
	metrics := prometheus.NewRegistry()
	if err := certs.Register(metrics, nil, map[string]*certs.Handshaker{"peer": h}); err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := h.Listener(inner)
	defer func() { _ = listener.Close() }()
	_, err = connect(inner.Addr().String(), certs.Dialing{Files: client, ServerName: "localhost"})
	if err == nil {
		t.Error("a client is taken for a member")
	}
	await(t, "it is counted", func() bool { return failures(t, metrics, "certificate") == 1 })
}

// TestAHandshakeMayComeInPieces sends the first record of a handshake in pieces of one byte, to a listener that waits for it, and to one
// that waits for it twice.
func TestAHandshakeMayComeInPieces(t *testing.T) {
	ours := newCA(t)
	member := ours.member("a", 0)
	config, err := certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	address, _ := listen(t, open(t, member), certs.ListenOptions{})
	patient := patiently(t, open(t, member), certs.ListenOptions{Timeout: time.Hour})
	for _, at := range []string{address, patient} {
		raw, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(&pieces{Conn: raw}, config)
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Errorf("%v", err)
		}
		_ = conn.Close()
	}
}

// TestWhatIsNoRecordIsNotWaitedFor begins like a record, and promises more than one can have.
func TestWhatIsNoRecordIsNotWaitedFor(t *testing.T) {
	ours := newCA(t)
	for _, said := range []string{"\x16\x03\x01\xff\xff", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n"} {
		address := patiently(t, open(t, ours.member("a", 0)), certs.ListenOptions{Timeout: time.Hour})
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); len(answer) == 0 {
			t.Errorf("%q: %q, %v; want an answer", said, answer, err)
		}
		_ = conn.Close()
	}
}

// TestWhoSaysNothingIsNotGivenToTheServer leaves connections silent until their time is over, or the listener is closed.
func TestWhoSaysNothingIsNotGivenToTheServer(t *testing.T) {
	ours := newCA(t)
	address := patiently(t, open(t, ours.member("a", 0)), certs.ListenOptions{Timeout: time.Millisecond})
	for _, said := range []string{"", "\x16", "\x16\x03\x01\x10\x00\x01"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // It ends, however.
		_ = conn.Close()
	}
}

// pieces writes one byte at a time.
type pieces struct{ net.Conn }

func (p *pieces) Write(all []byte) (int, error) {
	for i := range all {
		if _, err := p.Conn.Write(all[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(all), nil
}

// patiently listens as a gRPC server does: each connection that a patient listener gives has its handshake made on a goroutine of its
// own, and then has one byte.
func patiently(t *testing.T, s *certs.Source, o certs.ListenOptions) (address string) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handshaker(o)
	listener, credentials := h.Patient(inner), h.Credentials()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = raw.Close() }()
				if conn, _, err := credentials.ServerHandshake(raw); err == nil {
					_, _ = conn.Write([]byte{1})
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return inner.Addr().String()
}
