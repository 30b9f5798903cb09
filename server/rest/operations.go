package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/gen/openapi"
)

// operations are the paths beside REST: for operators, monitoring and readers of the API's description.
type operations struct {
	paths map[string]operation
}

// operation serves one path.
type operation struct {
	flags []string // query parameters that it takes
	serve func(w http.ResponseWriter, r *http.Request, query url.Values)
}

// newOperations returns the operations.
func newOperations(o Options) (*operations, error) {
	version, err := json.Marshal(map[string]string{"version": o.Version, "api": "v1", "go": runtime.Version()})
	if err != nil {
		return nil, fmt.Errorf("describe version: %w", err)
	}
	metrics := promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{
		ErrorLog:      zap.NewStdLog(o.Log),
		ErrorHandling: promhttp.ContinueOnError,
	})
	return &operations{paths: map[string]operation{
		"/healthz":      {serve: fixed(contentTypeText, []byte("ok\n"))},
		"/readyz":       {serve: readiness(o), flags: []string{"verbose"}},
		"/version":      {serve: fixed(contentTypeJSON, append(version, '\n'))},
		"/openapi.json": {serve: fixed(contentTypeJSON, openapi.Document())},
		"/metrics": {serve: func(w http.ResponseWriter, r *http.Request, _ url.Values) {
			if err := watches(o, r); err != nil {
				restErrorOf(err).write(w)
				return
			}
			metrics.ServeHTTP(w, r)
		}},
	}}, nil
}

// serveOperation serves a path that answers to GET and HEAD only.
func serveOperation(w http.ResponseWriter, r *http.Request, o operation) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		wrongMethod(r.Method, []string{http.MethodGet, http.MethodHead}).write(w)
		return
	}
	query, e := parseQuery(r.URL.RawQuery, queryRules{extra: o.flags})
	if e != nil {
		e.write(w)
		return
	}
	o.serve(w, r, query)
}

// fixed answers always the same.
func fixed(contentType string, body []byte) func(http.ResponseWriter, *http.Request, url.Values) {
	return func(w http.ResponseWriter, _ *http.Request, _ url.Values) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // a client that has gone away needs no answer
	}
}

// decisionTimeout is how long it may take to decide whether a request may see how the member is.
const decisionTimeout = 2 * time.Second

// watches returns why a request may not see how the member is.
func watches(o Options, r *http.Request) error {
	if o.Watches == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), decisionTimeout)
	defer cancel()
	return o.Watches(r.WithContext(ctx))
}

// readiness answers 200 when all checks pass, else 503. ?verbose lists them, one a line, and so does a 503 to a request that may see
// them.
func readiness(o Options) func(http.ResponseWriter, *http.Request, url.Values) {
	return func(w http.ResponseWriter, r *http.Request, query url.Values) {
		verbose := query.Get("verbose") == "true"
		if verbose {
			if err := watches(o, r); err != nil {
				restErrorOf(err).write(w)
				return
			}
		}
		var list bytes.Buffer
		status, summary := http.StatusOK, "ready\n"
		for _, check := range o.Ready(r.Context()) {
			if check.Err == nil {
				fmt.Fprintf(&list, "ok     %s\n", check.Name)
				continue
			}
			fmt.Fprintf(&list, "failed %s: %v\n", check.Name, check.Err)
			status, summary = http.StatusServiceUnavailable, "not ready\n"
		}
		header := w.Header()
		header.Set("Content-Type", contentTypeText)
		header.Set("Cache-Control", "no-store")
		if status != http.StatusOK {
			header.Set("Retry-After", "1")
		}
		lists := verbose || status != http.StatusOK && watches(o, r) == nil
		w.WriteHeader(status)
		if lists {
			_, _ = w.Write(list.Bytes()) // a client that has gone away needs no answer
		}
		_, _ = w.Write([]byte(summary))
	}
}
