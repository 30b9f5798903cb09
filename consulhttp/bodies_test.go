package consulhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/consulhttp"
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
			if err != nil || got.StatusCode != 400 || string(text) != "The body ended too early." || !got.Close {
				t.Errorf("got %d %s, closes %v, %v", got.StatusCode, text, got.Close, err)
			}
		})
	}
	r.want("GET", "/v1/kv/?keys", "", 200, "[]")
	r.want("GET", "/v1/session/list", "", 200, "[]")
}

// slowBody is a connection whose client sends nothing more: reading ends with the deadline.
type slowBody struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

// SetReadDeadline sets the deadline.
func (s *slowBody) SetReadDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

// Read waits for the deadline.
func (s *slowBody) Read([]byte) (int, error) {
	if s.deadline.IsZero() {
		return 0, fmt.Errorf("it would wait for ever: %w", io.ErrNoProgress)
	}
	<-time.After(time.Until(s.deadline))
	return 0, os.ErrDeadlineExceeded
}

// TestABodyMustArriveInTime sends bodies that stop: after 30 s the answer is 408, and the connection ends.
func TestABodyMustArriveInTime(t *testing.T) {
	for path, method := range map[string]string{
		"kv/a": "PUT", "session/create": "PUT", "txn": "PUT", "catalog/register": "PUT", "catalog/deregister": "PUT", "query": "POST", "query/" + idA: "PUT",
		"agent/service/register": "PUT", "agent/check/register": "PUT", "agent/check/update/x": "PUT",
	} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := consulhttp.New(consulhttp.Options{Conn: &island{leader: true}, Agent: machine{}})
				if err != nil {
					t.Fatal(err)
				}
				slow, began := &slowBody{ResponseRecorder: httptest.NewRecorder()}, time.Now()
				request := httptest.NewRequestWithContext(t.Context(), method, "/v1/"+path, slow)
				h.ServeHTTP(slow, request)
				if slow.Code != 408 || slow.Body.String() != "The body did not arrive in time." || slow.Header().Get("Connection") != "close" ||
					!strings.HasPrefix(slow.Header().Get("Content-Type"), "text/plain") {
					t.Errorf("got %d %s with %v", slow.Code, slow.Body, slow.Header())
				}
				if took := time.Since(began); took != 30*time.Second || !slow.deadline.IsZero() {
					t.Errorf("it took %v, and the next deadline is %v", took, slow.deadline)
				}
			})
		})
	}
}
