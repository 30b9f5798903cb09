package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	passing  = tenurev1.CheckStatus_CHECK_STATUS_PASSING
	warning  = tenurev1.CheckStatus_CHECK_STATUS_WARNING
	critical = tenurev1.CheckStatus_CHECK_STATUS_CRITICAL
)

func (m *member) catalog() tenurev1.CatalogServiceClient {
	return tenurev1.NewCatalogServiceClient(m.conn)
}

// register registers a node with a service and checks of it.
func (m *member) register(t *testing.T, node, service string, checks ...*tenurev1.Check) *tenurev1.RegisterNodeResponse {
	t.Helper()
	r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: node}, Checks: checks}
	if service != "" {
		r.Services = []*tenurev1.Service{{Name: service}}
	}
	answer, err := m.catalog().RegisterNode(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// openBound creates a session with checks.
func (m *member) openBound(t *testing.T, node string, checks ...string) string {
	t.Helper()
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{
		Node: node, LockDelay: durationpb.New(0), Checks: &tenurev1.SessionChecks{NodeChecks: checks},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.GetSessionId()
}

func (m *member) setCheck(t *testing.T, node, check string, status tenurev1.CheckStatus) *tenurev1.UpdateCheckResponse {
	t.Helper()
	answer, err := m.catalog().UpdateCheck(t.Context(), &tenurev1.UpdateCheckRequest{Node: node, CheckId: check, Status: status, Output: "told"})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestSessionEndsWithWhatItIsBoundTo ends sessions by a check, a service and a node; a session that is bound to nothing stays.
func TestSessionEndsWithWhatItIsBoundTo(t *testing.T) {
	tests := map[string]struct {
		checks []string
		ended  string // empty: it lives
		end    func(*testing.T, *member)
	}{
		"a check is critical": {[]string{"up"}, "CHECK_CRITICAL", func(t *testing.T, m *member) { m.setCheck(t, "WEB1", "up", critical) }},
		"a check warns":       {[]string{"up"}, "", func(t *testing.T, m *member) { m.setCheck(t, "web1", "up", warning) }},
		"another check":       {[]string{"disk"}, "", func(t *testing.T, m *member) { m.setCheck(t, "web1", "up", critical) }},
		"a check goes": {[]string{"disk", "up"}, "CHECK_DEREGISTERED", func(t *testing.T, m *member) {
			answer, err := m.catalog().DeregisterCheck(t.Context(), &tenurev1.DeregisterCheckRequest{Node: "web1", CheckId: "disk"})
			if err != nil || !answer.GetDeregistered() || answer.GetSessionsEnded() != 1 {
				t.Errorf("got %v, %v", answer, err)
			}
		}},
		"a service goes": {[]string{"up"}, "CHECK_DEREGISTERED", func(t *testing.T, m *member) {
			answer, err := m.catalog().DeregisterService(t.Context(), &tenurev1.DeregisterServiceRequest{Node: "web1", ServiceId: "web"})
			if err != nil || !answer.GetDeregistered() || answer.GetSessionsEnded() != 1 {
				t.Errorf("got %v, %v", answer, err)
			}
		}},
		"a node goes": {nil, "NODE_DEREGISTERED", func(t *testing.T, m *member) {
			answer, err := m.catalog().DeregisterNode(t.Context(), &tenurev1.DeregisterNodeRequest{Node: "web1"})
			if err != nil || !answer.GetDeregistered() || answer.GetSessionsEnded() != 1 {
				t.Errorf("got %v, %v", answer, err)
			}
		}},
		"another machine": {nil, "", func(t *testing.T, m *member) {
			answer, err := m.catalog().DeregisterNode(t.Context(), &tenurev1.DeregisterNodeRequest{
				Node: "web1", IfNodeId: "00000000-0000-4000-8000-000000000001",
			})
			if err != nil || answer.GetDeregistered() {
				t.Errorf("got %v, %v", answer, err)
			}
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := start(t)
			m.register(t, "web1", "web",
				&tenurev1.Check{Name: "up", ServiceId: "web", Status: passing}, &tenurev1.Check{CheckId: "disk", Status: passing})
			bound, free := m.openBound(t, "web1", tc.checks...), m.openBound(t, "")
			tc.end(t, m)
			s, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: bound})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimPrefix(s.GetSession().GetEnd().GetCause().String(), "SESSION_END_CAUSE_")
			if tc.ended == "" {
				got = ""
				if s.GetSession().GetEnd() != nil {
					t.Errorf("the session ended: %v", s.GetSession().GetEnd())
				}
			}
			if got != tc.ended {
				t.Errorf("the session ended by %q, want %q", got, tc.ended)
			}
			if s, err = m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: free}); err != nil || s.GetSession().GetEnd() != nil {
				t.Errorf("the session without node: got %v, %v", s, err)
			}
		})
	}
}

