package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
	bounds "github.com/tenure-io/tenure/storage/catalog"
)

const (
	// callerNode is the node near which instances are preferred that stands for that of the caller.
	callerNode = "_agent"
	// checkedMax is how many checks one run reads before it looks at no further instance.
	checkedMax = 100_000
)

// ExplainQuery serves QueryService.
func (a *Service) ExplainQuery(ctx context.Context, r *tenurev1.ExplainQueryRequest) (*tenurev1.ExplainQueryResponse, error) {
	if err := checkIDOrName(r.GetIdOrName()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	q, err := runBy(s, r.GetIdOrName())
	if err != nil {
		return nil, err
	}
	return &tenurev1.ExplainQueryResponse{Header: a.Header(s.At), Query: ToProto(q)}, nil
}

// runBy returns the query that an id or a name runs, with its texts filled in. One that is run by its id is run by its own name.
func runBy(s *call.Snapshot, idOrName string) (storage.QueryEntry, error) {
	q, err := find(s, idOrName, s.QueryFor)
	if err != nil {
		return q, err
	}
	name := idOrName
	if _, failed := storage.ParseSessionID(idOrName); failed == nil {
		name = q.Record.GetQuery().GetName()
	}
	full, err := filled(q.Record.GetQuery(), name)
	q.Record = &storev1.QueryRecord{Query: full, CreateRevision: q.Record.GetCreateRevision(), ModRevision: q.Record.GetModRevision()}
	return q, err
}

// ExecuteQuery serves QueryService.
func (a *Service) ExecuteQuery(ctx context.Context, r *tenurev1.ExecuteQueryRequest) (*tenurev1.ExecuteQueryResponse, error) {
	if err := checkIDOrName(r.GetIdOrName()); err != nil {
		return nil, err
	}
	if err := call.CheckText("near", r.GetNear(), bounds.NearBytesMax); err != nil {
		return nil, err
	}
	if err := call.CheckText("caller_node", r.GetCallerNode(), bounds.NearBytesMax); err != nil {
		return nil, err
	}
	if r.GetLimit() > call.PageItemsMax {
		return nil, reason.Invalid("limit", "is %d; at most %d is allowed", r.GetLimit(), call.PageItemsMax)
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	q, err := runBy(s, r.GetIdOrName())
	if err == nil {
		err = unread.Begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	run := &run{snapshot: s, shuffle: a.shuffle, query: q.Record.GetQuery(), health: catalog.Health{Snapshot: s}}
	run.sees = a.SeesInstances(ctx)
	run.passing = r.GetPassing() || run.query.GetOnlyPassing()
	if err = run.locate(r); err != nil {
		return nil, err
	}
	out := &tenurev1.ExecuteQueryResponse{Header: a.Header(s.At), QueryId: q.ID.String(), Meta: catalog.Texts(run.query.GetMeta())}
	limit := call.PageItemsMax
	if r.GetLimit() > 0 {
		limit = int(r.GetLimit())
	}
	for number, place := range run.places() {
		found, failed := run.search(ctx, place)
		if failed != nil {
			return nil, failed
		}
		out.Service, out.Fallback = place.service, uint32(number)
		out.Header.Hidden = run.hidden
		if len(found) == 0 {
			continue
		}
		out.Instances, err = run.load(found[:min(len(found), limit)])
		return out, err
	}
	return out, nil
}

// run is one run of a query.
type run struct {
	snapshot *call.Snapshot
	shuffle  func(n int, swap func(i, j int))
	query    *storev1.Query
	passing  bool
	health   catalog.Health
	checked  int
	// sees reports whether the caller may see an instance; nil: it may see all. The limit counts only what it may see.
	sees   func(*tenurev1.ServiceInstance) bool
	hidden uint32 // how many were left out because of that
	// near is the node near which instances are preferred, in lower case, and zone its zone; empty: none is.
	near, zone string
}

// place is where a query looks.
type place struct {
	service string
	tags    []string
	zone    string
}

// candidate is an instance that was found, and how far away it is.
type candidate struct {
	at       storage.EntryAt
	distance int
}

// locate finds the node near which instances are preferred.
func (u *run) locate(r *tenurev1.ExecuteQueryRequest) error {
	near := r.GetNear()
	if near == "" {
		near = u.query.GetNear()
	}
	if near == callerNode {
		near = r.GetCallerNode()
	}
	n, found, err := u.snapshot.Node(near)
	if found {
		u.near, u.zone = n.Key, n.Record.GetNode().GetZone()
	}
	return err
}

// places returns where to look, in order: the query itself, then its fallbacks.
func (u *run) places() []place {
	all := []place{{service: u.query.GetService(), tags: u.query.GetTags()}}
	for _, f := range u.query.GetFallbacks() {
		p := place{service: f.GetService(), tags: f.GetTags(), zone: f.GetZone()}
		if p.service == "" {
			p.service = u.query.GetService()
		}
		all = append(all, p)
	}
	return all
}

// search returns the instances of a place, nearest first, in random order within each distance.
func (u *run) search(ctx context.Context, p place) ([]candidate, error) {
	var found []candidate
	looked := 0
	err := u.snapshot.Instances(p.service, false, storage.EntryAt{}, func(at storage.EntryAt) (bool, error) {
		if looked++; looked > call.ScannedItemsMax || u.checked > checkedMax {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("run a query: %w", err)
		}
		i, err := u.health.Instance(at)
		u.checked += u.health.Checked()
		if err == nil && i != nil && u.selects(p, i) && u.shows(i) {
			found = append(found, candidate{at: at, distance: u.distance(at.Node, i.GetNode().GetZone())})
		}
		return err == nil, err
	})
	u.shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	slices.SortStableFunc(found, func(x, y candidate) int { return x.distance - y.distance })
	return found, err
}

// shows reports whether the caller may see an instance, and counts what it may not see.
func (u *run) shows(i *tenurev1.ServiceInstance) bool {
	if u.sees == nil || u.sees(i) {
		return true
	}
	u.hidden++
	return false
}

// distance returns how far a node is from the one near which instances are preferred.
func (u *run) distance(node, zone string) int {
	const same, sameZone, elsewhere = 0, 1, 2
	switch {
	case node == u.near:
		return same
	case u.zone != "" && zone == u.zone:
		return sameZone
	default:
		return elsewhere
	}
}

// selects reports whether an instance is one that the query asks for.
func (u *run) selects(p place, i *tenurev1.ServiceInstance) bool {
	for _, k := range i.GetChecks() {
		bad := k.GetStatus() == tenurev1.CheckStatus_CHECK_STATUS_CRITICAL ||
			u.passing && k.GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_PASSING
		if bad && !slices.Contains(u.query.GetIgnoreChecks(), k.GetCheckId()) {
			return false
		}
	}
	for _, tag := range p.tags {
		wanted, negated := strings.CutPrefix(tag, "!")
		if hasTag(i.GetService().GetTags(), wanted) == negated {
			return false
		}
	}
	return (p.zone == "" || i.GetNode().GetZone() == p.zone) &&
		hasAll(i.GetNode().GetMeta(), u.query.GetNodeMeta()) && hasAll(i.GetService().GetMeta(), u.query.GetServiceMeta())
}

// hasTag reports whether a tag is there, in any case: as in Consul, a query that excludes canaries excludes one tagged Canary.
func hasTag(tags []string, wanted string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return strings.EqualFold(tag, wanted) })
}

// hasAll reports whether facts have all that is wanted of them.
func hasAll(facts map[string]string, wanted []*storev1.MetadataEntry) bool {
	for _, w := range wanted {
		if value, there := facts[w.GetName()]; !there || value != w.GetValue() {
			return false
		}
	}
	return true
}

// load returns instances that were found, as many as one answer may have.
func (u *run) load(found []candidate) ([]*tenurev1.ServiceInstance, error) {
	var out []*tenurev1.ServiceInstance
	bytes := 0
	for _, c := range found {
		if bytes >= call.PageBytesMax {
			break
		}
		i, err := u.health.Instance(c.at)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
		bytes += proto.Size(i)
	}
	return out, nil
}
