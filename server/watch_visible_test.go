package server_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// beholder is a caller, and what it sees by a rule of its own that is as plain as can be.
type beholder struct {
	name, token string
	rules       string
	key         func(string) bool
	session     func(name, node, maker string) bool
	node        func(string) bool
	service     func(string) bool
	query       func(string) bool
	all         bool
}

func none(string) bool                     { return false }
func noSession(_, _, _ string) bool        { return false }
func called(name string) func(string) bool { return func(s string) bool { return s == name } }
func begins(prefix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) }
}

// beholders are callers with rights of each form.
func beholders() []*beholder {
	return []*beholder{
		{name: "nothing of it", rules: "operator read", key: none, session: noSession, node: none, service: none, query: none},
		{
			name:  "exact names",
			rules: "key \"a/1\" ro\nsession \"web\" read\nnode \"n1\" read\nservice \"web\" read\nquery \"web\" read",
			key:   called("a/1"), session: func(name, _, _ string) bool { return name == "web" }, node: called("n1"), service: called("web"), query: called("web"),
		},
		{
			name:  "neighbours",
			rules: "key \"a\" ro\nkey \"a/10\" ro\nkey \"a0\"* ro\nsession \"we\" read\nnode \"n\" read\nservice \"webx\" read\nquery \"we\" read",
			key:   called("a"), session: noSession, node: none, service: none, query: none,
		},
		{
			name:    "prefixes",
			rules:   "key \"a/\"* ro\nkey \"b/2\" ro\nsession \"w\"* read\nnode \"n\"* read\nservice \"w\"* read\nquery \"w\"* read",
			key:     func(s string) bool { return strings.HasPrefix(s, "a/") || s == "b/2" },
			session: func(name, _, _ string) bool { return strings.HasPrefix(name, "w") },
			node:    begins("n"), service: begins("w"), query: begins("w"),
		},
		{
			name:  "nodes without services, and verbs that are not enough",
			rules: "key \"a/\"* list watch\nkey \"b/\"* read watch\nsession node \"n1\" read\nnode * read",
			key:   none, session: func(_, node, _ string) bool { return node == "n1" }, node: func(string) bool { return true }, service: none, query: none,
		},
		{
			name: "services without nodes, and its own sessions", rules: ownRules,
			key: none, session: func(_, _, maker string) bool { return maker == "own" }, node: none, service: func(string) bool { return true }, query: none,
		},
		{
			name:  "a child that its parent limits",
			rules: "key \"a/\"* ro\nkey \"b/2\" ro\nsession \"w\"* read\nnode \"n\"* read\nservice \"w\"* read\nquery \"w\"* read",
			key:   called("a/2"), session: func(name, _, _ string) bool { return name == "worker" }, node: begins("n2"), service: called("worker"), query: called("worker"),
		},
		{
			name: "all", all: true, rules: "key * ro\nsession * read\nnode * read\nservice * read\nquery * read",
		},
	}
}

// ownRules are those of the caller that has made sessions and may make no more.
const ownRules = "session own read\nservice * read"

// limits are the rules of the parent of the child among them.
const limits = "key \"a/2\" ro\nkey \"c/\"* ro\nsession \"worker\" read\nnode \"n2\" read\nservice \"worker\" read\nquery \"worker\" read"

// shown reads what a message shows, as names, and whether each is there.
type shown struct {
	t       *testing.T
	who     *beholder
	things  map[string]string
	deleted int
}

func (s *shown) put(kind, id, value string) { s.things[kind+" "+id] = value }

// remove takes away what was there: a caller is told of no end of what it was not shown.
func (s *shown) remove(kind, id string) {
	if _, there := s.things[kind+" "+id]; !there {
		s.t.Errorf("%s: is told that %s %s is gone, which it was not shown", s.who.name, kind, id)
	}
	delete(s.things, kind+" "+id)
	s.deleted++
}

func (s *shown) kv(kv *tenurev1.KeyValue) { s.put("key", kv.GetKey(), string(kv.GetValue())) }

func (s *shown) session(e *tenurev1.Session) { s.put("session", e.GetSessionId(), e.GetName()) }

func (s *shown) node(n *tenurev1.Node) { s.put("node", n.GetName(), n.GetAddress()) }

func (s *shown) service(e *tenurev1.Service) {
	s.put("service", e.GetNode()+"/"+e.GetServiceId(), e.GetName())
}

