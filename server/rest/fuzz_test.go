package rest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/server/reason"
)

// FuzzRESTBody checks that no body, query or header is a fault of the service: the answer is a success or blames the
// client. The requests stop at a connection that refuses every call as not served.
func FuzzRESTBody(f *testing.F) {
	f.Add("POST", "/v1/kv/a", "", []byte(`{"text":"x","flags":"1"}`))
	f.Add("POST", "/v1/txn", "", []byte(`{"compares":[{"key":"a","version":"1"}],"then":[{"put":{"key":"a","value":"eA=="}}]}`))
	f.Add("POST", "/v1/sessions", "", []byte(`{"ttl":"15s","metadata":{"a":"b"},"behavior":1,"checks":{}}`))
	f.Add("PUT", "/v1/kv/a", "acquire=x&flags=1", []byte("raw"))
	f.Add("DELETE", "/v1/locks/a", "sessionId=s&put=eA==&options.requestId.sequence=1", []byte(nil))
	f.Add("GET", "/v1/watch", "keys=a&keys=b&wait=1s&filter.noPuts", []byte(nil))
	f.Add("POST", "/v1/kv/a", "", []byte(`{"text":"\ud800"}`))
	f.Add("POST", "/v1/locks/a", "", []byte("{\"wait\":\"1.0000000001s\"}"))
	handler, err := New(Options{
		Conn: refusingConn{}, Gatherer: prometheus.NewRegistry(), RequestBytesMax: 1 << 16, Log: zap.NewNop(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, query string, body []byte) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, RequestURI: path + "?" + query, Host: "localhost",
			Header: http.Header{}, Body: readCloser{bytes.NewReader(body)}, ContentLength: -1,
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r.WithContext(t.Context()))
		if path == "/readyz" || path == "/metrics" {
			return
		}
		if w.Code >= http.StatusInternalServerError && w.Code != http.StatusNotImplemented {
			t.Errorf("%s %q?%q with %q is %d: %s", method, path, query, body, w.Code, w.Body)
		}
	})
}

// readCloser is a body.
type readCloser struct{ *bytes.Reader }

// Close does nothing.
func (readCloser) Close() error { return nil }

// refusingConn refuses every call.
type refusingConn struct{}

// Invoke refuses a unary call.
func (refusingConn) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return asStatus(reason.NotServed("this"))
}

// NewStream refuses a stream.
func (refusingConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, asStatus(reason.NotServed("this"))
}
