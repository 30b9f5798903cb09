package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// patience bounds each wait for what must happen, on a machine that is busy with other things. Members that stood still when a machine died miss
	// it only after 90 s.
	patience = 5 * time.Minute
	// missedAfter is how long a machine may be away and is not missed. One that was away for longer, because its agent took long to start on a
	// busy machine under the test, proves nothing.
	missedAfter = 3 * time.Second
	// liveness is the check that gossip keeps, and ownCheck a check of each machine's agent.
	liveness, ownCheck = "liveness", "web-up"
)

// long reports whether tests run in their long form.
func long() bool { return os.Getenv("TENURE_SOAK") == "1" }

// scale returns full in a soak and short otherwise.
func scale[T any](short, full T) T {
	if long() {
		return full
	}
	return short
}

// machine is a machine with an agent.
type machine struct {
	*rig.Agent
	name  string
	link  *rig.GossipLink
	files string // The flag of its services.
}

// pool is a cluster and the machines beside it.
type pool struct {
	*rig.Cluster
	t        *testing.T
	net      *rig.GossipNet
	links    map[string]*rig.GossipLink // of members, by name
	machines []*machine
	bound    map[string]string // of each session that bind opened, the machine
	revision uint64            // when all of them passed
	starts   time.Duration     // how long an agent took to start, at most
	longest  time.Duration     // how long a machine was away that came back, at most
}

// startPool starts members and machines, and waits until gossip knows all of them.
func startPool(ctx context.Context, t *testing.T, members, machines int) *pool {
	t.Helper()
	p := &pool{t: t, net: rig.NewGossipNet(t), links: map[string]*rig.GossipLink{}, bound: map[string]string{}}
	links := make([]*rig.GossipLink, members)
	for i := range links {
		links[i] = p.net.Link(ctx)
	}
	p.Cluster = rig.StartClusterEach(ctx, t, binary, members, func(i int) []string { return links[i].Flags() })
	for i, m := range p.Members {
		p.links[m.Name()] = links[i]
	}
	p.AwaitRaised(ctx)
	up := listen(ctx, t)
	for i := range machines {
		m := &machine{name: fmt.Sprintf("web%d", i+1), link: p.net.Link(ctx), files: filepath.Join(t.TempDir(), "web.yaml")}
		services := fmt.Sprintf("services:\n  - {name: web, checks: [{id: %s, tcp: %q, interval: 1s}, {id: job, ttl: 1h, status: passing}]}\n", ownCheck, up)
		if err := os.WriteFile(m.files, []byte(services), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Agent = rig.NewAgent(t, binary, m.name, strings.Join(p.Endpoints(), ","), m.flags()...)
		m.Launch(ctx)
		p.machines = append(p.machines, m)
	}
	for _, m := range p.machines {
		m.Await(ctx)
	}
	if machines > 0 {
		p.machines[0].Kill()
		began := time.Now()
		p.machines[0].Restart(ctx)
		p.starts = time.Since(began)
		p.awaitInPool(ctx, p.machines[0], began)
	}
	seen := p.watch(ctx, 0)
	for _, m := range p.Members {
		seen.await(t, passes(m.Name(), liveness))
	}
	for _, m := range p.machines {
		seen.await(t, passes(m.name, liveness))
		seen.await(t, passes(m.name, ownCheck))
	}
	p.revision = p.mark(ctx)
	return p
}

// awaitInPool waits until all members take a machine for alive by a start of its agent that was later than a moment: the check liveness passes by the
// start before, too, until that is missed.
func (p *pool) awaitInPool(ctx context.Context, m *machine, began time.Time) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, member := range p.Members {
		conn := member.Dial()
		defer func() { _ = conn.Close() }()
		for client := tenurev1.NewPoolServiceClient(conn); ; wait(ctx, 20*time.Millisecond) {
			r, err := client.ListPool(ctx, &tenurev1.ListPoolRequest{State: tenurev1.PoolNodeState_POOL_NODE_STATE_ALIVE})
			if slices.ContainsFunc(r.GetNodes(), func(n *tenurev1.PoolNode) bool { return n.GetName() == m.name && n.GetSince().AsTime().After(began) }) {
				break
			}
			if ctx.Err() != nil {
				p.t.Fatalf("member %s does not see the new start of %s: %v", member.Name(), m.name, err)
			}
		}
	}
}