func (s *shown) check(k *tenurev1.Check) {
	s.put("check", k.GetNode()+"/"+k.GetCheckId(), k.GetServiceId()+" of "+k.GetServiceName()+" "+k.GetStatus().String())
}

func (s *shown) query(q *tenurev1.Query) { s.put("query", q.GetQueryId(), q.GetName()) }

// initial takes a part of the initial state.
func (s *shown) initial(part *tenurev1.WatchInitial) {
	for _, kv := range part.GetKvs() {
		s.kv(kv)
	}
	for _, e := range part.GetSessions() {
		s.session(e)
	}
	for _, n := range part.GetNodes() {
		s.node(n)
	}
	for _, e := range part.GetServices() {
		s.service(e)
	}
	for _, k := range part.GetChecks() {
		s.check(k)
	}
	for _, q := range part.GetQueries() {
		s.query(q)
	}
}

// event takes an event.
func (s *shown) event(e *tenurev1.Event) {
	switch e.GetType() {
	case tenurev1.EventType_EVENT_TYPE_PUT:
		s.kv(e.GetKv())
	case tenurev1.EventType_EVENT_TYPE_DELETED:
		s.remove("key", e.GetKey())
	case tenurev1.EventType_EVENT_TYPE_SESSION_BEGUN:
		s.session(e.GetSession())
	case tenurev1.EventType_EVENT_TYPE_SESSION_ENDED:
		s.remove("session", e.GetSession().GetSessionId())
	case tenurev1.EventType_EVENT_TYPE_NODE_PUT:
		s.node(e.GetNode())
	case tenurev1.EventType_EVENT_TYPE_NODE_DELETED:
		s.remove("node", e.GetNode().GetName())
	case tenurev1.EventType_EVENT_TYPE_SERVICE_PUT:
		s.service(e.GetService())
	case tenurev1.EventType_EVENT_TYPE_SERVICE_DELETED:
		s.remove("service", e.GetService().GetNode()+"/"+e.GetService().GetServiceId())
	case tenurev1.EventType_EVENT_TYPE_CHECK_PUT, tenurev1.EventType_EVENT_TYPE_CHECK_STATUS:
		s.check(e.GetCheck())
	case tenurev1.EventType_EVENT_TYPE_CHECK_DELETED:
		s.remove("check", e.GetCheck().GetNode()+"/"+e.GetCheck().GetCheckId())
	case tenurev1.EventType_EVENT_TYPE_QUERY_PUT:
		s.query(e.GetQuery())
	case tenurev1.EventType_EVENT_TYPE_QUERY_DELETED:
		s.remove("query", e.GetQuery().GetQueryId())
	default:
		s.t.Errorf("%s: got %v", s.who.name, e)
	}
}

// everything watches all that there is.
func everything() *tenurev1.WatchRequest {
	return &tenurev1.WatchRequest{
		Prefixes: []string{""}, AllSessions: true, AllNodes: true, AllServices: true, AllQueries: true, VisibleOnly: true,
		ProgressInterval: durationpb.New(200 * time.Millisecond),
	}
}

// follow watches as a caller until everything up to a revision was shown, and calls visit with each message.
func (m *member) follow(ctx context.Context, t *testing.T, r *tenurev1.WatchRequest, until uint64, visit func(*tenurev1.WatchResponse)) {
	t.Helper()
	if err := m.followed(ctx, r, until, visit); err != nil {
		t.Fatal(err)
	}
}

// followed is follow for goroutines other than that of the test.
func (m *member) followed(ctx context.Context, r *tenurev1.WatchRequest, until uint64, visit func(*tenurev1.WatchResponse)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
	if err != nil {
		return err
	}
	complete := !r.GetInitial()
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		visit(message)
		complete = complete || message.GetInitial().GetComplete()
		if complete && message.GetHeader().GetRevision() >= until && (message.GetProgress() != nil || message.GetInitial() != nil) {
			return nil
		}
	}
}

// wantFiltered checks what the headers of a watch say.
func (b *beholder) wantFiltered(t *testing.T, message *tenurev1.WatchResponse) {
	t.Helper()
	if h := message.GetHeader(); h.GetFiltered() == b.all {
		t.Errorf("%s: got the header %v", b.name, h)
	}
}

