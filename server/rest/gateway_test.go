package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/gen/openapi"
)

func TestListenersCheckHost(t *testing.T) {
	rig := newRESTRig(t, func(o *Options) { o.AllowedHosts = []string{"tenure.internal"} })
	for host, want := range map[string]int{
		"localhost":              200,
		"LOCALHOST:7401":         200,
		"127.0.0.1":              200,
		"127.0.0.1:7401":         200,
		"127.9.9.9":              200,
		"[::1]":                  200,
		"[::1]:7401":             200,
		"tenure.internal":        200,
		"Tenure.Internal:80":     200,
		"evil.example":           403,
		"evil.example:7401":      403,
		"localhost.evil.example": 403,
		"127.0.0.1.evil.example": 403,
		"10.0.0.1":               200,
		"":                       403,
	} {
		for _, target := range []string{"/v1/sessions", "/healthz"} {
			method := map[bool]string{true: "POST", false: "GET"}[target == "/v1/sessions"]
			if got := rig.send(t, method, target, []string{"Host: " + host}, ""); got.status != want {
				t.Errorf("host %q at %s: got %d %s, want %d", host, target, got.status, got.body, want)
			}
		}
	}
}

// TestPagesOfOtherSitesAreRefused sends what a browser does for a page that shows something of this member, or leads to it.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	const allowed = "https://console.example"
	rig := newRESTRig(t, func(o *Options) { o.AllowedOrigins = []string{allowed} })
	for name, tc := range map[string]struct {
		headers []string
		want    int
	}{
		"a page of another site":     {[]string{"Sec-Fetch-Site: cross-site"}, 403},
		"in other letters":           {[]string{"Sec-Fetch-Site: Cross-Site"}, 403},
		"a page of an allowed one":   {[]string{"Sec-Fetch-Site: cross-site", "Origin: " + allowed}, 200},
		"the user, in the browser":   {[]string{"Sec-Fetch-Site: none"}, 200},
		"a page of the member's own": {[]string{"Sec-Fetch-Site: same-origin"}, 200},
	} {
		if got := rig.send(t, "GET", "/healthz", tc.headers, ""); got.status != tc.want {
			t.Errorf("%s: got %d %s, want %d", name, got.status, got.body, tc.want)
		}
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	const allowed = "https://console.example"
	plain := newRESTRig(t)
	open := newRESTRig(t, func(o *Options) { o.AllowedOrigins = []string{allowed} })
	tests := map[string]struct {
		rig    *restRig
		origin string
		status int
		allow  string
	}{
		"no origin is allowed at first":       {plain, allowed, 403, ""},
		"nor the one that looks like its own": {plain, "http://localhost:7401", 403, ""},
		"nor null":                            {plain, "null", 403, ""},
		"an allowed one may read the answer":  {open, allowed, 200, allowed},
		"another one may not":                 {open, "https://evil.example", 403, ""},
		"nor one that begins like it":         {open, allowed + ".evil.example", 403, ""},
		"nor one with another scheme":         {open, "http://console.example", 403, ""},
		"nor all":                             {open, "*", 403, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.rig.take()
			got := tc.rig.send(t, "POST", "/v1/sessions", []string{"Origin: " + tc.origin, "Content-Type: text/plain"}, "{}")
			if got.status != tc.status || got.header.Get("Access-Control-Allow-Origin") != tc.allow {
				t.Errorf("got %d, allowed origin %q: %s", got.status, got.header.Get("Access-Control-Allow-Origin"), got.body)
			}
			if calls := tc.rig.take(); tc.status != http.StatusOK && len(calls) > 0 {
				t.Errorf("refused request reached %s", calls[0].method)
			}
		})
	}
	asked := []string{"Origin: " + allowed, "Access-Control-Request-Method: PUT"}
	if got := open.send(t, "OPTIONS", "/v1/kv/a", asked, ""); got.status != http.StatusNoContent ||
		!strings.Contains(got.header.Get("Access-Control-Allow-Methods"), "PUT") || got.header.Get("Access-Control-Allow-Origin") != allowed {
		t.Errorf("preflight got %d %v", got.status, got.header)
	}
	if got := plain.send(t, "OPTIONS", "/v1/kv/a", asked, ""); got.status != http.StatusForbidden {
		t.Errorf("preflight of no allowed origin got %d", got.status)
	}
	if got := plain.send(t, "OPTIONS", "/v1/kv/a", nil, ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("OPTIONS without origin got %d", got.status)
	}
}