// Restart starts the agent again. It serves at another address, because another program may have taken the port meanwhile.
func (m *machine) Restart(ctx context.Context) {
	m.Move(m.flags()...)
	m.Agent.Restart(ctx)
}

func (m *machine) flags() []string {
	return slices.Concat(m.link.Flags(), []string{"--services", m.files})
}

// comesBack starts the agent of a machine again, which ended at a moment: in time, if it takes no longer to start than agents of this test took so far.
// It reports whether the machine was away for longer than it may.
func (p *pool) comesBack(ctx context.Context, m *machine, ended time.Time) (late bool) {
	p.t.Helper()
	if pause := missedAfter - 2*p.starts - time.Since(ended); pause > 0 {
		wait(ctx, rand.N(pause))
	}
	began := time.Now()
	m.Restart(ctx)
	p.starts = max(p.starts, time.Since(began))
	away := time.Since(ended)
	if away > missedAfter {
		p.t.Logf("%s was away for %v, of which its agent took %v to start", m.name, away, time.Since(began))
	}
	p.longest = max(p.longest, away)
	return away > missedAfter
}

// listen takes connections for the checks of machines, which pass whatever happens to the cluster.
func listen(ctx context.Context, t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); accepting.Wait() })
	accepting.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

// conn connects to any running member until the test ends.
func (p *pool) conn() *grpc.ClientConn {
	c := p.Running()[0].Dial()
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// mark writes a key, and returns the revision of that.
func (p *pool) mark(ctx context.Context) uint64 {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	kv := tenurev1.NewKVServiceClient(p.conn())
	for {
		r, err := kv.Put(ctx, &tenurev1.PutRequest{Key: "mark"})
		if err == nil {
			return r.GetHeader().GetRevision()
		}
		if ctx.Err() != nil {
			p.t.Fatalf("put: %v", err)
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// bind opens sessions on machines in turn, and returns the ids. Each is bound to its machine, and further to what checks says: nil is liveness.
func (p *pool) bind(ctx context.Context, sessions int, machines []*machine, checks *tenurev1.SessionChecks) []string {
	p.t.Helper()
	client := tenurev1.NewSessionServiceClient(p.conn())
	ids := make([]string, sessions)
	for i := range ids {
		r, err := client.CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Node: machines[i%len(machines)].name, Ttl: durationpb.New(time.Hour), Checks: checks,
		})
		if err != nil {
			p.t.Fatal(err)
		}
		ids[i] = r.GetSessionId()
		p.bound[ids[i]] = machines[i%len(machines)].name
	}
	return ids
}

// history returns what happened to sessions and the catalog since all passed.
func (p *pool) history(ctx context.Context) []seenEvent {
	p.t.Helper()
	until := p.mark(ctx)
	seen := p.watch(ctx, p.revision)
	seen.await(p.t, func(e *tenurev1.Event) bool { return e.GetKey() == "mark" && e.GetRevision() >= until })
	return seen.all()
}

// ends returns the sessions that have ended since all passed, and the nodes whose liveness turned critical.
func (p *pool) ends(ctx context.Context) (sessions, nodes []string) {
	for _, e := range p.history(ctx) {
		if e.GetType() == tenurev1.EventType_EVENT_TYPE_SESSION_ENDED {
			sessions = append(sessions, e.GetSession().GetSessionId())
		}
		if e.GetCheck().GetCheckId() == liveness && e.GetCheck().GetStatus() == tenurev1.CheckStatus_CHECK_STATUS_CRITICAL {
			nodes = append(nodes, e.GetCheck().GetNode())
		}
	}
	return sessions, nodes
}

// seenEvent is an event, and when it came.
type seenEvent struct {
	*tenurev1.Event
	at time.Time
}

// watcher collects events.
type watcher struct {
	mu      sync.Mutex // Guards what follows.
	events  []seenEvent
	changed chan struct{} // Closed and replaced by the next event.
	err     error
}

// watch collects what happens to sessions, to the catalog and to the key of mark after a revision; 0 is from now on, and the catalog as it is.
func (p *pool) watch(ctx context.Context, after uint64) *watcher {
	p.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stream, err := tenurev1.NewWatchServiceClient(p.conn()).Watch(ctx, &tenurev1.WatchRequest{
		AllSessions: true, AllNodes: true, Keys: []string{"mark"}, AfterRevision: after, Initial: after == 0,
	})
	if err != nil {
		cancel()
		p.t.Fatal(err)
	}
	w := &watcher{changed: make(chan struct{})}
	var reading sync.WaitGroup
	p.t.Cleanup(func() { cancel(); reading.Wait() })
	reading.Go(func() {
		for {
			m, err := stream.Recv()
			w.add(m, err)
			if err != nil {
				return
			}
		}
	})
	return w
}

// add takes a message of the stream, or how it ended.
func (w *watcher) add(m *tenurev1.WatchResponse, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, c := range m.GetInitial().GetChecks() {
		w.events = append(w.events, seenEvent{&tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_CHECK_PUT, Check: c}, now})
	}
	for _, e := range m.GetEvents().GetEvents() {
		w.events = append(w.events, seenEvent{e, now})
	}
	w.err = err
	close(w.changed)
	w.changed = make(chan struct{})
}

// all returns what has come so far.
func (w *watcher) all() []seenEvent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// next returns the first event from a position on that is wanted, and the position behind it; nil if it has not come yet.
func (w *watcher) next(from int, wanted func(*tenurev1.Event) bool) (found *seenEvent, after int, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := from; i < len(w.events); i++ {
		if wanted(w.events[i].Event) {
			return &w.events[i], i + 1, nil, nil
		}
	}
	return nil, from, w.changed, w.err
}

// await waits for the first event that is wanted.
func (w *watcher) await(t *testing.T, wanted func(*tenurev1.Event) bool) seenEvent {
	t.Helper()
	e, _ := w.awaitFrom(t, 0, wanted)
	return e
}

// awaitFrom waits for the first event from a position on that is wanted, and returns the position behind it.
func (w *watcher) awaitFrom(t *testing.T, from int, wanted func(*tenurev1.Event) bool) (seenEvent, int) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		found, after, changed, err := w.next(from, wanted)
		if found != nil {
			return *found, after
		}
		if err != nil {
			t.Fatalf("the watch ended: %v", err)
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatal("what was waited for did not happen")
		}
	}
}