// TestEndByCheckIsOneRevision watches a check, a lock and sessions: that the check is critical, the session's end and the grant to the
// next waiter are one revision.
func TestEndByCheckIsOneRevision(t *testing.T) {
	m := start(t)
	m.register(t, "web1", "web", &tenurev1.Check{Name: "up", ServiceId: "web", Status: passing})
	holder, waiter := m.openBound(t, "web1", "up"), m.openBound(t, "")
	if _, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "jobs", SessionId: holder}); err != nil {
		t.Fatal(err)
	}
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(t.Context(), &tenurev1.WatchRequest{
		Services: []string{"web"}, Locks: []string{"jobs"}, SessionIds: []string{holder},
	})
	if _, err = firstStep(stream, err); err != nil {
		t.Fatal(err)
	}
	granted := make(chan error, 1)
	go func() {
		queued, err := m.AcquireLock(t.Context(), &tenurev1.AcquireLockRequest{Key: "jobs", SessionId: waiter})
		for err == nil {
			var step *tenurev1.AcquireLockResponse
			if step, err = queued.Recv(); err == nil && step.GetGranted() != nil {
				break
			}
		}
		granted <- err
	}()
	var events []*tenurev1.Event
	next := func() *tenurev1.Event {
		for len(events) == 0 {
			answer, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			events = answer.GetEvents().GetEvents()
		}
		e := events[0]
		events = events[1:]
		return e
	}
	if e := next(); e.GetType() != tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED {
		t.Fatalf("got %v, want the waiter in the queue", e)
	}
	answer := m.setCheck(t, "web1", "up", critical)
	if answer.GetPrevious() != passing || answer.GetSessionsEnded() != 1 {
		t.Errorf("got %v, want that it passed and ended a session", answer)
	}
	want := []tenurev1.EventType{
		tenurev1.EventType_EVENT_TYPE_CHECK_STATUS, tenurev1.EventType_EVENT_TYPE_SESSION_ENDED,
		tenurev1.EventType_EVENT_TYPE_LOCK_LOST, tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED,
	}
	for i, kind := range want {
		e := next()
		if e.GetType() != kind || e.GetRevision() != answer.GetHeader().GetRevision() {
			t.Fatalf("event %d is %v, want %v of revision %d", i, e, kind, answer.GetHeader().GetRevision())
		}
		if i == 0 && (e.GetCheck().GetOutput() != "told" || e.GetPreviousStatus() != passing) {
			t.Errorf("got %v, want it with its output and the status before", e)
		}
	}
	if err := <-granted; err != nil {
		t.Errorf("the waiter: %v", err)
	}
}

