package consulhttp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/instances"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watchedNodesMax is how many nodes of a service a wait names; with more, it looks at the events of all nodes.
const watchedNodesMax = 128

// stateAny selects checks in any state.
const stateAny = "any"

// ofInstances selects the events of some kinds of the service that a request names, and those of the nodes that ofNodesWith selects. From cluster
// version 3 on, the events of a service include those of the nodes on which it runs.
func (c *catalog) ofInstances(q *request, consistency string, counted kinds) selection {
	return selection{
		request: &tenurev1.WatchRequest{Services: []string{q.Rest}}, counts: events(counted | ofNode),
		counted: "instances " + strconv.Itoa(int(counted)) + " near " + strconv.Quote(q.Text("near")),
		also:    func(ctx context.Context) (selection, error) { return c.ofNodesWith(ctx, q, consistency) },
	}
}

// ofNodesWith selects the events of the nodes on which the service that a request names runs, which are shown with it or select and order what is
// shown, and of the node to which the request wants them to be near.
func (c *catalog) ofNodesWith(ctx context.Context, q *request, consistency string) (selection, error) {
	list, err := c.instancePages(ctx, q.Rest, consistency)
	if err != nil {
		return selection{}, err
	}
	nodes := map[string]bool{}
	err = list.Each(ctx, func(i *tenurev1.ServiceInstance) error {
		nodes[strings.ToLower(i.GetNode().GetName())] = true
		return nil
	})
	if err != nil || len(nodes) == 0 {
		return selection{}, err
	}
	near, err := c.nearNode(ctx, q)
	if err != nil {
		return selection{}, err
	}
	if near.GetName() != "" {
		nodes[strings.ToLower(near.GetName())] = true
	}
	request := &tenurev1.WatchRequest{AllNodes: len(nodes) > watchedNodesMax}
	for name := range nodes {
		if !request.GetAllNodes() {
			request.Nodes = append(request.Nodes, name)
		}
	}
	return selection{request: request, counts: func(_ context.Context, e *tenurev1.Event) (bool, error) {
		return e.GetNode() != nil && nodes[strings.ToLower(e.GetNode().GetName())], nil
	}}, nil
}

// instancePages reads the instances of a service that the caller may read.
func (c *catalog) instancePages(ctx context.Context, service, consistency string) (*reply.Pages[*tenurev1.ServiceInstance], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.ServiceInstance], error) {
		list, err := c.nodes.ListInstances(ctx, &tenurev1.ListInstancesRequest{
			Service: service, PageToken: token, Read: ask.ReadOptions(consistency), VisibleOnly: true,
		})
		return reply.Page[*tenurev1.ServiceInstance]{Items: list.GetInstances(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// fitsInstance returns whether an instance has the tags and its node the facts that a request wants.
func fitsInstance(q *request) func(*tenurev1.ServiceInstance) bool {
	_, fits := metaOf(q)
	return func(i *tenurev1.ServiceInstance) bool {
		for _, want := range q.Query["tag"] {
			if want != "" && !slices.ContainsFunc(i.GetService().GetTags(), func(tag string) bool { return strings.EqualFold(tag, want) }) {
				return false
			}
		}
		return fits(i.GetNode())
	}
}

// instancesRead answers a read of the instances of a service, for whose events it waits. shown returns what an instance is shown as: any number of
// elements.
func (c *catalog) instancesRead(
	ctx context.Context, q *request, waits func(consistency string) selection, fits func(*tenurev1.ServiceInstance) bool,
	shown func(*tenurev1.ServiceInstance) []any,
) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing service name")
	}
	if !utf8.ValidString(q.Rest) {
		return nil, reply.Refusal(http.StatusBadRequest, "The service name is not valid UTF-8.")
	}
	r, err := q.nearRead()
	if err != nil {
		return nil, err
	}
	r.selection = waits(r.consistency)
	return c.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		list, err := c.instancePages(ctx, q.Rest, r.consistency)
		if err != nil {
			return nil, err
		}
		ranks, rank, err := c.rankOf(ctx, q)
		if err != nil {
			return nil, err
		}
		s, err := c.stateAt(ctx, r, waited, list.Header())
		if err != nil {
			return nil, err
		}
		rankOf := func(i *tenurev1.ServiceInstance) int { return rank(i.GetNode()) }
		return (&reply.Answer{Long: list.Long(), Stream: list.Array(ctx, ranks, rankOf, func(i *tenurev1.ServiceInstance) ([]any, error) {
			if !fits(i) {
				return nil, nil
			}
			return shown(i), nil
		})}).Of(s), nil
	})
}

// service serves GET /v1/catalog/service/SERVICE.
func (c *catalog) service(ctx context.Context, q *request) (*reply.Answer, error) {
	waits := func(consistency string) selection { return c.ofInstances(q, consistency, ofService) }
	return c.instancesRead(ctx, q, waits, fitsInstance(q), func(i *tenurev1.ServiceInstance) []any {
		return []any{wire.CatalogServiceOf(i, c.options.Datacenter)}
	})
}

