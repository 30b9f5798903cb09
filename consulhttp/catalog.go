package consulhttp

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/instances"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// catalog serves nodes, services and checks.
type catalog struct {
	*core
	nodes tenurev1.CatalogServiceClient
}

// routes returns the paths of the catalog.
func (c *catalog) routes() []route {
	return []route{
		{path: "catalog/register", methods: put(c.register)},
		{path: "catalog/deregister", methods: put(c.deregister)},
		{path: "catalog/datacenters", methods: get(c.datacenters)},
		{path: "catalog/nodes", methods: get(c.listNodes)},
		{path: "catalog/services", methods: get(c.listServices)},
		{path: "catalog/service/", methods: get(c.service)},
		{path: "catalog/node/", methods: get(c.node)},
		{path: "catalog/node-services/", methods: get(c.nodeServices)},
		{path: "health/node/", methods: get(c.healthOfNode)},
		{path: "health/checks/", methods: get(c.checksOfService)},
		{path: "health/service/", methods: get(c.healthOfService)},
		{path: "health/state/", methods: get(c.checksInState)},
	}
}

// datacenters serves GET /v1/catalog/datacenters.
func (c *catalog) datacenters(context.Context, *request) (*reply.Answer, error) {
	return &reply.Answer{JSON: []string{c.options.Datacenter}}, nil
}

// nearRanks is how many ranks nearness has: the node itself, those of its zone, and the others.
const nearRanks = 3

// nearRead is read for a request that may name a node to which others are near.
func (q *request) nearRead() (read, error) {
	if !utf8.ValidString(q.Text("near")) {
		return read{}, reply.Refusal(http.StatusBadRequest, "Parameter near is not valid UTF-8.")
	}
	return q.read()
}

// nearNode returns the node to which a request wants others to be near; nil if it wants none. Of one that is not registered only the name is known. One
// that no node can be has none, and neither has one that the caller may not read: that tells nothing of it, as there is nothing it is near to.
// Errors may name the node that answers, so it is for those who may read what they ask for.
func (c *core) nearNode(ctx context.Context, q *request) (*tenurev1.Node, error) {
	near := q.Text("near")
	if near == "" {
		return nil, nil
	}
	var err error
	if near == "_agent" {
		if near, err = c.ownNode(ctx); err != nil {
			return nil, err
		}
	}
	found, err := c.entries.GetNode(ctx, &tenurev1.GetNodeRequest{Node: near, Read: ask.ReadOptions(ask.Stale), VisibleOnly: true})
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return &tenurev1.Node{Name: near}, nil
	case tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return &tenurev1.Node{}, nil
	default:
		return found.GetNode(), err
	}
}

// rankOf returns how near nodes are to the one that a request names; in one rank if it names none.
func (c *catalog) rankOf(ctx context.Context, q *request) (ranks int, rank func(*tenurev1.Node) int, _ error) {
	near, err := c.nearNode(ctx, q)
	switch {
	case err != nil:
		return 0, nil, err
	case near == nil:
		return 1, func(*tenurev1.Node) int { return 0 }, nil
	}
	zone := near.GetZone()
	return nearRanks, func(n *tenurev1.Node) int {
		switch {
		case strings.EqualFold(n.GetName(), near.GetName()):
			return 0
		case zone != "" && n.GetZone() == zone:
			return 1
		default:
			return nearRanks - 1
		}
	}, nil
}

// metaOf returns which facts a request wants nodes to have, and whether a node has them.
func metaOf(q *request) (wants bool, fits func(*tenurev1.Node) bool) {
	pairs := q.Query["node-meta"]
	return len(pairs) > 0, func(n *tenurev1.Node) bool {
		for _, pair := range pairs {
			name, want, _ := strings.Cut(pair, ":")
			if got, ok := n.GetMeta()[name]; !ok || got != want {
				return false
			}
		}
		return true
	}
}

// listNodes serves GET /v1/catalog/nodes.
func (c *catalog) listNodes(ctx context.Context, q *request) (*reply.Answer, error) {
	r, err := q.nearRead()
	if err != nil {
		return nil, err
	}
	r.selection = selection{request: &tenurev1.WatchRequest{AllNodes: true}, counts: events(ofNode), counted: counting(ofNode)}
	return c.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		nodes, err := c.nodePages(ctx, r)
		if err != nil {
			return nil, err
		}
		ranks, rank, err := c.rankOf(ctx, q)
		if err != nil {
			return nil, err
		}
		if ranks == 1 {
			var own string
			if own, err = c.ownNode(ctx); err != nil {
				return nil, err
			}
			ranks, rank = 2, func(n *tenurev1.Node) int {
				if strings.EqualFold(n.GetName(), own) {
					return 0
				}
				return 1
			}
		}
		s, err := c.stateAt(ctx, r, waited, nodes.Header())
		if err != nil {
			return nil, err
		}
		_, fits := metaOf(q)
		return (&reply.Answer{Long: nodes.Long(), Stream: nodes.Array(ctx, ranks, rank, func(n *tenurev1.Node) ([]any, error) {
			if !fits(n) {
				return nil, nil
			}
			return []any{wire.NodeOf(n, c.options.Datacenter)}, nil
		})}).Of(s), nil
	})
}

