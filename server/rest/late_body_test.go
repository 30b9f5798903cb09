package rest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/server/rest"
)

// pipes is a listener of connections within the process.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

// Accept returns the next connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (p *pipes) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

// Addr returns no address that means anything.
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestABodyThatNobodyReadsMustArriveInTime sends requests with bodies that do not come, to handlers that do not read them. Each is answered all the
// same after 30 s, and its connection ends: it would stay for as long as the client likes.
func TestABodyThatNobodyReadsMustArriveInTime(t *testing.T) {
	for name, c := range map[string]struct {
		head   string
		before time.Duration // that the handler takes
		want   time.Duration // until the answer
		stays  bool
	}{
		"with a length":            {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", 0, 30 * time.Second, false},
		"in parts":                 {"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 30 * time.Second, false},
		"with its beginning":       {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcd", 0, 30 * time.Second, false},
		"of a request that waits":  {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", time.Minute, time.Minute, false},
		"there is one, and whole":  {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde", 0, 0, true},
		"there is none":            {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0, true},
		"there is none, and waits": {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", time.Minute, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, end := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(c.before):
					case <-r.Context().Done():
					}
					_, _ = io.WriteString(w, "done")
				}))
				defer end()
				began := time.Now()
				go func() { _, _ = io.WriteString(client, c.head) }() // The server reads it as far as it likes.
				in := bufio.NewReader(client)
				_ = client.SetReadDeadline(time.Now().Add(time.Hour))
				answer, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatalf("no answer after %v: %v", time.Since(began), err)
				}
				text, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if took := time.Since(began); err != nil || string(text) != "done" || took != c.want {
					t.Errorf("got %q after %v, %v, want done after %v", text, took, err, c.want)
				}
				_ = client.SetReadDeadline(time.Now().Add(time.Minute))
				_, err = in.ReadByte()
				if stays := err != nil && !strings.Contains(err.Error(), "EOF"); stays != c.stays {
					t.Errorf("after the answer: %v, want that the connection stays: %v", err, c.stays)
				}
			})
		})
	}
}

// serving serves a handler, and returns a connection to it, and what ends both.
func serving(t *testing.T, handler http.Handler) (client net.Conn, end func()) {
	t.Helper()
	listener := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- rest.Serve(ctx, listener, handler, time.Second, zap.NewNop()) }()
	client, server := net.Pipe()
	listener.conns <- server
	return client, func() {
		_ = client.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestABodyThatStopsEndsItsConnection sends bodies to REST that stop: after 30 s the answer is 408, and the connection ends, with what is left of the body.
func TestABodyThatStopsEndsItsConnection(t *testing.T) {
	for name, request := range map[string]string{
		"with a length":   "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nab",
		"in parts":        "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		"of JSON":         "POST /v1/txn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n{}",
		"of none at all":  "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n",
		"where none goes": "GET /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler, err := rest.New(rest.Options{RequestBytesMax: 1 << 20, Gatherer: prometheus.NewRegistry(), Log: zap.NewNop()})
				if err != nil {
					t.Fatal(err)
				}
				client, end := serving(t, handler)
				defer end()
				began := time.Now()
				_ = client.SetDeadline(began.Add(time.Hour)) // A pipe always has deadlines.
				if _, err = io.WriteString(client, request); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(client)
				answer, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusRequestTimeout || !answer.Close || !strings.Contains(string(text), "it did not arrive within 30s") {
					t.Errorf("got %d %s, %v, want 408", answer.StatusCode, text, err)
				}
				if _, err = in.ReadByte(); !errors.Is(err, io.EOF) || time.Since(began) != 30*time.Second {
					t.Errorf("the connection ended after %v: %v, want that it ends after 30 s", time.Since(began), err)
				}
			})
		})
	}
}
