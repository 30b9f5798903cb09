package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/server"
)

func TestProfilesAreServedOnRequestOnly(t *testing.T) {
	if at := start(t).at.Debug; at != "" {
		t.Errorf("without DebugAddr profiles are served on %s", at)
	}
	m := start(t, func(c *server.Config) { c.DebugAddr = "127.0.0.1:0" })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+m.at.Debug+"/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil || !strings.Contains(string(body), "goroutine profile") {
		t.Errorf("got %.60q, %v; want a profile", body, err)
	}
}

// TestHTTPAnswersToItsNamesOnly asks both listeners of a member by names.
func TestHTTPAnswersToItsNamesOnly(t *testing.T) {
	m := startMember(t, func(c *server.Config) {
		c.DebugAddr, c.AllowedHosts = "127.0.0.1:0", []string{"balancer.example"}
		c.AdvertiseHTTPAddr = "tenure.example:7401"
	})
	for url, path := range map[string]string{m.at.Debug: "/debug/pprof/cmdline", m.at.HTTP: "/healthz"} {
		for host, want := range map[string]int{
			"": 200, "localhost": 200, "tenure.example:7401": 200, "balancer.example": 200, "evil.example": 403,
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if _ = response.Body.Close(); response.StatusCode != want {
				t.Errorf("host %q at %s: got %s, want %d", host, path, response.Status, want)
			}
		}
	}
}

func TestProfilesAreForThisMachineOnly(t *testing.T) {
	_, err := server.New(server.Config{DataDir: "data", DebugAddr: "0.0.0.0:0", Insecure: true})
	if !errors.Is(err, server.ErrConfig) {
		t.Errorf("got %v, want ErrConfig", err)
	}
}