// sees reports whether a caller sees a thing, by what one that sees all was shown.
func (b *beholder) sees(thing, value string, makers map[string][2]string) bool {
	kind, id, _ := strings.Cut(thing, " ")
	if b.all {
		return true
	}
	node, _, _ := strings.Cut(id, "/")
	switch kind {
	case "key":
		return b.key(id)
	case "session":
		return b.session(value, makers[id][0], makers[id][1])
	case "node":
		return b.node(id)
	case "service":
		return b.node(node) && b.service(value)
	case "check":
		_, name, _ := strings.Cut(value, " of ")
		name, _, _ = strings.Cut(name, " ")
		return b.node(node) && (name == "" || b.service(name))
	default:
		return value != "" && b.query(value)
	}
}

// TestAWatchShowsThePartThatItsCallerSees makes changes of all kinds at random, and follows them as callers with rights of each form: what is left of the
// events is what a fresh initial state has, and what one that sees all has, but for what the caller does not see.
func TestAWatchShowsThePartThatItsCallerSees(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	all := beholders()
	for i, b := range all {
		made := m.token(t, admin, fmt.Sprint("p", i), b.rules)
		if b.token = made.GetText(); strings.HasPrefix(b.name, "a child") {
			parent := m.token(t, admin, "limits", limits)
			b.token = m.child(t, admin, parent.GetToken().GetAccessor(), fmt.Sprint("p", i)).GetText()
		}
	}
	owner := slices.IndexFunc(all, func(b *beholder) bool { return b.rules == ownRules })
	world := &changes{m: m, ctx: as(t.Context(), admin), own: as(t.Context(), all[owner].token), policy: fmt.Sprint("p", owner), random: rand.New(rand.NewPCG(1, 2)), sessions: map[string][2]string{}}
	sights := make([]*shown, len(all))
	for i, b := range all {
		sights[i] = &shown{t: t, who: b, things: map[string]string{}}
	}
	begins := uint64(0)
	for range 16 {
		for range 25 {
			world.change(t)
		}
		last, err := m.Put(world.ctx, &tenurev1.PutRequest{Key: "z", Content: text("v")})
		if err != nil {
			t.Fatal(err)
		}
		begins = world.compare(t, all, sights, begins, last.GetHeader().GetRevision())
	}
	for i, b := range all {
		t.Logf("%s: was told of %d ends", b.name, sights[i].deleted)
	}
}

// compare follows all callers from one revision to another; from zero, with the initial state. It returns the other.
func (c *changes) compare(t *testing.T, all []*beholder, sights []*shown, begins, ends uint64) uint64 {
	t.Helper()
	truth := &shown{t: t, who: all[len(all)-1], things: map[string]string{}}
	r := everything()
	r.Initial, r.VisibleOnly = true, false
	c.m.follow(c.ctx, t, r, ends, func(message *tenurev1.WatchResponse) { truth.initial(message.GetInitial()) })
	var following sync.WaitGroup
	for i, b := range all {
		following.Go(func() {
			fresh := &shown{t: t, who: b, things: map[string]string{}}
			r := everything()
			r.Initial = true
			if err := c.m.followed(as(t.Context(), b.token), r, ends, func(message *tenurev1.WatchResponse) {
				b.wantFiltered(t, message)
				fresh.initial(message.GetInitial())
			}); err != nil {
				t.Error(err)
			}
			if begins == 0 {
				maps.Copy(sights[i].things, fresh.things)
				return
			}
			r = everything()
			r.AfterRevision = begins
			if err := c.m.followed(as(t.Context(), b.token), r, ends, func(message *tenurev1.WatchResponse) {
				b.wantFiltered(t, message)
				for _, e := range message.GetEvents().GetEvents() {
					sights[i].event(e)
				}
			}); err != nil {
				t.Error(err)
			}
			want := map[string]string{}
			for thing, value := range truth.things {
				if b.sees(thing, value, c.sessions) {
					want[thing] = value
				}
			}
			if !maps.Equal(fresh.things, want) {
				t.Errorf("%s: the initial state has %v, want %v", b.name, fresh.things, want)
			}
			if !maps.Equal(sights[i].things, want) {
				t.Errorf("%s: the events leave %v, want %v", b.name, sights[i].things, want)
			}
		})
	}
	following.Wait()
	return ends
}

// changes makes changes at random.
type changes struct {
	m        *member
	ctx, own context.Context
	policy   string // of the caller of own
	random   *rand.Rand
	sessions map[string][2]string // node and maker, by id
	live     []string
	queries  []string
}

