package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

const (
	// tagsShown is how many tags of a service a list of services names.
	tagsShown = 1024
	// tagsRead is how many instances of a service a list of services reads to learn their tags.
	tagsRead = 4096
	// checksBytesMax is how many bytes the checks of a node may have that come with its instances; beyond it, they come without
	// their texts, so that an instance with all of them stays below the 4 MiB that clients take in one message.
	checksBytesMax = 512 << 10
)

// list is one page of a listing.
type list struct {
	*call.Snapshot
	pages                call.Pages
	after                string
	itemsMax             int
	items, bytes, looked int
	next                 string // of the page
	ended                bool   // the page has, before an item
	failed               error  // why it has no token, then
	// over returns why the call has ended that the list is for.
	over func() error
	// nodeSpans are which nodes the caller sees, once they are known: to find them costs as much as the caller has rules.
	nodeSpans  []authz.Span
	nodesKnown bool
}

// listed is a request for a page of a listing.
type listed interface {
	GetRead() *tenurev1.ReadOptions
	GetPageToken() string
	GetVisibleOnly() bool
}

// begin opens a snapshot for a page of a listing, of so many items.
func (a *Service) begin(ctx context.Context, r listed, size uint32, q call.PageQuery) (*list, error) {
	items, err := call.PageSize(size)
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	l := &list{Snapshot: s, itemsMax: items, over: ctx.Err}
	if l.pages, l.after, err = s.Pages(q, r); err == nil {
		err = unread.Begin(ctx)
	}
	if err != nil {
		a.CloseSnapshot(s)
		return nil, err
	}
	return l, nil
}

// full reports whether the page ends before the next item; if so, the page has a token. last is where the item before it is.
func (l *list) full(last string) bool {
	if l.items < l.itemsMax && l.bytes < call.PageBytesMax && l.looked < call.ScannedItemsMax {
		l.looked++
		return false
	}
	l.stop(last)
	return true
}

// spent reports whether the page ends before what the caller does not see; if so, the page has a token. Only that it has looked at enough ends it there: a page
// that is full goes on to the next item that the caller sees, as a token would tell that there is something that it does not.
func (l *list) spent(last string) bool {
	if l.looked < call.ScannedItemsMax {
		l.looked++
		return false
	}
	l.stop(last)
	return true
}

// stop ends the page behind an item.
func (l *list) stop(last string) {
	l.ended = true
	l.next, l.failed = l.pages.Token(last)
}

// end returns the token of the next page, unless the list has failed.
func (l *list) end(err error) (next string, failed error) {
	if err == nil {
		err = l.failed
	}
	return l.next, err
}

// ends reports whether the page ends before an item, which the caller sees or not.
func (l *list) ends(last string, seen bool) bool {
	if !seen {
		return l.spent(last)
	}
	return l.full(last)
}

// add counts an item.
func (l *list) add(m proto.Message) {
	l.items++
	l.bytes += proto.Size(m)
}

// placeText is where an entry stands, as a page token holds it. No part has a zero byte.
func placeText(at storage.EntryAt) string {
	return strings.Join([]string{at.Service, at.Node, at.ID}, "\x00")
}

// placeOf undoes placeText; an empty text is the beginning.
func placeOf(text string) storage.EntryAt {
	parts := append(strings.SplitN(text, "\x00", 3), "", "", "")
	return storage.EntryAt{Service: parts[0], Node: parts[1], ID: parts[2]}
}

