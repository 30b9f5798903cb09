package certs_test

import (
	"io"
	"net"
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