func TestOperatorsPaths(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_test_total", Help: "Counts nothing."}))
	var failing error
	rig := newRESTRig(t, func(o *Options) {
		o.Gatherer = registry
		o.Ready = func(context.Context) []ReadyCheck {
			return []ReadyCheck{{Name: "leader", Err: failing}, {Name: "store"}}
		}
	})
	check := func(target string, status int, kind, want string) {
		t.Helper()
		got := rig.send(t, "GET", target, nil, "")
		if got.status != status || !strings.HasPrefix(got.header.Get("Content-Type"), kind) || !strings.Contains(got.body, want) {
			t.Errorf("%s: got %d %s %.200q, want %d %s with %q", target, got.status, got.header.Get("Content-Type"), got.body, status, kind, want)
		}
		if v := got.header.Get("X-Content-Type-Options"); v != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", target, v)
		}
		head := rig.send(t, "HEAD", target, nil, "")
		if head.status != status || head.body != "" {
			t.Errorf("HEAD %s: got %d %q", target, head.status, head.body)
		}
	}
	check("/healthz", 200, "text/plain", "ok\n")
	check("/readyz", 200, "text/plain", "ready\n")
	check("/readyz?verbose", 200, "text/plain", "ok     leader\nok     store\nready\n")
	check("/version", 200, "application/json", `"version":"1.2.3"`)
	check("/metrics", 200, "text/plain", "tenure_test_total 0")
	check("/openapi.json", 200, "application/json", `"/v1/kv/{key}"`)
	failing = errors.New("there is none")
	check("/readyz", 503, "text/plain", "failed leader: there is none\nok     store\nnot ready\n")
	check("/healthz", 200, "text/plain", "ok\n")
	if got := rig.send(t, "GET", "/healthz/", nil, ""); got.status != http.StatusNotFound {
		t.Errorf("/healthz/ got %d", got.status)
	}
}

// allRoutes returns the tables of members and agents.
func allRoutes() []restRoute { return append(restTable(), agentTable()...) }

// TestDescriptionIsComplete compares the API's description with the table of routes, and looks for loose ends.
func TestDescriptionIsComplete(t *testing.T) {
	var api struct {
		Paths       map[string]map[string]struct{ Produces []string }
		Definitions map[string]any
		Parameters  map[string]any
	}
	if err := json.Unmarshal(openapi.Document(), &api); err != nil {
		t.Fatal(err)
	}
	routes, err := newRoutes(allRoutes())
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{[^}]*\}`)
	for _, r := range routes {
		path := variable.ReplaceAllStringFunc(r.pattern, func(name string) string {
			for _, s := range r.segments {
				if s.field != nil && strings.HasPrefix(name, "{"+string(s.field.Name())) {
					return "{" + s.field.JSONName() + "}"
				}
			}
			return name
		})
		operation, ok := api.Paths[path][strings.ToLower(r.method)]
		if !ok {
			t.Errorf("%s %s is not described", r.method, path)
		}
		if stream := len(operation.Produces) == 1 && operation.Produces[0] == "application/x-ndjson"; stream != (r.kind == routeStream) {
			t.Errorf("%s %s is described as producing %v", r.method, path, operation.Produces)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/version", "/openapi.json"} {
		if _, ok := api.Paths[path]["get"]; !ok {
			t.Errorf("GET %s is not described", path)
		}
	}
	for _, ref := range regexp.MustCompile(`"#/([a-z]+)/([A-Za-z]+)"`).FindAllStringSubmatch(string(openapi.Document()), -1) {
		known := map[string]map[string]any{"definitions": api.Definitions, "parameters": api.Parameters}[ref[1]]
		if _, ok := known[ref[2]]; !ok {
			t.Errorf("%s is referred to, but not there", ref[0])
		}
	}
	if strings.Contains(string(openapi.Document()), `"options.sessionSecret"`) {
		t.Error("a secret is described as a query parameter")
	}
}

// panickingConn panics instead of calling.
type panickingConn struct{ refusingConn }

// Invoke panics.
func (panickingConn) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	panic("what happened inside")
}

func TestPanicEndsOneRequestOnly(t *testing.T) {
	rig := newRESTRig(t, func(o *Options) { o.Conn = panickingConn{} })
	for range 2 {
		got := rig.send(t, "PUT", "/v1/kv/a", nil, "x")
		if got.status != http.StatusInternalServerError || got.error.Code != "INTERNAL" || got.error.Metadata["applied"] != "unknown" {
			t.Errorf("got %d %s", got.status, got.body)
		}
		if strings.Contains(got.body, "what happened inside") {
			t.Errorf("the answer tells what happened inside: %s", got.body)
		}
	}
}
