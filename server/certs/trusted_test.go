package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/tenure-io/tenure/server/certs"
)

// accepted is a connection as its two sides see it.
type accepted struct {
	server certs.Info
	client *tls.Conn
}

// accept makes the handshakes of a connection of a client, as gRPC does.
func accept(t *testing.T, h *certs.Handshaker, client certs.Files, ca string) accepted {
	t.Helper()
	config, err := certs.Dialing{Files: certs.Files{Cert: client.Cert, Key: client.Key, CA: ca}, ServerName: "localhost"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	config.NextProtos = []string{"h2"}
	near, far := connected(t)
	conn := tls.Client(near, config)
	made := make(chan error, 1)
	go func() { made <- conn.Handshake() }()
	_, info, err := h.Credentials().ServerHandshake(far)
	if err != nil {
		t.Fatal(err)
	}
	if err = <-made; err != nil {
		t.Fatal(err)
	}
	return accepted{server: infoOf(t, info), client: conn}
}

// infoOf returns what a handshake left.
func infoOf(t *testing.T, left credentials.AuthInfo) certs.Info {
	t.Helper()
	info, ok := left.(certs.Info)
	if !ok {
		t.Fatalf("the handshake left %T", left)
	}
	return info
}

// connected returns both ends of a connection, which are closed with the test.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// ended reports whether the certificate of a connection is no longer valid.
func (a accepted) ended() bool { return a.server.Valid().Err() != nil }

// wantClosed waits until the client sees the end of its connection.
func (a accepted) wantClosed(t *testing.T) {
	t.Helper()
	if err := a.client.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := a.client.Read(make([]byte, 1))
	if late, ok := errors.AsType[net.Error](err); err == nil || ok && late.Timeout() {
		t.Errorf("the client reads %v, want that the connection is closed", err)
	}
}

// TestWhatEndsConnections has connections of clients with certificates of two CAs, and of one without, and changes files and time.
func TestWhatEndsConnections(t *testing.T) {
	old, other := newCA(t), newCA(t)
	files := other.member("a", 0)
	both := bytes.Join([][]byte{read(t, old.path), read(t, other.path)}, []byte("\n"))
	files.CA = files.Cert + ".ca"
	now := &atomic.Int64{}
	now.Store(time.Now().UnixNano())
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	tests := map[string]struct {
		change        func()
		first, second bool // which connections end
	}{
		"nothing":                   {change: func() {}},
		"another certificate of it": {change: func() { other.member("a", 0) }},
		"a CA is removed":           {change: func() { writeFile(t, files.CA, read(t, other.path)) }, first: true},
		"another CA is removed":     {change: func() { writeFile(t, files.CA, read(t, old.path)) }, second: true},
		"files that are not taken":  {change: func() { writeFile(t, files.CA, []byte("x")) }},
		"a day passes":              {change: func() { now.Add(int64(24 * time.Hour)) }},
		"their certificates end":    {change: func() { now.Add(int64(91 * 24 * time.Hour)) }, first: true, second: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now.Store(time.Now().UnixNano())
			writeFile(t, files.CA, both)
			s, err := certs.Open(certs.Options{Files: files, Purpose: "test", Uses: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			h := s.Handshaker(certs.ListenOptions{Auth: certs.AuthVerify, Timeout: time.Hour})
			first, second := accept(t, h, old.client("c"), other.path), accept(t, h, other.client("c"), other.path)
			without := accept(t, h, certs.Files{}, other.path)
			tc.change()
			s.Reload()
			if first.ended() != tc.first || second.ended() != tc.second || without.ended() {
				t.Errorf("ended: %v, %v, without a certificate %v; want %v, %v, false", first.ended(), second.ended(), without.ended(), tc.first, tc.second)
			}
			if tc.first && tc.second {
				first.wantClosed(t)
			}
		})
	}
}

// TestMembersAreVerifiedAgain has a member dial another one, and then forget that one's CA.
func TestMembersAreVerifiedAgain(t *testing.T) {
	old, other := newCA(t), newCA(t)
	both := bytes.Join([][]byte{read(t, old.path), read(t, other.path)}, []byte("\n"))
	source := func(of *ca, name string) (*certs.Source, certs.Files) {
		files := of.member(name, 0)
		files.CA = files.Cert + ".ca"
		writeFile(t, files.CA, both)
		return open(t, files), files
	}
	dialer, files := source(other, "a")
	listener, _ := source(old, "b")
	near, far := connected(t)
	h := certs.NewPeers(listener, domain).Handshaker(certs.ListenOptions{Timeout: time.Hour})
	made := make(chan error, 1)
	go func() {
		_, _, err := h.Credentials().ServerHandshake(far)
		made <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	peers := certs.NewPeers(dialer, domain)
	_, info, err := peers.Credentials("b", true).ClientHandshake(ctx, "", near)
	if err != nil {
		t.Fatal(err)
	}
	if err = <-made; err != nil {
		t.Fatal(err)
	}
	if err = peers.Proves(info, "b"); err != nil {
		t.Error(err)
	}
	valid := infoOf(t, info).Valid()
	dialer.Reload()
	if valid.Err() != nil {
		t.Error("the connection ends before its CA is forgotten")
	}
	writeFile(t, files.CA, read(t, other.path))
	dialer.Reload()
	if valid.Err() == nil {
		t.Error("the connection stays after its CA was forgotten")
	}
}

// TestManyShowCertificatesAtOnce has many clients show certificates, and then forgets their CA. It is for the race detector, too.
func TestManyShowCertificatesAtOnce(t *testing.T) {
	const clients = 16
	old, other := newCA(t), newCA(t)
	files := other.member("a", 0)
	files.CA = files.Cert + ".ca"
	writeFile(t, files.CA, bytes.Join([][]byte{read(t, old.path), read(t, other.path)}, []byte("\n")))
	s, err := certs.Open(certs.Options{Files: files, Purpose: "test", Uses: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handshaker(certs.ListenOptions{Auth: certs.AuthVerify, Timeout: time.Hour})
	client := old.client("c")
	opened := make([]accepted, clients)
	t.Run("at once", func(t *testing.T) {
		for n := range clients {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				opened[n] = accept(t, h, client, other.path)
			})
		}
	})
	writeFile(t, files.CA, read(t, other.path))
	s.Reload()
	for n, one := range opened {
		if !one.ended() {
			t.Errorf("connection %d stays after its CA was forgotten", n)
		}
	}
}
