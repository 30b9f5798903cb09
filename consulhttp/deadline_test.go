package consulhttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenure-io/tenure/consulhttp"
)

// TestWaitsOutliveTheWriteTimeout waits for longer than the server allows for an answer. With HTTP/2 its time ends a request that has not been
// answered yet, too.
func TestWaitsOutliveTheWriteTimeout(t *testing.T) {
	r := newRig(t)
	for range 2 {
		r.want("PUT", "/v1/kv/a", "1", 200, "true")
	}
	h, err := consulhttp.New(consulhttp.Options{Conn: r.grpc})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{1, 2} {
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2 = version == 2
		server.Config.WriteTimeout = 300 * time.Millisecond
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, path := range []string{"/v1/kv/none?index=2&wait=1s", "/v1/kv/none?stale&index=2&wait=1s", "/v1/session/list?index=2&wait=1s"} {
			ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := server.Client().Do(ask)
			if err != nil {
				t.Errorf("HTTP/%d, %s: %v", version, path, err)
				continue
			}
			_, err = io.Copy(io.Discard, got.Body)
			_ = got.Body.Close()
			if err != nil || got.StatusCode >= 500 || got.ProtoMajor != version || got.Header.Get("X-Consul-Index") != "2" {
				t.Errorf("HTTP/%d, %s: got %s over %s with index %q, %v", version, path, got.Status, got.Proto, got.Header.Get("X-Consul-Index"), err)
			}
		}
	}
}
