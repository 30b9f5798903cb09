package tenure

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Catalog is a part of the catalog of nodes, services and checks, and of the prepared queries.
type Catalog struct {
	Nodes    []*tenurev1.Node
	Services []*tenurev1.Service
	Checks   []*tenurev1.Check
	Queries  []*tenurev1.Query
}

// ServiceList is the instances that pass, of some services, kept up to date by a watch. Reading it makes no call. The
// instances of a service are those of one revision; of more than 1 000, or about 1 MiB, some may for a moment be older than
// others if the service changes while they are read. While no member can be reached it still returns what it has.
// Its methods can be called concurrently. Do not change what they return, because other callers get the same.
type ServiceList struct {
	client *Client
	names  []string
	work   group
	feed   *watcher                   // Read by what feeds the list only, as what follows.
	pauses backoff.Backoff            // Between beginnings.
	shown  map[string]uint64          // The revision from which on each service may have changed since it was read.
	nodes  map[string]map[string]bool // Where instances of each service are, in lower case.

	filled chan struct{}
	ended  chan struct{}

	mu      sync.Mutex // Guards what follows.
	passing map[string][]Instance
	changed chan struct{} // Closed and replaced with each change.
	err     error
}

// OpenServiceList returns the instances that pass, of 1 to 128 services, once they are known.
func (c *Client) OpenServiceList(ctx context.Context, services ...string) (*ServiceList, error) {
	if len(services) == 0 {
		return nil, invalid("no service is named")
	}
	names := slices.Compact(slices.Sorted(slices.Values(services)))
	l := &ServiceList{
		client: c, names: names, nodes: map[string]map[string]bool{}, passing: map[string][]Instance{},
		filled: make(chan struct{}), ended: make(chan struct{}), changed: make(chan struct{}),
	}
	l.feed = &watcher{client: c, request: &tenurev1.WatchRequest{Services: names}}
	l.work.start(l.run)
	if !c.streams.start(func(closing context.Context) {
		select {
		case <-closing.Done():
			l.stop(errClientClosed())
		case <-l.ended:
		}
	}) {
		l.Close()
		return nil, errClientClosed()
	}
	select {
	case <-l.filled:
		return l, nil
	case <-l.ended:
		return nil, l.Err()
	case <-ctx.Done():
		l.Close()
		return nil, interrupted(ctx, false, nil)
	}
}

// run feeds the list until it is closed. If history forgot what happened while the watch was down, all is read anew.
func (l *ServiceList) run(ctx context.Context) {
	defer close(l.ended)
	l.feed.handle = func(message *tenurev1.WatchResponse) error { return l.take(ctx, message) }
	for {
		err := l.feed.run(ctx)
		if !forgotten(err) || !l.pauses.Wait(ctx) {
			l.fail(err)
			return
		}
		l.shown = nil
		l.feed.request.ResumeToken, l.feed.request.HistoryId, l.feed.request.AfterRevision = "", "", 0
	}
}

// take takes a message of the watch: services that it is about are read anew, unless they were read at its revision or
// later. So however many changes there are, one read follows the other.
func (l *ServiceList) take(ctx context.Context, message *tenurev1.WatchResponse) error {
	if l.shown == nil {
		l.shown = map[string]uint64{}
		if err := l.load(ctx, l.names); err != nil {
			return err
		}
		l.pauses.Reset()
		select {
		case <-l.filled:
		default:
			close(l.filled)
		}
	}
	var stale []string
	for _, e := range message.GetEvents().GetEvents() {
		for _, name := range l.concerned(e) {
			if e.GetRevision() > l.shown[name] && !slices.Contains(stale, name) {
				stale = append(stale, name)
			}
		}
	}
	return l.load(ctx, stale)
}

// concerned returns the services of the list that an event may be about.
func (l *ServiceList) concerned(e *tenurev1.Event) []string {
	name, node := e.GetService().GetName(), e.GetService().GetNode()
	if check := e.GetCheck(); check != nil {
		name, node = check.GetServiceName(), check.GetNode()
	} else if e.GetNode() != nil {
		node = e.GetNode().GetName()
	}
	switch {
	case slices.Contains(l.names, name):
		return []string{name}
	case name != "": // It had another name before.
		return l.names
	}
	// The node, and a check of it, count for all instances on it.
	return slices.DeleteFunc(slices.Clone(l.names), func(name string) bool { return !l.nodes[name][strings.ToLower(node)] })
}

// load reads services.
func (l *ServiceList) load(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := l.loadOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// loadOne reads one service, in pages. Each page is of its own revision, so what happens after the first may be missing: then its event has the
// service read again.
func (l *ServiceList) loadOne(ctx context.Context, name string) error {
	request := &tenurev1.ListInstancesRequest{Service: name}
	passing, nodes, revision := []Instance{}, map[string]bool{}, uint64(0)
	for {
		var page *tenurev1.ListInstancesResponse
		err := l.client.read(ctx, func(ctx context.Context, link *conn.Link) (err error) {
			page, err = tenurev1.NewCatalogServiceClient(link).ListInstances(ctx, request)
			return err
		})
		if err != nil {
			return err
		}
		if request.GetPageToken() == "" {
			revision = page.GetHeader().GetRevision()
		}
		for _, m := range page.GetInstances() {
			nodes[strings.ToLower(m.GetService().GetNode())] = true
			if m.GetStatus() == tenurev1.CheckStatus_CHECK_STATUS_PASSING {
				passing = append(passing, instance(m))
			}
		}
		if page.GetNextPageToken() == "" {
			l.shown[name], l.nodes[name] = revision, nodes
			l.show(name, passing)
			return nil
		}
		request.PageToken = page.GetNextPageToken()
	}
}

// show shows the instances of a service.
func (l *ServiceList) show(name string, passing []Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, known := l.passing[name]; known && reflect.DeepEqual(before, passing) {
		return
	}
	l.passing = maps.Clone(l.passing)
	l.passing[name] = passing
	close(l.changed)
	l.changed = make(chan struct{})
}

// Instances returns the instances of a service that pass, ordered by node and id.
func (l *ServiceList) Instances(service string) []Instance { return l.All()[service] }

// All returns the instances that pass, by the name of the service. A service without one has an empty list.
func (l *ServiceList) All() map[string][]Instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.passing
}

// Changes returns what All does, first as it is and then after each change, until ctx ends or the loop is left. A slow loop
// misses states in between, but never the last one. An error is the last element: ctx ended, or the list is no longer updated.
func (l *ServiceList) Changes(ctx context.Context) iter.Seq2[map[string][]Instance, error] {
	return func(yield func(map[string][]Instance, error) bool) {
		for {
			l.mu.Lock()
			passing, changed := l.passing, l.changed
			l.mu.Unlock()
			if !yield(passing, nil) {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(nil, interrupted(ctx, false, nil))
				return
			case <-l.ended:
				yield(nil, l.Err())
				return
			}
		}
	}
}

// Err returns why the list is no longer updated, such as ErrServiceListClosed or ErrClientClosed; nil while it is updated.
func (l *ServiceList) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close stops updating the list, and waits until that has stopped. The list can still be read.
func (l *ServiceList) Close() {
	l.stop(&Error{Kind: ErrServiceListClosed, Applied: AppliedNo})
	<-l.ended
}

// stop ends what feeds the list.
func (l *ServiceList) stop(why error) {
	l.fail(why)
	l.work.stop()
}

// fail notes why the list is fed no more, unless that is known.
func (l *ServiceList) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}
