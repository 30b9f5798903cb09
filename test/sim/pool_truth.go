package sim

import (
	"maps"
	"slices"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/test/check"
)

const (
	// voteCounts is how old a voter's word may be, when voters are asked last, to be the reason of a change.
	voteCounts = 20 * time.Second
	// endWithin is how long the end list may take in a healed cluster.
	endWithin = 5 * time.Second
)

// vote is what a voter said last of a node.
type vote struct {
	at   time.Duration
	live bool // though the node was there for it
}

// round is a round of questions.
type round struct {
	term   uint64
	voters int
	at     time.Duration
}

// poolTruth is what an observer of all members at once knows of the pool. It has its own catalog and bindings, made from the
// events and from what clients asked for.
type poolTruth struct {
	*truth
	said   map[gossip.Key]map[uint64]vote
	asked  map[gossip.Key]round
	checks map[string]map[string]storev1.CheckStatus // of registered nodes, in lower case
	bound  map[storage.SessionID]boundTo
	dying  map[storage.SessionID]death
	flips  []expiryInFlight
	at     uint64 // revision of what follows
	ended  []lostSubject
}

// boundTo is what a session is bound to.
type boundTo struct {
	node   string
	checks []string
}

// death is the end of a session that the end list has to carry out.
type death struct {
	cause string
	at    time.Duration
}

// lostSubject is something whose sessions end in the current revision.
type lostSubject struct {
	node, check string
	cause       string
}

func newPoolTruth(t *truth) *poolTruth {
	return &poolTruth{
		truth: t, said: map[gossip.Key]map[uint64]vote{}, asked: map[gossip.Key]round{}, checks: map[string]map[string]storev1.CheckStatus{},
		bound: map[storage.SessionID]boundTo{}, dying: map[storage.SessionID]death{},
	}
}

// votes notes that a voter says that a node failed.
func (t *poolTruth) votes(member uint64, k gossip.Key, live bool) {
	if t.said[k] == nil {
		t.said[k] = map[uint64]vote{}
	}
	t.said[k][member] = vote{t.w.now, live}
}

// asks notes a round of questions. A leader that was paused, and does not know yet that there is another one, asks for nothing.
func (t *poolTruth) asks(term uint64, asked []gossip.Asked, voters int) {
	for _, a := range asked {
		if term >= t.asked[a.Key].term {
			t.asked[a.Key] = round{term, voters, t.w.now}
		}
	}
}

// leads counts the changes that were on their way when a member began to lead.
func (t *poolTruth) leads(term uint64) {
	for _, f := range t.flips {
		if f.term < term && t.w.now-f.at < 3*time.Second {
			t.w.floors.FlipsAtChange++
		}
	}
	t.flips = nil
}

// see takes an event, once.
func (t *poolTruth) see(e *storev1.Event, c *check.Event, entries []storage.EntryOutcome) {
	t.at = e.GetRevision()
	node := func(name string) string { return catalog.NodeKey(name) }
	switch k := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		if n := node(k.NodePut.GetNode().GetName()); t.checks[n] == nil {
			t.checks[n] = map[string]storev1.CheckStatus{}
		}
	case *storev1.Event_NodeDeleted:
		t.ends(node(k.NodeDeleted.GetNode()), "", "node_deregistered")
		delete(t.checks, node(k.NodeDeleted.GetNode()))
	case *storev1.Event_CheckPut:
		t.status(node(k.CheckPut.GetNode()), k.CheckPut.GetCheck(), entries)
	case *storev1.Event_CheckStatus:
		t.status(node(k.CheckStatus.GetNode()), k.CheckStatus.GetCheck(), entries)
	case *storev1.Event_CheckDeleted:
		t.ends(node(k.CheckDeleted.GetNode()), k.CheckDeleted.GetCheckId(), "check_deregistered")
		delete(t.checks[node(k.CheckDeleted.GetNode())], k.CheckDeleted.GetCheckId())
	case *storev1.Event_SessionBegun:
		t.begins(storage.SessionID(k.SessionBegun.GetSessionId()), node(k.SessionBegun.GetNode()))
	case *storev1.Event_SessionEnded:
		t.endsSession(storage.SessionID(k.SessionEnded.GetSessionId()), c.Cause)
	}
	if e.GetIndex()+1 == e.GetCount() {
		t.leave(c)
	}
}

// begins binds a session by the rules, as its client asked.
func (t *poolTruth) begins(id storage.SessionID, node string) {
	s := t.w.sessions[id]
	checks := t.checks[node]
	if s == nil || checks == nil {
		return
	}
	b := boundTo{node: node}
	want := s.check
	if _, there := checks[catalog.LivenessID]; want == "" && there {
		want = catalog.LivenessID
	}
	if want != "" {
		b.checks = []string{want}
		if status, there := checks[want]; !there || status == storev1.CheckStatus_CHECK_STATUS_CRITICAL {
			t.w.violated("pool", "session %s was bound to check %s of %s, which is %v", s.text, want, node, status)
		}
	}
	t.bound[id] = b
}

// status takes the status of a check.
func (t *poolTruth) status(node string, c *storev1.Check, entries []storage.EntryOutcome) {
	if t.checks[node] == nil {
		t.w.violated("pool", "check %s of %s, which is not registered", c.GetCheckId(), node)
		return
	}
	t.checks[node][c.GetCheckId()] = c.GetStatus()
	if c.GetStatus() != storev1.CheckStatus_CHECK_STATUS_CRITICAL {
		return
	}
	t.ends(node, c.GetCheckId(), "check_critical")
	if c.GetCheckId() == catalog.LivenessID {
		t.mayFail(node, entries)
	}
}