// awaitLast waits until the last event about a check is wanted, and returns it.
func (w *watcher) awaitLast(t *testing.T, wanted func(*tenurev1.Event) bool) (last seenEvent) {
	t.Helper()
	for from := 0; ; {
		found, after := w.awaitFrom(t, from, wanted)
		same := func(e *tenurev1.Event) bool {
			return e.GetCheck().GetNode() == found.GetCheck().GetNode() && e.GetCheck().GetCheckId() == found.GetCheck().GetCheckId()
		}
		if other, _, _, _ := w.next(after, same); other == nil {
			return found
		}
		from = after
	}
}

// passes wants a check to pass, and turnsCritical to be critical.
func passes(node, check string) func(*tenurev1.Event) bool {
	return is(node, check, tenurev1.CheckStatus_CHECK_STATUS_PASSING)
}

func turnsCritical(node, check string) func(*tenurev1.Event) bool {
	return is(node, check, tenurev1.CheckStatus_CHECK_STATUS_CRITICAL)
}

func is(node, check string, status tenurev1.CheckStatus) func(*tenurev1.Event) bool {
	return func(e *tenurev1.Event) bool {
		c := e.GetCheck()
		return c.GetNode() == node && c.GetCheckId() == check && c.GetStatus() == status
	}
}

// wait lets real time pass: the subject of these tests is what other processes make of it.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
