package consulhttp_test

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

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/consulhttp"
	"github.com/tenure-io/tenure/server/rest"
)

// TestBodiesThatEndTooEarlyAreRefused closes the sending half of connections within bodies, with a length and in parts. Nothing is written, and the
// connection ends.
func TestBodiesThatEndTooEarlyAreRefused(t *testing.T) {
	r := newRig(t)
	for name, rest := range map[string]string{
		"with a length":                "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
		"in parts":                     "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
		"in parts, without the end":    "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"in parts, of a damaged size":  "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n",
		"of a session":                 "PUT /v1/session/create HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
		"of a transaction":             "PUT /v1/txn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n[",
		"of a registration":            "PUT /v1/catalog/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
		"of a prepared query":          "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
		"of nothing but the last byte": "PUT /v1/kv/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err = io.WriteString(conn, rest); err != nil {
				t.Fatal(err)
			}
			if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
				t.Fatal("the half cannot be closed")
			}
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(got.Body)
			_ = got.Body.Close()
			if err != nil || got.StatusCode != http.StatusBadRequest || string(text) != "The body ended too early." || !got.Close {
				t.Errorf("got %d %s, closes %v, %v", got.StatusCode, text, got.Close, err)
			}
		})
	}
	r.want("GET", "/v1/kv/?keys", "", 200, "[]")
	r.want("GET", "/v1/session/list", "", 200, "[]")
}

// pipe is a listener of one connection within the process.
type pipe struct {
	conn  chan net.Conn
	ended chan struct{}
}

// Accept returns the connection.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conn:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (p *pipe) Close() error {
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
	return nil
}

// Addr returns no address that means anything.
func (*pipe) Addr() net.Addr { return &net.TCPAddr{} }

// TestABodyMustArriveInTime sends bodies that stop: after 30 s the answer is 408, and the connection ends, with what is left of the body.
func TestABodyMustArriveInTime(t *testing.T) {
	for path, method := range map[string]string{
		"kv/a": "PUT", "session/create": "PUT", "txn": "PUT", "catalog/register": "PUT", "catalog/deregister": "PUT", "query": "POST", "query/" + idA: "PUT",
		"agent/service/register": "PUT", "agent/check/register": "PUT", "agent/check/update/x": "PUT",
	} {
		for _, body := range []string{"Content-Length: 3\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"} {
			t.Run(path+" "+body[:10], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, err := consulhttp.New(consulhttp.Options{Conn: &island{leader: true}, Agent: machine{}})
					if err != nil {
						t.Fatal(err)
					}
					listener := &pipe{conn: make(chan net.Conn), ended: make(chan struct{})}
					ctx, stop := context.WithCancel(t.Context())
					served := make(chan error, 1)
					go func() { served <- rest.Serve(ctx, listener, h, time.Second, zap.NewNop()) }()
					client, server := net.Pipe()
					listener.conn <- server
					began := time.Now()
					_ = client.SetDeadline(began.Add(time.Hour)) // A pipe always has deadlines.
					if _, err = io.WriteString(client, method+" /v1/"+path+" HTTP/1.1\r\nHost: a\r\n"+body); err != nil {
						t.Fatal(err)
					}
					in := bufio.NewReader(client)
					got, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(got.Body)
					_ = got.Body.Close()
					if err != nil || got.StatusCode != http.StatusRequestTimeout || string(text) != "The body did not arrive in time." || !got.Close ||
						!strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain") {
						t.Errorf("got %d %s with %v, %v", got.StatusCode, text, got.Header, err)
					}
					if _, err = in.ReadByte(); !errors.Is(err, io.EOF) || time.Since(began) != 30*time.Second {
						t.Errorf("the connection ended after %v: %v, want that it ends after 30 s", time.Since(began), err)
					}
					_ = client.Close()
					stop()
					if err = <-served; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