// TestWatchOfAServiceSeesItsNodes changes nodes: a watch of a service sees those on which an instance of it runs, and no other.
func TestWatchOfAServiceSeesItsNodes(t *testing.T) {
	tests := map[string]*tenurev1.WatchRequest{
		"a service":    {Services: []string{"web"}},
		"all services": {AllServices: true},
	}
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			m := start(t)
			m.register(t, "Web1", "web")
			m.register(t, "bare", "")
			stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(t.Context(), request)
			if _, err = firstStep(stream, err); err != nil {
				t.Fatal(err)
			}
			move := func(node, address string) {
				t.Helper()
				if _, err := m.catalog().RegisterNode(t.Context(), &tenurev1.RegisterNodeRequest{
					Node: &tenurev1.Node{Name: node, Address: address}, Services: []*tenurev1.Service{{ServiceId: "x" + address, Name: "web"}},
				}); err != nil {
					t.Fatal(err)
				}
			}
			move("bare", "10.0.0.1") // Its first instance comes in the same request, after the node.
			move("web1", "10.0.0.2")
			move("bare", "10.0.0.3")
			m.register(t, "last", "web")
			var got []string
			for !slices.Contains(got, "web") {
				answer, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range answer.GetEvents().GetEvents() {
					got = append(got, e.GetNode().GetName()+e.GetNode().GetAddress()+e.GetService().GetServiceId())
				}
			}
			if want := []string{"x10.0.0.1", "Web110.0.0.2", "x10.0.0.2", "bare10.0.0.3", "x10.0.0.3", "web"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestSessionsAreRefusedByTheCatalog creates sessions that cannot be bound.
func TestSessionsAreRefusedByTheCatalog(t *testing.T) {
	m := start(t)
	m.register(t, "web1", "", &tenurev1.Check{CheckId: "new"}, &tenurev1.Check{CheckId: "liveness", Status: critical})
	tests := map[string]struct {
		node   string
		checks *tenurev1.SessionChecks
		code   codes.Code
		reason string
	}{
		"a new check is critical": {"web1", &tenurev1.SessionChecks{NodeChecks: []string{"new"}}, codes.FailedPrecondition, "CHECK_CRITICAL"},
		"the default is critical": {"web1", nil, codes.FailedPrecondition, "CHECK_CRITICAL"},
		"no such check":           {"web1", &tenurev1.SessionChecks{NodeChecks: []string{"none"}}, codes.NotFound, "CHECK_NOT_FOUND"},
		"no such node":            {"web2", &tenurev1.SessionChecks{NodeChecks: []string{"new"}}, codes.NotFound, "NODE_NOT_FOUND"},
		"no node":                 {"", &tenurev1.SessionChecks{ServiceChecks: []string{"new"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a check twice":           {"web1", &tenurev1.SessionChecks{NodeChecks: []string{"new"}, ServiceChecks: []string{"new"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"too many checks":         {"web1", &tenurev1.SessionChecks{NodeChecks: make([]string, 17)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Node: tc.node, Checks: tc.checks})
			wantError(t, err, tc.code, tc.reason)
		})
	}
	m.setCheck(t, "web1", "liveness", passing)
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Node: "web1"})
	if err != nil || !slices.Equal(s.GetChecks().GetNodeChecks(), []string{"liveness"}) || s.GetNodeId() == "" {
		t.Errorf("the default while it passes: got %v, %v", s, err)
	}
	if s, err = m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Node: "web1", Checks: &tenurev1.SessionChecks{}}); err != nil ||
		s.GetChecks() != nil || s.GetNodeId() == "" {
		t.Errorf("no checks: got %v, %v, want it bound to the node alone", s, err)
	}
	if s, err = m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Node: "elsewhere"}); err != nil || s.GetNodeId() != "" {
		t.Errorf("a node that is not registered: got %v, %v", s, err)
	}
}

