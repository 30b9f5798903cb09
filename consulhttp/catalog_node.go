package consulhttp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// kinds are kinds of events of the catalog.
type kinds int

const (
	ofNode kinds = 1 << iota
	ofService
	ofCheck
)

// kindOf returns the kind of an event.
func kindOf(e *tenurev1.Event) kinds {
	switch {
	case e.GetNode() != nil:
		return ofNode
	case e.GetService() != nil:
		return ofService
	case e.GetCheck() != nil:
		return ofCheck
	default:
		return 0
	}
}

// events counts the events of some kinds.
func events(counted kinds) func(context.Context, *tenurev1.Event) (bool, error) {
	return func(_ context.Context, e *tenurev1.Event) (bool, error) { return kindOf(e)&counted != 0, nil }
}

// counting names what events of some kinds count.
func counting(counted kinds) string { return "kinds " + strconv.Itoa(int(counted)) }

// union returns all texts, sorted, each once.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// wholeNode is a node with all that is on it.
type wholeNode struct {
	node     *tenurev1.Node
	services []*tenurev1.Service
	checks   []*tenurev1.Check
	header   *tenurev1.ResponseHeader // of the first page
}

// wholeNode reads a node, with what the caller may read of what is on it. If there is none, the result has only the revision.
func (c *catalog) wholeNode(ctx context.Context, name, consistency string) (*wholeNode, error) {
	out := &wholeNode{}
	get := &tenurev1.GetNodeRequest{Node: name, Read: ask.ReadOptions(consistency), VisibleOnly: true}
	for {
		part, err := c.nodes.GetNode(ctx, get)
		if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND {
			return &wholeNode{header: at(reply.RevisionOf(err))}, nil
		}
		if err != nil {
			return nil, err
		}
		if out.node == nil {
			out.node, out.header = part.GetNode(), part.GetHeader()
		}
		if part.GetHeader().GetFiltered() && !out.header.GetFiltered() {
			return nil, reply.ErrRightsChanged
		}
		out.services = append(out.services, part.GetServices()...)
		out.checks = append(out.checks, part.GetChecks()...)
		if get.PageToken = part.GetNextPageToken(); get.GetPageToken() == "" {
			return out, nil
		}
	}
}

// tagsOf returns the tags of an instance on the node.
func (n *wholeNode) tagsOf(service string) []string {
	for _, s := range n.services {
		if s.GetServiceId() == service {
			return s.GetTags()
		}
	}
	return nil
}

// nodeRead answers a read of one node.
func (c *catalog) nodeRead(ctx context.Context, q *request, counted kinds, shown func(*wholeNode) any) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing node name")
	}
	if !utf8.ValidString(q.Rest) {
		return nil, reply.Refusal(http.StatusBadRequest, "The node name is not valid UTF-8.")
	}
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	r.selection = selection{request: &tenurev1.WatchRequest{Nodes: []string{q.Rest}}, counts: events(counted), counted: counting(counted)}
	return c.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		n, err := c.wholeNode(ctx, q.Rest, r.consistency)
		if err != nil {
			return nil, err
		}
		s, err := c.stateAt(ctx, r, waited, n.header)
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{JSON: shown(n)}).Of(s), nil
	})
}

// null is the JSON null.
var null = (*struct{})(nil)

// node serves GET /v1/catalog/node/NODE.
func (c *catalog) node(ctx context.Context, q *request) (*reply.Answer, error) {
	return c.nodeRead(ctx, q, ofNode|ofService, func(n *wholeNode) any {
		if n.node == nil {
			return null
		}
		services := map[string]*wire.Service{}
		for _, s := range n.services {
			services[s.GetServiceId()] = wire.ServiceOf(s)
		}
		return struct {
			Node     *wire.Node
			Services map[string]*wire.Service
		}{wire.NodeOf(n.node, c.options.Datacenter), services}
	})
}

// nodeServices serves GET /v1/catalog/node-services/NODE.
func (c *catalog) nodeServices(ctx context.Context, q *request) (*reply.Answer, error) {
	return c.nodeRead(ctx, q, ofNode|ofService, func(n *wholeNode) any {
		services := []*wire.Service{}
		for _, s := range n.services {
			services = append(services, wire.ServiceOf(s))
		}
		return struct {
			Node     *wire.Node
			Services []*wire.Service
		}{wire.NodeOf(n.node, c.options.Datacenter), services}
	})
}

// healthOfNode serves GET /v1/health/node/NODE.
func (c *catalog) healthOfNode(ctx context.Context, q *request) (*reply.Answer, error) {
	return c.nodeRead(ctx, q, ofService|ofCheck, func(n *wholeNode) any {
		checks := []*wire.Check{}
		for _, k := range n.checks {
			checks = append(checks, wire.CheckOf(k, n.tagsOf(k.GetServiceId())))
		}
		return checks
	})
}
