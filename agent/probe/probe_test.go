package probe_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/probe"
	"github.com/tenure-io/tenure/internal/port"
)

// look makes one probe that has all the time it needs.
func look(t *testing.T, kind check.Kind) check.Result {
	t.Helper()
	result, ok := probe.Patient().Probe(t.Context(), kind, 5*time.Minute)
	if !ok {
		t.Fatal("there is no result")
	}
	return result
}

// want fails unless the result has that status and its output holds that text.
func want(t *testing.T, got check.Result, status check.Status, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Output, text) {
		t.Errorf("got %s %.300q, want %s and %q in it", got.Status, got.Output, status, text)
	}
}

// serve answers requests until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// gone returns an address where nothing listens.
func gone(t *testing.T) string {
	t.Helper()
	kept, err := port.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	return kept.Address()
}

func TestHTTP(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/teapot":
			w.WriteHeader(http.StatusTeapot)
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/long":
			_, _ = w.Write([]byte(strings.Repeat("é", 100_000)))
			return
		}
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		_, _ = fmt.Fprintf(w, "method=%s host=%s agent=%s token=%s body=%s", r.Method, r.Host, r.UserAgent(), r.Header.Values("X-Token"), body[:n])
	})
	want(t, look(t, check.HTTP{URL: url + "/ok"}), check.Passing, "200 OK\nmethod=GET")
	want(t, look(t, check.HTTP{URL: url + "/ok"}), check.Passing, "agent=tenure-test")
	want(t, look(t, check.HTTP{URL: url + "/busy"}), check.Warning, "429")
	want(t, look(t, check.HTTP{URL: url + "/teapot"}), check.Critical, "418")
	want(t, look(t, check.HTTP{URL: url + "/moved"}), check.Critical, "302")
	want(t, look(t, check.HTTP{URL: url + "/moved", FollowRedirects: true}), check.Passing, "200")
	want(t, look(t, check.HTTP{URL: url + "/loop", FollowRedirects: true}), check.Critical, "more than 10 redirects")
	want(t, look(t, check.HTTP{
		URL: url, Method: http.MethodPost, Body: "hello",
		Header: map[string][]string{"x-token": {"a", "b"}, "Host": {"web.example"}, "user-agent": {"mine"}},
	}), check.Passing, "method=POST host=web.example agent=mine token=[a b] body=hello")
	want(t, look(t, check.HTTP{URL: "http://" + gone(t)}), check.Critical, "refused")
	if got := look(t, check.HTTP{URL: url + "/long"}); got.Status != check.Passing || len(got.Output) > 4096 || len(got.Output) < 4090 {
		t.Errorf("a long answer: got %s and %d bytes, want passing and about 4096", got.Status, len(got.Output))
	}
}

func TestHTTPOverTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, look(t, check.HTTP{URL: server.URL}), check.Critical, "certificate")
	want(t, look(t, check.HTTP{URL: server.URL, TLS: check.TLS{SkipVerify: true}}), check.Passing, "200")
	want(t, look(t, check.HTTP{URL: server.URL, TLS: check.TLS{CAFile: ca}}), check.Passing, "200")
	want(t, look(t, check.HTTP{URL: server.URL, TLS: check.TLS{CAFile: ca, ServerName: "other.invalid"}}), check.Critical, "other.invalid")
	want(t, look(t, check.HTTP{URL: server.URL, TLS: check.TLS{CAFile: ca + ".missing"}}), check.Critical, "no such file")
	want(t, look(t, check.HTTP{URL: server.URL, TLS: check.TLS{CAFile: t.TempDir()}}), check.Critical, "not a regular file")
}

func TestTCP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	want(t, look(t, check.TCP{Address: listener.Addr().String()}), check.Passing, "connected")
	want(t, look(t, check.TCP{Address: gone(t)}), check.Critical, "refused")
}

func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, states := grpc.NewServer(), health.NewServer()
	states.SetServingStatus("web", grpc_health_v1.HealthCheckResponse_SERVING)
	states.SetServingStatus("sick", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(server, states)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	address := listener.Addr().String()
	want(t, look(t, check.GRPC{Address: address}), check.Passing, "SERVING")
	want(t, look(t, check.GRPC{Address: address, Service: "web"}), check.Passing, "SERVING")
	want(t, look(t, check.GRPC{Address: address, Service: "sick"}), check.Critical, "NOT_SERVING")
	want(t, look(t, check.GRPC{Address: address, Service: "unknown"}), check.Critical, "NotFound")
	want(t, look(t, check.GRPC{Address: address, TLS: &check.TLS{}}), check.Critical, "Unavailable")
	want(t, look(t, check.GRPC{Address: gone(t)}), check.Critical, "refused")
}

func TestTimeout(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	kinds := map[string]check.Kind{"http": check.HTTP{URL: url}, "exec": check.Exec{Args: []string{"sleep", "100000"}}}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			result, ok := probe.New("tenure-test").Probe(t.Context(), kind, 300*time.Millisecond)
			if !ok {
				t.Fatal("there is no result")
			}
			want(t, result, check.Critical, "within 300ms")
		})
	}
}

func TestNoResultWhenStopped(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	kinds := []check.Kind{check.HTTP{URL: url}, check.TCP{Address: gone(t)}, check.Exec{Args: []string{"true"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range kinds {
		if result, ok := probe.New("tenure-test").Probe(ctx, kind, time.Minute); ok {
			t.Errorf("%s: got %v, want no result", kind.Name(), result)
		}
	}
}