// GetNode serves CatalogService.
func (a *Service) GetNode(ctx context.Context, r *tenurev1.GetNodeRequest) (*tenurev1.GetNodeResponse, error) {
	if err := field(catalog.CheckNodeName("node", r.GetNode())); err != nil {
		return nil, err
	}
	key := catalog.NodeKey(r.GetNode())
	l, err := a.begin(ctx, r, 0, call.PageQuery{List: "node", Filters: []string{key}})
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(l.Snapshot)
	node, found, err := l.Node(r.GetNode())
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "node %q is not registered", r.GetNode()).
			With("revision", strconv.FormatUint(l.At.Revision, 10))
	}
	out := &tenurev1.GetNodeResponse{Header: a.Header(l.At), Node: nodeEntry(node)}
	kind, after := "services", storage.EntryAt{}
	if l.after != "" {
		at := placeOf(l.after)
		kind, after = at.Service, storage.EntryAt{Node: at.Node, ID: at.ID}
	}
	last := storage.EntryAt{Service: kind, Node: after.Node, ID: after.ID}
	if kind == "services" {
		err = l.Services(key, after, func(at storage.EntryAt, s *storev1.ServiceRecord) (bool, error) {
			seen := l.seesService(s.GetService().GetName())
			if l.ends(placeText(last), seen) {
				return false, nil
			}
			last = storage.EntryAt{Service: kind, Node: at.Node, ID: at.ID}
			if seen {
				out.Services = append(out.Services, ServiceToProto(s))
				l.add(out.GetServices()[len(out.GetServices())-1])
			}
			return true, nil
		})
		after, last = storage.EntryAt{}, storage.EntryAt{Service: "checks", Node: key}
	}
	if err == nil && !l.ended {
		err = l.Checks(key, after, func(at storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
			seen := l.seesService(k.GetServiceName())
			if l.ends(placeText(last), seen) {
				return false, nil
			}
			last = storage.EntryAt{Service: "checks", Node: at.Node, ID: at.ID}
			if seen {
				out.Checks = append(out.Checks, CheckToProto(k))
				l.add(out.GetChecks()[len(out.GetChecks())-1])
			}
			return true, nil
		})
	}
	out.NextPageToken, err = l.end(err)
	return out, err
}

// ListNodes serves CatalogService.
func (a *Service) ListNodes(ctx context.Context, r *tenurev1.ListNodesRequest) (*tenurev1.ListNodesResponse, error) {
	q := call.PageQuery{List: "nodes", Filters: []string{catalog.NodeKey(r.GetNamePrefix()), r.GetZone()}}
	l, err := a.begin(ctx, r, r.GetPageSize(), q)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(l.Snapshot)
	out := &tenurev1.ListNodesResponse{Header: a.Header(l.At)}
	last := l.after
	err = l.nodesSeen(r.GetNamePrefix(), l.after, func(n storage.NodeEntry) (bool, error) {
		if l.full(last) {
			return false, nil
		}
		last = n.Key
		if r.GetZone() == "" || n.Record.GetNode().GetZone() == r.GetZone() {
			out.Nodes = append(out.Nodes, nodeEntry(n))
			l.add(out.GetNodes()[len(out.GetNodes())-1])
		}
		return true, nil
	})
	out.NextPageToken, err = l.end(err)
	return out, err
}

// ListServices serves CatalogService.
func (a *Service) ListServices(ctx context.Context, r *tenurev1.ListServicesRequest) (*tenurev1.ListServicesResponse, error) {
	q := call.PageQuery{List: "services", Filters: []string{r.GetNamePrefix()}}
	l, err := a.begin(ctx, r, r.GetPageSize(), q)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(l.Snapshot)
	sums := &summaries{list: l, tags: map[string]bool{}, last: l.after}
	err = l.each(l.services(r.GetNamePrefix()), l.after, func(span authz.Span) error {
		return l.instancesSeen(span, storage.EntryAt{Service: l.after}, sums.visit)
	})
	sums.end()
	out := &tenurev1.ListServicesResponse{Header: a.Header(l.At), Services: sums.all}
	out.NextPageToken, err = l.end(err)
	return out, err
}

// summaries are a page of a list of services.
type summaries struct {
	*list

	all []*tenurev1.ServiceSummary
	// summary is that of the service that is looked at, and tags are its; nil: none of its instances was seen yet.
	summary *tenurev1.ServiceSummary
	tags    map[string]bool
	// last is the service before the one that is looked at, whose name is name once one has begun.
	last, name string
	begun      bool
}