// mayFail demands that a majority of voters said, in this term, that a node failed before the cluster says so.
func (t *poolTruth) mayFail(node string, entries []storage.EntryOutcome) {
	t.w.floors.LivenessSet++
	for _, mc := range t.w.machines {
		if mc.key.Name != node {
			continue
		}
		votes, live := 0, 0
		r := t.asked[mc.key]
		for _, v := range t.said[mc.key] {
			if r.at-v.at < voteCounts { // The entry may be committed much later, by the next leader.
				votes++
				live += int(boolNumber(v.live))
			}
		}
		if 2*votes <= r.voters {
			t.w.violated("pool", "%s turned critical by the word of %d of %d voters", node, votes, r.voters)
		}
		if n := len(entries); n > 0 && r.term < entries[0].Term {
			t.w.violated("pool", "%s turned critical in term %d; the voters were asked in term %d", node, entries[0].Term, r.term)
		}
		t.w.floors.FalseEnds += int(boolNumber(mc.up))
	}
}

// ends notes that the sessions end that are bound to a check, or to a node.
func (t *poolTruth) ends(node, check, cause string) {
	t.ended = append(t.ended, lostSubject{node, check, cause})
}

// by returns why a session ends in the current revision; empty: it does not.
func (t *poolTruth) by(b boundTo) []string {
	var causes []string
	for _, e := range t.ended {
		if e.node == b.node && (e.check == "" || slices.Contains(b.checks, e.check)) {
			causes = append(causes, e.cause)
		}
	}
	return causes
}

// endsSession demands a reason for the end of a session.
func (t *poolTruth) endsSession(id storage.SessionID, cause string) {
	byCatalog := cause == "check_critical" || cause == "check_deregistered" || cause == "node_deregistered"
	text := check.SessionText(id[:])
	d, dead := t.dying[id]
	causes := t.by(t.bound[id])
	_, bound := t.bound[id]
	switch {
	case dead && d.cause != cause:
		t.w.violated("pool", "session %s was ended by %s, and its end says %s", text, d.cause, cause)
	case dead:
		t.w.floors.MarkedEnds++
	case byCatalog && (!bound || !slices.Contains(causes, cause)):
		t.w.violated("pool", "session %s, bound to %+v, was ended by %s without it", text, t.bound[id], cause)
	}
	t.w.floors.EndsByCheck += int(boolNumber(byCatalog))
	delete(t.bound, id)
	delete(t.dying, id)
}

// leave puts on the end list what the revision should have ended and did not.
func (t *poolTruth) leave(c *check.Event) {
	if len(t.ended) == 0 {
		return
	}
	var marked []string
	for _, id := range slices.SortedFunc(maps.Keys(t.bound), func(a, b storage.SessionID) int { return slices.Compare(a[:], b[:]) }) {
		if causes := t.by(t.bound[id]); len(causes) > 0 {
			if _, dead := t.dying[id]; !dead {
				t.dying[id] = death{causes[0], t.w.now}
				marked = append(marked, check.SessionText(id[:]))
			}
		}
	}
	t.ended = nil
	if len(marked) > 0 {
		t.markLast(c, marked)
	}
}

// markLast writes the sessions of the end list to an event of the catalog in the current revision.
func (t *poolTruth) markLast(c *check.Event, marked []string) {
	for i := len(t.history.Events) - 1; i >= 0 && t.history.Events[i].Revision == c.Revision; i-- {
		if e := t.history.Events[i]; e.Kind == check.KindOfCatalog {
			e.Marked = marked
			return
		}
	}
}

// settled demands that the end list is empty, and that the catalog is like the pool, when all is quiet.
func (t *poolTruth) settled() {
	if len(t.w.broken) > 0 || t.w.plan.Machines == 0 {
		return
	}
	for id, d := range t.dying {
		if t.w.now-d.at > endWithin {
			t.w.violated("pool", "session %s was ended by %s at %v, and is not gone", check.SessionText(id[:]), d.cause, d.at)
			return
		}
	}
	l := t.w.leader()
	if left := l.life.store.Applied().EndMarks; left > 0 {
		t.w.violated("pool", "%d marks of the end list are left at the end", left)
	}
	for i, mc := range t.w.machines {
		status, checked := t.checks[mc.key.Name][catalog.LivenessID]
		failed := 0
		voters := l.life.core.Status().Config.Voters.IDs()
		for id := range voters {
			if m := t.w.memberByID(id); m.life != nil && m.life.pool.Judge(gossip.Asked{Key: mc.key}, m.moment()) == gossip.SaysFailed {
				failed++
			}
		}
		switch {
		case i == 0 && 2*failed > len(voters) && checked && status != storev1.CheckStatus_CHECK_STATUS_CRITICAL:
			t.w.violated("pool", "%s is gone, %d of %d voters say so, and it is %v", mc.name, failed, len(voters), status)
		case i > 0 && (!checked || status == storev1.CheckStatus_CHECK_STATUS_WARNING):
			t.w.violated("pool", "%s is alive, and its liveness is %v", mc.name, status)
		}
	}
}
