package consulhttp

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// endpointUnknown is the endpoint of requests whose path does not exist.
const endpointUnknown = "unknown"

// pathPrefix is what all paths begin with.
const pathPrefix = "/v1/"

// serveFunc answers one request.
type serveFunc func(ctx context.Context, q *request) (*answer, error)

// route is one path.
type route struct {
	// path follows /v1/. One that ends in a slash has the rest of the request's path as its argument.
	path    string
	methods map[string]serveFunc
	// notOffered says that this is not served, and what Tenure has in its place; status goes with it.
	notOffered string
	status     int
}

// name is the endpoint's name in metrics.
func (r *route) name() string { return strings.TrimSuffix(r.path, "/") }

// allow is the value of the header Allow.
func (r *route) allow() string {
	return strings.Join(append([]string{http.MethodOptions}, slices.Sorted(maps.Keys(r.methods))...), ",")
}

// newRoutes returns all paths, the longer of two that both fit first.
func (h *handler) newRoutes() []route {
	get := func(f serveFunc) map[string]serveFunc { return map[string]serveFunc{http.MethodGet: f} }
	put := func(f serveFunc) map[string]serveFunc { return map[string]serveFunc{http.MethodPut: f} }
	routes := []route{
		{path: "session/create", methods: put(h.createSession)},
		{path: "session/destroy/", methods: put(h.destroySession)},
		{path: "session/renew/", methods: put(h.renewSession)},
		{path: "session/info/", methods: get(h.sessionInfo)},
		{path: "session/node/", methods: get(h.sessionsOfNode)},
		{path: "session/list", methods: get(h.listSessions)},
		{path: "kv/", methods: map[string]serveFunc{
			http.MethodGet: h.getKeys, http.MethodPut: h.putKey, http.MethodDelete: h.deleteKeys,
		}},
		{path: "txn", methods: put(h.txn)},
		{path: "status/leader", methods: get(h.statusLeader)},
		{path: "status/peers", methods: get(h.statusPeers)},
		{path: "agent/self", methods: get(h.agentSelf)},
		{path: "agent/version", methods: get(h.agentVersion)},
		{path: "agent/members", methods: get(h.agentMembers)},
		{path: "agent/connect/ca/roots", methods: get(h.caRoots)},
		{path: "operator/raft/configuration", methods: get(h.raftConfiguration)},
	}
	routes = append(routes, h.catalog.routes()...)
	routes = append(routes, h.agent.routes()...)
	routes = append(routes, notOffered(h.options.Agent != nil)...)
	slices.SortStableFunc(routes, func(a, b route) int { return len(b.path) - len(a.path) })
	return routes
}

// find returns the route of a raw path, and the rest of the path, as it was sent.
func (h *handler) find(path string) (found *route, rest string) {
	path, ok := strings.CutPrefix(path, pathPrefix)
	if !ok {
		return nil, ""
	}
	for i := range h.routes {
		r := &h.routes[i]
		if path == r.name() {
			return r, ""
		}
		if !strings.HasSuffix(r.path, "/") {
			continue
		}
		if rest, ok := strings.CutPrefix(path, r.path); ok {
			return r, rest
		}
	}
	return nil, ""
}

// pathOf returns a request's path as it was sent.
func pathOf(r *http.Request) (string, error) {
	if !strings.HasPrefix(r.RequestURI, "/") {
		// It names a whole URL, as to a proxy.
		return r.URL.EscapedPath(), nil
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, err := url.PathUnescape(path); err != nil {
		return "", refusal(http.StatusBadRequest, "A percent sign in a path must be followed by two hexadecimal digits.")
	}
	return path, nil
}