// end ends the summary of a service.
func (s *summaries) end() {
	if s.summary == nil {
		return
	}
	for tag := range s.tags {
		s.summary.Tags = append(s.summary.Tags, tag)
	}
	slices.Sort(s.summary.GetTags())
	s.summary.Tags = s.summary.GetTags()[:min(len(s.summary.GetTags()), tagsShown)]
	s.all = append(s.all, s.summary)
	s.add(s.summary)
	s.summary = nil
	clear(s.tags)
}

// visit counts an instance, whose node the caller sees or not.
func (s *summaries) visit(at storage.EntryAt, seen bool) (bool, error) {
	if s.name != at.Service || !s.begun {
		s.end()
		if s.begun {
			s.last = s.name
		}
		if s.Sight != nil && s.spent(s.last) {
			return false, nil
		}
		s.name, s.begun = at.Service, true
	}
	if seen && s.summary == nil {
		if s.full(s.last) {
			return false, nil
		}
		s.summary = &tenurev1.ServiceSummary{Name: at.Service}
	}
	s.looked++
	if !seen {
		return true, nil
	}
	if s.summary.Instances++; s.summary.GetInstances() > tagsRead {
		return true, nil
	}
	s.looked++
	instance, _, err := s.Service(at.Node, at.ID)
	for _, tag := range instance.GetService().GetTags() {
		s.tags[tag] = true
	}
	return true, err
}

// ListInstances serves CatalogService.
func (a *Service) ListInstances(ctx context.Context, r *tenurev1.ListInstancesRequest) (*tenurev1.ListInstancesResponse, error) {
	if r.GetService() == "" && r.GetNode() == "" {
		return nil, reason.Invalid("service", "is required, unless node is given")
	}
	passing := "any"
	if r.GetPassing() {
		passing = "passing"
	}
	q := call.PageQuery{List: "instances", Filters: []string{
		r.GetService(), catalog.NodeKey(r.GetNode()), passing, r.GetTag(), r.GetZone(),
	}}
	l, err := a.begin(ctx, r, r.GetPageSize(), q)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(l.Snapshot)
	out := &tenurev1.ListInstancesResponse{Header: a.Header(l.At)}
	last := l.after
	health := Health{Snapshot: l.Snapshot}
	visit := func(at storage.EntryAt) (bool, error) {
		if l.full(last) {
			return false, nil
		}
		last = placeText(at)
		if r.GetNode() != "" && at.Node != catalog.NodeKey(r.GetNode()) {
			return true, nil
		}
		i, failed := health.Instance(at)
		l.looked += health.Checked()
		if failed != nil || i == nil || !instancePasses(i, r) {
			return failed == nil, failed
		}
		out.Instances = append(out.Instances, i)
		l.add(i)
		return true, nil
	}
	if r.GetService() != "" {
		service := authz.Span{Text: r.GetService(), Exact: true}
		err = l.instancesSeen(service, placeOf(l.after), func(at storage.EntryAt, seen bool) (bool, error) {
			if !seen {
				return true, nil
			}
			return visit(at)
		})
	} else {
		at := placeOf(l.after)
		err = l.Services(r.GetNode(), storage.EntryAt{Node: at.Node, ID: at.ID}, func(at storage.EntryAt, s *storev1.ServiceRecord) (bool, error) {
			if at.Service = s.GetService().GetName(); l.seesService(at.Service) {
				return visit(at)
			}
			ends := l.spent(last)
			last = placeText(at)
			return !ends, nil
		})
	}
	out.NextPageToken, err = l.end(err)
	return out, err
}