// TestCatalogIsListed registers nodes, and finds them and what is on them by every filter, page by page.
func TestCatalogIsListed(t *testing.T) {
	m := start(t)
	c := m.catalog()
	for i := range 5 {
		status := passing
		if i == 3 {
			status = warning
		}
		if _, err := c.RegisterNode(t.Context(), &tenurev1.RegisterNodeRequest{
			Node: &tenurev1.Node{Name: fmt.Sprintf("Web%d", i), Zone: []string{"eu", "us"}[i%2], Meta: map[string]string{"os": "linux"}},
			Services: []*tenurev1.Service{
				{Name: "web", Port: 80, Tags: []string{"v2", "v1", fmt.Sprintf("n%d", i)}}, {ServiceId: "db-1", Name: "db"},
			},
			Checks: []*tenurev1.Check{{CheckId: "up", ServiceId: "web", Status: status}, {CheckId: "disk", Status: passing}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	var nodes []string
	request := &tenurev1.ListNodesRequest{NamePrefix: "WEB", Zone: "eu", PageSize: 1}
	for {
		page, err := c.ListNodes(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.GetNodes() {
			nodes = append(nodes, n.GetName())
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
	}
	if !slices.Equal(nodes, []string{"Web0", "Web2", "Web4"}) {
		t.Errorf("got nodes %q", nodes)
	}
	services, err := c.ListServices(t.Context(), &tenurev1.ListServicesRequest{})
	if err != nil || len(services.GetServices()) != 2 || services.GetServices()[1].GetInstances() != 5 ||
		!slices.Equal(services.GetServices()[1].GetTags(), []string{"n0", "n1", "n2", "n3", "n4", "v1", "v2"}) {
		t.Errorf("got services %v, %v", services, err)
	}
	for want, r := range map[int]*tenurev1.ListInstancesRequest{
		5: {Service: "web"}, 4: {Service: "web", Passing: true}, 3: {Service: "web", Zone: "eu"}, 1: {Service: "web", Tag: "n2"},
		2: {Node: "WEB1"}, 0: {Service: "none"},
	} {
		got, failed := c.ListInstances(t.Context(), r)
		if failed != nil || len(got.GetInstances()) != want {
			t.Errorf("%v: got %d instances, %v, want %d", r, len(got.GetInstances()), failed, want)
		}
	}
	for want, r := range map[int]*tenurev1.ListChecksRequest{
		10: {}, 1: {Status: warning}, 2: {Node: "web0"}, 5: {Service: "web"}, 0: {Service: "db"},
	} {
		got, failed := c.ListChecks(t.Context(), r)
		if failed != nil || len(got.GetChecks()) != want {
			t.Errorf("%v: got %d checks, %v, want %d", r, len(got.GetChecks()), failed, want)
		}
	}
	node, err := c.GetNode(t.Context(), &tenurev1.GetNodeRequest{Node: "web3"})
	if err != nil || node.GetNode().GetMeta()["os"] != "linux" || len(node.GetServices()) != 2 || len(node.GetChecks()) != 2 {
		t.Errorf("got %v, %v", node, err)
	}
	_, err = c.GetNode(t.Context(), &tenurev1.GetNodeRequest{Node: "web9"})
	wantError(t, err, codes.NotFound, "NODE_NOT_FOUND")
}

// TestInstancesOfANodeWithLongChecksAreListed registers as much text with the checks of a node as it may have: an answer with all of
// them stays below what clients take.
func TestInstancesOfANodeWithLongChecksAreListed(t *testing.T) {
	m := start(t)
	m.register(t, "web1", "web")
	for i := range 2048 / 128 {
		var checks []*tenurev1.Check
		for j := range 127 {
			checks = append(checks, &tenurev1.Check{
				CheckId: fmt.Sprintf("%03d%0200d", j, i), Output: strings.Repeat("o", 4096), Notes: strings.Repeat("n", 500), Status: passing,
			})
		}
		m.register(t, "web1", "", checks...)
	}
	got, err := m.catalog().ListInstances(t.Context(), &tenurev1.ListInstancesRequest{Service: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if checks := got.GetInstances()[0].GetChecks(); len(checks) != 2032 || checks[0].GetOutput() != "" || checks[2031].GetNotes() != "" {
		t.Errorf("got %d checks, first %v, want 2 032 without texts", len(checks), checks[0])
	}
	answer, err := m.catalog().DeregisterNode(t.Context(), &tenurev1.DeregisterNodeRequest{Node: "web1"})
	if err != nil || !answer.GetDeregistered() {
		t.Errorf("deregister it: got %v, %v", answer, err)
	}
}

// TestSyncsAreNumbered syncs a node as its agent does.
func TestSyncsAreNumbered(t *testing.T) {
	m := start(t)
	c := m.catalog()
	const id = "11111111-1111-4111-8111-111111111111"
	sync := func(number uint64, change func(*tenurev1.SyncNodeRequest)) error {
		r := &tenurev1.SyncNodeRequest{NodeId: id, Sync: &tenurev1.SyncNumber{Boot: 1, Number: number}}
		if change != nil {
			change(r)
		}
		_, err := c.SyncNode(t.Context(), r)
		return err
	}
	wantError(t, sync(1, nil), codes.NotFound, "NODE_NOT_FOUND")
	if err := sync(1, func(r *tenurev1.SyncNodeRequest) {
		r.Node, r.Services = &tenurev1.Node{Name: "web1"}, []*tenurev1.Service{{Name: "web"}}
	}); err != nil {
		t.Fatal(err)
	}
	if err := sync(2, nil); err != nil {
		t.Fatal(err)
	}
	err := sync(2, func(r *tenurev1.SyncNodeRequest) { r.DeleteServices = []string{"web"} })
	wantError(t, err, codes.FailedPrecondition, "SYNC_OUTDATED")
	if meta := infoOf(err).GetMetadata(); meta["boot"] != "1" || meta["number"] != "2" {
		t.Errorf("got %v, want the number of the last sync", meta)
	}
	node, err := c.GetNode(t.Context(), &tenurev1.GetNodeRequest{Node: "web1"})
	if err != nil || node.GetNode().GetNodeId() != id || node.GetNode().GetLastSync().GetNumber() != 2 || len(node.GetServices()) != 1 {
		t.Errorf("got %v, %v", node, err)
	}
}
