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

// nearNode returns the node to which a request wants others to be near; nil if it wants none. Of one that is not registered only the name is known, and
// one that no node can be has none. Errors may name the node that answers, so it is for those who may read what they ask for.
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
	found, err := c.entries.GetNode(ctx, &tenurev1.GetNodeRequest{Node: near, Read: ask.ReadOptions(ask.Stale)})
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return &tenurev1.Node{Name: near}, nil
	case tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT:
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
		s, err := c.stateAt(ctx, r, waited, nodes.Revision())
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

// nodePages reads all nodes.
func (c *catalog) nodePages(ctx context.Context, r read) (*reply.Pages[*tenurev1.Node], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.Node], error) {
		list, err := c.nodes.ListNodes(ctx, &tenurev1.ListNodesRequest{PageToken: token, Read: ask.ReadOptions(r.consistency)})
		return reply.Page[*tenurev1.Node]{Items: list.GetNodes(), Token: list.GetNextPageToken(), Revision: list.GetHeader().GetRevision()}, err
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
		var revision uint64
		var err error
		if wantsMeta {
			revision, err = c.servicesOnNodes(ctx, q, r, out)
		} else {
			revision, err = c.servicesEverywhere(ctx, r, out)
		}
		if err != nil {
			return nil, err
		}
		s, err := c.stateAt(ctx, r, waited, revision)
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{JSON: out}).Of(s), nil
	})
}

// servicesEverywhere adds the names of all services, with their tags.
func (c *catalog) servicesEverywhere(ctx context.Context, r read, out map[string][]string) (revision uint64, _ error) {
	list, err := reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.ServiceSummary], error) {
		list, err := c.nodes.ListServices(ctx, &tenurev1.ListServicesRequest{PageToken: token, Read: ask.ReadOptions(r.consistency)})
		return reply.Page[*tenurev1.ServiceSummary]{Items: list.GetServices(), Token: list.GetNextPageToken(), Revision: list.GetHeader().GetRevision()}, err
	})
	if err != nil {
		return 0, err
	}
	return list.Revision(), list.Each(ctx, func(s *tenurev1.ServiceSummary) error {
		out[s.GetName()] = append([]string{}, s.GetTags()...)
		return nil
	})
}

// servicesOnNodes adds the names of the services on some nodes, with their tags.
func (c *catalog) servicesOnNodes(ctx context.Context, q *request, r read, out map[string][]string) (revision uint64, _ error) {
	on, revision, err := nodesWith(ctx, c, q, r)
	if err != nil {
		return 0, err
	}
	all := map[string][]string{}
	if len(on) > instances.AloneMax {
		if _, err = c.servicesEverywhere(ctx, r, all); err != nil {
			return 0, err
		}
	}
	from := instances.Reader{Client: c.nodes, Consistency: r.consistency}
	return revision, from.On(ctx, on, slices.Sorted(maps.Keys(all)), func(s *tenurev1.Service) {
		out[s.GetName()] = append([]string{}, union(out[s.GetName()], s.GetTags())...) // Without tags it is not null.
	})
}

// nodesWith returns the nodes that have the facts that a request wants; nil: it wants none.
func nodesWith(ctx context.Context, c *catalog, q *request, r read) (on instances.Nodes, revision uint64, _ error) {
	wants, fits := metaOf(q)
	if !wants {
		return nil, 0, nil
	}
	nodes, err := c.nodePages(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	on = instances.Nodes{}
	return on, nodes.Revision(), nodes.Each(ctx, func(n *tenurev1.Node) error {
		if fits(n) {
			on[strings.ToLower(n.GetName())] = true
		}
		return nil
	})
}