// instancePasses reports whether an instance passes all filters.
func instancePasses(i *tenurev1.ServiceInstance, r *tenurev1.ListInstancesRequest) bool {
	switch {
	case r.GetPassing() && i.GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_PASSING:
		return false
	case r.GetTag() != "" && !slices.Contains(i.GetService().GetTags(), r.GetTag()):
		return false
	case r.GetZone() != "" && i.GetNode().GetZone() != r.GetZone():
		return false
	default:
		return true
	}
}

// Health finds how instances are. It remembers the last node, because instances of a node come together.
type Health struct {
	// Snapshot is where it looks.
	Snapshot *call.Snapshot
	key      string
	node     *tenurev1.Node
	checks   []*tenurev1.Check
	checked  int
}

// Checked returns how many checks were read since it was called last.
func (h *Health) Checked() int {
	n := h.checked
	h.checked = 0
	return n
}

// Instance returns an instance with its node and checks; nil if it is not there.
func (h *Health) Instance(at storage.EntryAt) (*tenurev1.ServiceInstance, error) {
	s, found, err := h.Snapshot.Service(at.Node, at.ID)
	if err != nil || !found {
		return nil, err
	}
	if h.key != at.Node {
		if err = h.load(at.Node); err != nil {
			return nil, err
		}
	}
	i := &tenurev1.ServiceInstance{Service: ServiceToProto(s), Node: h.node, Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING}
	for _, k := range h.checks {
		if k.GetServiceId() == "" || k.GetServiceId() == at.ID {
			i.Checks = append(i.Checks, k)
			i.Status = max(i.GetStatus(), k.GetStatus()) // They are numbered from good to bad.
		}
	}
	return i, nil
}

// load reads a node and its checks.
func (h *Health) load(key string) error {
	n, _, err := h.Snapshot.Node(key)
	if err != nil {
		return err
	}
	h.key, h.node, h.checks = key, nodeEntry(n), nil
	bytes, texts := 0, true
	return h.Snapshot.Checks(key, storage.EntryAt{}, func(_ storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
		h.checked++
		check := CheckToProto(k)
		h.checks = append(h.checks, check)
		if bytes += proto.Size(check); texts && bytes > checksBytesMax {
			texts = false
			for _, c := range h.checks {
				withoutTexts(c)
			}
		}
		if !texts {
			withoutTexts(check)
		}
		return true, nil
	})
}

// withoutTexts removes what a check has for people.
func withoutTexts(k *tenurev1.Check) { k.Output, k.Notes, k.Definition = "", "", nil }

// ListChecks serves CatalogService.
func (a *Service) ListChecks(ctx context.Context, r *tenurev1.ListChecksRequest) (*tenurev1.ListChecksResponse, error) {
	if _, err := statusFromProto("status", r.GetStatus()); err != nil {
		return nil, err
	}
	q := call.PageQuery{List: "checks", Filters: []string{r.GetStatus().String(), catalog.NodeKey(r.GetNode()), r.GetService()}}
	l, err := a.begin(ctx, r, r.GetPageSize(), q)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(l.Snapshot)
	out := &tenurev1.ListChecksResponse{Header: a.Header(l.At)}
	last := l.after
	visit := func(at storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
		seen := l.seesService(k.GetServiceName())
		if l.ends(last, seen) {
			return false, nil
		}
		last = placeText(at)
		switch {
		case r.GetStatus() != 0 && k.GetCheck().GetStatus() != storev1.CheckStatus(r.GetStatus()):
		case r.GetService() != "" && k.GetServiceName() != r.GetService():
		case !seen:
		default:
			out.Checks = append(out.Checks, CheckToProto(k))
			l.add(out.GetChecks()[len(out.GetChecks())-1])
		}
		return true, nil
	}
	if l.Sight == nil || r.GetNode() != "" {
		err = l.Checks(r.GetNode(), placeOf(l.after), visit)
	} else {
		err = l.checksSeen(placeOf(l.after), visit)
	}
	out.NextPageToken, err = l.end(err)
	return out, err
}
