package consul

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// consulEnvironment is an environment with a token for Consul.
func consulEnvironment(timeout time.Duration) *cli.Environment {
	return &cli.Environment{Timeout: timeout, Stderr: io.Discard, Getenv: func(name string) (string, bool) {
		if name != "CONSUL_HTTP_TOKEN" {
			return "", false
		}
		return "secret", true
	}}
}

// sourceAt returns the Consul at an address, closed at the test's end.
func sourceAt(t *testing.T, address string, timeout time.Duration) *consulSource {
	t.Helper()
	from, err := newConsulSource(consulEnvironment(timeout), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(from.close)
	return from
}

// TestConsulThatStopsRespondingIsGivenUp asks one that answers nothing, and one that stops within its answer.
func TestConsulThatStopsRespondingIsGivenUp(t *testing.T) {
	for name, begin := range map[string]string{"before its answer": "", "within its answer": `[{"Key":"a"},`} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-stop:
				}
			}))
			defer server.Close()
			defer close(stop)
			body, err := sourceAt(t, server.URL, time.Second).openKeys(t.Context(), "")
			if err == nil {
				_, err = io.ReadAll(body)
				_ = body.Close()
			}
			var exit *cli.ExitError
			if !errors.As(err, &exit) || exit.Code != cli.ExitUnavailable || !strings.Contains(err.Error(), "no answer from Consul within 1s") {
				t.Errorf("got %v, want no answer within 1s, with exit code %d", err, cli.ExitUnavailable)
			}
		})
	}
}

// TestTheTokenForConsulGoesToConsulOnly is asked for keys by a Consul that names another address.
func TestTheTokenForConsulGoesToConsulOnly(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other address was asked, with the token %q", r.Header.Get("X-Consul-Token"))
	}))
	defer other.Close()
	tokens := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("X-Consul-Token")
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	_, err := sourceAt(t, server.URL, time.Minute).openKeys(t.Context(), "a b/")
	if err == nil || !strings.Contains(err.Error(), "Consul answered 307") {
		t.Errorf("got %v, want that Consul answered 307", err)
	}
	if got := <-tokens; got != "secret" {
		t.Errorf("Consul got the token %q, want secret", got)
	}
}

// TestAnImportFromConsulCanBeInterrupted ends while Consul does not answer, and while it does.
func TestAnImportFromConsulCanBeInterrupted(t *testing.T) {
	for name, begin := range map[string]string{"before its answer": "", "within its answer": `[{"Key":"a"},`} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			stop := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begin == "" {
					interrupt()
				} else {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case <-r.Context().Done():
				case <-stop:
				}
			}))
			defer server.Close()
			defer close(stop)
			body, err := sourceAt(t, server.URL, time.Hour).openKeys(ctx, "")
			if begin != "" {
				if err != nil {
					t.Fatal(err)
				}
				interrupt()
				_, err = io.ReadAll(body)
			}
			if body != nil {
				_ = body.Close()
			}
			if err = consulSourceError(err, "it cannot be read"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that it was interrupted", err)
			}
		})
	}
}