// nodePages reads all nodes that the caller may read.
func (c *catalog) nodePages(ctx context.Context, r read) (*reply.Pages[*tenurev1.Node], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.Node], error) {
		list, err := c.nodes.ListNodes(ctx, &tenurev1.ListNodesRequest{PageToken: token, Read: ask.ReadOptions(r.consistency), VisibleOnly: true})
		return reply.Page[*tenurev1.Node]{Items: list.GetNodes(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// listServices serves GET /v1/catalog/services.
func (c *catalog) listServices(ctx context.Context, q *request) (*reply.Answer, error) {
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	r.selection = selection{request: &tenurev1.WatchRequest{AllServices: true}, counts: events(ofService), counted: counting(ofService)}
	wantsMeta, _ := metaOf(q)
	if wantsMeta {
		r.selection = selection{request: &tenurev1.WatchRequest{AllNodes: true}, counts: events(ofNode | ofService), counted: counting(ofNode | ofService)}
	}
	return c.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		out := map[string][]string{}
		read := c.servicesEverywhere
		if wantsMeta {
			read = c.servicesOnNodes
		}
		header, err := read(ctx, r, out)
		if err != nil {
			return nil, err
		}
		s, err := c.stateAt(ctx, r, waited, header)
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{JSON: out}).Of(s), nil
	})
}

// servicePages reads all services that the caller may read.
func (c *catalog) servicePages(ctx context.Context, r read) (*reply.Pages[*tenurev1.ServiceSummary], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.ServiceSummary], error) {
		list, err := c.nodes.ListServices(ctx, &tenurev1.ListServicesRequest{PageToken: token, Read: ask.ReadOptions(r.consistency), VisibleOnly: true})
		return reply.Page[*tenurev1.ServiceSummary]{Items: list.GetServices(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// servicesEverywhere adds the names of all services, with their tags.
func (c *catalog) servicesEverywhere(ctx context.Context, r read, out map[string][]string) (*tenurev1.ResponseHeader, error) {
	list, err := c.servicePages(ctx, r)
	if err != nil {
		return nil, err
	}
	return list.Header(), list.Each(ctx, func(s *tenurev1.ServiceSummary) error {
		out[s.GetName()] = append([]string{}, s.GetTags()...)
		return nil
	})
}

// servicesOnNodes adds the names of the services on the nodes that have the facts which a request wants, with their tags.
func (c *catalog) servicesOnNodes(ctx context.Context, r read, out map[string][]string) (*tenurev1.ResponseHeader, error) {
	on, header, err := nodesWith(ctx, c, r)
	if err != nil {
		return nil, err
	}
	list, err := c.servicePages(ctx, r)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	if len(on) > instances.AloneMax {
		err = list.Each(ctx, func(s *tenurev1.ServiceSummary) error {
			all[s.GetName()] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// Whether it is a part is so for each answer to this caller, whatever nodes there are.
	shown := at(header.GetRevision())
	shown.Filtered = header.GetFiltered() || list.Header().GetFiltered()
	from := instances.Reader{Client: c.nodes, Consistency: r.consistency}
	return shown, from.On(ctx, on, slices.Sorted(maps.Keys(all)), func(s *tenurev1.Service) {
		out[s.GetName()] = append([]string{}, union(out[s.GetName()], s.GetTags())...) // Without tags it is not null.
	})
}

// nodesWith returns the nodes that have the facts that a request wants, of those that the caller may read; nil: it wants none.
func nodesWith(ctx context.Context, c *catalog, r read) (on instances.Nodes, _ *tenurev1.ResponseHeader, _ error) {
	wants, fits := metaOf(r.request)
	if !wants {
		return nil, nil, nil
	}
	nodes, err := c.nodePages(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	on = instances.Nodes{}
	return on, nodes.Header(), nodes.Each(ctx, func(n *tenurev1.Node) error {
		if fits(n) {
			on[strings.ToLower(n.GetName())] = true
		}
		return nil
	})
}
