package consulhttp

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/instead"
	"github.com/tenure-io/tenure/consulhttp/local"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// endpointUnknown is the endpoint of requests whose path does not exist.
const endpointUnknown = "unknown"

// pathPrefix is what all paths begin with.
const pathPrefix = "/v1/"

// serveFunc answers one request.
type serveFunc func(ctx context.Context, q *request) (*reply.Answer, error)

// route is one path.
type route struct {
	// path follows /v1/. One that ends in a slash has the rest of the request's path as its argument.
	path string
	// suffix follows the argument; then path ends in a slash.
	suffix  string
	methods map[string]serveFunc
	// notOffered says that this is not served, and what Tenure has in its place.
	notOffered string
}

// name is the endpoint's name in metrics.
func (r *route) name() string { return strings.TrimSuffix(r.path, "/") + r.suffix }

// fits reports whether a path is of the route, and returns its argument, as it was sent. A path without an argument needs no slash.
func (r *route) fits(path string) (rest string, ok bool) {
	if r.suffix == "" && (path == r.path || path == r.name()) {
		return "", true
	}
	if !strings.HasSuffix(r.path, "/") {
		return "", false
	}
	if rest, ok = strings.CutPrefix(path, r.path); !ok {
		return "", false
	}
	return strings.CutSuffix(rest, r.suffix)
}

// exactness orders routes: the one that says the most about a path comes first.
func (r *route) exactness() int {
	if !strings.HasSuffix(r.path, "/") {
		return len(r.path) + 1 // As with a slash, but without an argument.
	}
	return len(r.path) + len(r.suffix)
}

// allow is the value of the header Allow.
func (r *route) allow() string {
	return strings.Join(append([]string{http.MethodOptions}, slices.Sorted(maps.Keys(r.methods))...), ",")
}

// newRoutes returns all paths, the more exact of two that both fit first.
func newRoutes(c *core) []route {
	nodes := &catalog{core: c, nodes: tenurev1.NewCatalogServiceClient(c.options.Conn)}
	routes := slices.Concat(
		(&sessionEndpoints{c, nodes}).routes(),
		(&keyEndpoints{c}).routes(),
		(&txnEndpoints{c}).routes(),
		(&memberEndpoints{c, tenurev1.NewPoolServiceClient(c.options.Conn)}).routes(),
		(&aclEndpoints{c}).routes(),
		(&queryEndpoints{c, tenurev1.NewQueryServiceClient(c.options.Conn)}).routes(),
		nodes.routes(),
		localRoutes(c.options),
		notOffered(c.options.Agent != nil),
	)
	slices.SortStableFunc(routes, func(a, b route) int { return b.exactness() - a.exactness() })
	return routes
}

// localRoutes returns the paths of the agent of this machine, if one serves.
func localRoutes(o Options) []route {
	if o.Agent == nil {
		return nil
	}
	var routes []route
	for _, e := range local.Endpoints(o.Agent, o.Datacenter) {
		serve := func(ctx context.Context, q *request) (*reply.Answer, error) { return e.Serve(ctx, q.Request) }
		routes = append(routes, route{path: e.Path, methods: map[string]serveFunc{e.Method: serve}})
	}
	return routes
}

// notOffered returns the parts of Consul's API that are not served. The answer is never 500, which clients would retry.
func notOffered(agent bool) []route {
	var routes []route
	for path, sentence := range instead.Sentences(agent) {
		routes = append(routes, route{path: path, notOffered: sentence})
	}
	return routes
}

// get, and put, are the methods of a path that has only this one.
func get(f serveFunc) map[string]serveFunc { return map[string]serveFunc{http.MethodGet: f} }
func put(f serveFunc) map[string]serveFunc { return map[string]serveFunc{http.MethodPut: f} }

// find returns the route of a raw path, and the rest of the path, as it was sent.
func (h *handler) find(path string) (found *route, rest string) {
	path, ok := strings.CutPrefix(path, pathPrefix)
	if !ok {
		return nil, ""
	}
	for i := range h.routes {
		r := &h.routes[i]
		if rest, ok := r.fits(path); ok {
			return r, rest
		}
	}
	return nil, ""
}