// healthOfService serves GET /v1/health/service/SERVICE.
func (c *catalog) healthOfService(ctx context.Context, q *request) (*reply.Answer, error) {
	passing := q.Has("passing") && q.Text("passing") != "0" && q.Text("passing") != "false"
	waits := func(consistency string) selection { return c.ofInstances(q, consistency, ofService|ofCheck) }
	return c.instancesRead(ctx, q, waits, fitsInstance(q), func(i *tenurev1.ServiceInstance) []any {
		if passing && i.GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_PASSING {
			return nil
		}
		return []any{wire.HealthOf(i, c.options.Datacenter)}
	})
}

// checksOfService serves GET /v1/health/checks/SERVICE. Checks of nodes count for the service, too, but are not shown. Tags do not select.
func (c *catalog) checksOfService(ctx context.Context, q *request) (*reply.Answer, error) {
	wantsMeta, fits := metaOf(q)
	others := ofService // Checks are shown with the tags of their service.
	if wantsMeta || q.Text("near") != "" {
		others |= ofNode
	}
	waits := func(consistency string) selection {
		s := c.ofInstances(q, consistency, others)
		s.counts, s.counted = checksOrKinds(others), "checks of "+s.counted
		if others&ofNode == 0 {
			s.also = nil
		}
		return s
	}
	return c.instancesRead(ctx, q, waits, func(i *tenurev1.ServiceInstance) bool { return fits(i.GetNode()) }, func(i *tenurev1.ServiceInstance) []any {
		var checks []any
		for _, k := range i.GetChecks() {
			if k.GetServiceId() != "" {
				checks = append(checks, wire.CheckOf(k, i.GetService().GetTags()))
			}
		}
		return checks
	})
}

// checksOrKinds counts the events of checks that are or may have been of a service, not of its node, and the events of other kinds.
func checksOrKinds(others kinds) func(context.Context, *tenurev1.Event) (bool, error) {
	return func(_ context.Context, e *tenurev1.Event) (bool, error) {
		k := e.GetCheck()
		if k == nil {
			return kindOf(e)&others != 0, nil
		}
		return k.GetServiceId() != "" || e.GetType() == tenurev1.EventType_EVENT_TYPE_CHECK_PUT, nil
	}
}

// checksInState serves GET /v1/health/state/STATE.
func (c *catalog) checksInState(ctx context.Context, q *request) (*reply.Answer, error) {
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	var status tenurev1.CheckStatus
	if q.Rest != stateAny {
		if status, err = wire.Status(q.Rest); err != nil || q.Rest == "" {
			return nil, reply.Refusal(http.StatusBadRequest, "The state must be any, passing, warning or critical.")
		}
	}
	wantsMeta, _ := metaOf(q)
	others := ofService // Checks are shown with the tags of their service.
	if wantsMeta {
		others |= ofNode
	}
	r.selection = selection{
		request: &tenurev1.WatchRequest{AllNodes: true}, counts: inState(status, others),
		counted: "state " + status.String() + " and " + counting(others),
	}
	return c.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		list, err := c.checkPages(ctx, status, r.consistency)
		if err != nil {
			return nil, err
		}
		s, err := c.stateAt(ctx, r, waited, list.Header())
		if err != nil {
			return nil, err
		}
		on, _, err := nodesWith(ctx, c, r)
		if err != nil {
			return nil, err
		}
		tags := instances.NewTags(instances.Reader{Client: c.nodes, Consistency: r.consistency})
		err = list.Ahead(ctx, func(ctx context.Context, checks []*tenurev1.Check) ([]*tenurev1.Check, error) {
			checks = slices.DeleteFunc(checks, func(k *tenurev1.Check) bool { return !on.Has(k.GetNode()) })
			return checks, tags.Learn(ctx, checks)
		})
		if err != nil {
			return nil, err
		}
		return (&reply.Answer{Long: list.Long(), Stream: list.Array(ctx, 1, func(*tenurev1.Check) int { return 0 }, func(k *tenurev1.Check) ([]any, error) {
			return []any{wire.CheckOf(k, tags.Of(k))}, nil
		})}).Of(s), nil
	})
}

// checkPages reads the checks with a status that the caller may read; unspecified is any.
func (c *catalog) checkPages(ctx context.Context, status tenurev1.CheckStatus, consistency string) (*reply.Pages[*tenurev1.Check], error) {
	return reply.NewPages(ctx, func(ctx context.Context, token string) (reply.Page[*tenurev1.Check], error) {
		list, err := c.nodes.ListChecks(ctx, &tenurev1.ListChecksRequest{
			Status: status, PageToken: token, Read: ask.ReadOptions(consistency), VisibleOnly: true,
		})
		return reply.Page[*tenurev1.Check]{Items: list.GetChecks(), Token: list.GetNextPageToken(), Header: list.GetHeader()}, err
	})
}

// inState counts the events of checks that are or may have been in a state, where unspecified is any, and all events of other kinds.
func inState(status tenurev1.CheckStatus, others kinds) func(context.Context, *tenurev1.Event) (bool, error) {
	return func(_ context.Context, e *tenurev1.Event) (bool, error) {
		k := e.GetCheck()
		if k == nil {
			return kindOf(e)&others != 0, nil
		}
		return status == 0 || e.GetType() != tenurev1.EventType_EVENT_TYPE_CHECK_STATUS ||
			k.GetStatus() == status || e.GetPreviousStatus() == status, nil
	}
}