func (c *changes) pick(from ...string) string { return from[c.random.IntN(len(from))] }

// change makes one. What cannot be done because of what there is, is not.
func (c *changes) change(t *testing.T) {
	t.Helper()
	names := []string{"web", "worker", "api", "webs"}
	keys := []string{"a/1", "a/2", "a", "b/1", "b/2", "c/1"}
	nodes := []string{"n1", "n2", "x1"}
	switch c.random.IntN(18) {
	case 0, 1:
		_, err := c.m.Put(c.ctx, &tenurev1.PutRequest{Key: c.pick(keys...), Content: text(fmt.Sprint(c.random.IntN(9)))})
		c.must(t, err)
	case 2:
		_, err := c.m.Delete(c.ctx, &tenurev1.DeleteRequest{Key: c.pick(keys...)})
		c.must(t, err)
	case 3:
		ctx, maker := c.ctx, "admin"
		r := &tenurev1.CreateSessionRequest{Name: c.pick(names...), Node: c.pick("", "n1", "x1")}
		if c.random.IntN(2) == 0 {
			ctx, maker = c.own, "own"
			c.allow(t, "session * write")
		}
		made, err := c.m.CreateSession(ctx, r)
		c.must(t, err)
		if maker == "own" {
			c.allow(t, ownRules)
		}
		c.sessions[made.GetSessionId()], c.live = [2]string{r.GetNode(), maker}, append(c.live, made.GetSessionId())
	case 4:
		if len(c.live) > 0 {
			i := c.random.IntN(len(c.live))
			_, err := c.m.DestroySession(c.ctx, &tenurev1.DestroySessionRequest{SessionId: c.live[i]})
			c.must(t, err)
			c.live = slices.Delete(c.live, i, i+1)
		}
	case 5:
		made, err := c.m.queries().CreateQuery(c.ctx, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Name: c.pick(append(names, "")...), Service: "web"}})
		if err == nil { // Else another has the name.
			c.queries = append(c.queries, made.GetQueryId())
		}
	case 6:
		if len(c.queries) > 0 {
			_, _ = c.m.queries().UpdateQuery(c.ctx, &tenurev1.UpdateQueryRequest{
				QueryId: c.pick(c.queries...), Query: &tenurev1.Query{Name: c.pick(append(names, "")...), Service: "web"},
			})
		}
	case 7:
		if len(c.queries) > 3 {
			_, err := c.m.queries().DeleteQuery(c.ctx, &tenurev1.DeleteQueryRequest{QueryId: c.queries[0]})
			c.must(t, err)
			c.queries = c.queries[1:]
		}
	case 8:
		_, _ = c.m.catalog().DeregisterNode(c.ctx, &tenurev1.DeregisterNodeRequest{Node: c.pick(nodes...)})
	case 9:
		_, _ = c.m.catalog().DeregisterService(c.ctx, &tenurev1.DeregisterServiceRequest{Node: c.pick(nodes...), ServiceId: c.pick("s1", "s2")})
	default:
		c.register(nodes, names)
	}
}

// register registers a node with instances and checks, which may have been elsewhere before. A check of an instance that is not there is refused.
func (c *changes) register(nodes, names []string) {
	r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: c.pick(nodes...), Address: c.pick("10.0.0.1", "10.0.0.2")}}
	if c.random.IntN(2) == 0 {
		r.Services = append(r.Services, &tenurev1.Service{ServiceId: c.pick("s1", "s2"), Name: c.pick(names...)})
	}
	for _, id := range []string{"c1", "c2"} {
		if c.random.IntN(2) == 0 {
			r.Checks = append(r.Checks, &tenurev1.Check{
				CheckId: id, Name: id, ServiceId: c.pick("", "s1", "s2"), Status: []tenurev1.CheckStatus{passing, warning, critical}[c.random.IntN(3)],
			})
		}
	}
	_, _ = c.m.catalog().RegisterNode(c.ctx, proto.CloneOf(r))
}

// allow gives the caller of own other rules.
func (c *changes) allow(t *testing.T, rules string) {
	t.Helper()
	_, err := c.m.auth().PutPolicy(c.ctx, &tenurev1.PutPolicyRequest{Name: c.policy, Rules: rules})
	c.must(t, err)
}

func (c *changes) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
