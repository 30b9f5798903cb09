package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"time"

	"github.com/cockroachdb/pebble/v2"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

// Result is what a run came to.
type Result struct {
	Plan *Plan
	// Violations are promises that were broken.
	Violations []check.Violation
	// Trace is the hash of everything that happened.
	Trace uint64
	// Steps counts events.
	Steps  uint64
	Floors Floors
	Report *check.Report
	// History is what was checked.
	History *check.History
}

// Failed reports whether a promise was broken.
func (r *Result) Failed() bool { return len(r.Violations) > 0 }

// RoleNobody is that of a client who does nothing: where one was left out, the others keep their places.
const RoleNobody = "nobody"

// cacheBytes is the block cache that all members share: it must be larger than their memtables.
const cacheBytes = 192 << 20

const (
	// watchLag is how far a watch may be behind when nothing breaks any more: its streams end now and then, and begin again elsewhere.
	watchLag = 10 * time.Second
	// calmAfter is how long a member that was paused until the end of all faults may take to notice how late it is.
	calmAfter = time.Second
)

// Run runs a plan. Log takes a line for everything that happens, if it is not nil.
func Run(p *Plan, log io.Writer) *Result {
	raftDice.install()
	w := &World{
		plan: p, trace: fnv.New64a(), cache: pebble.NewCache(cacheBytes), sessions: map[storage.SessionID]*session{},
		watching: map[*client]*check.Watch{},
	}
	defer w.cache.Unref()
	if log != nil {
		w.log = func(line string) { _, _ = fmt.Fprintln(log, line) }
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], p.Seed)
	w.raftDice = rand.NewChaCha8(seed)
	w.truth = newTruth(w)
	w.net = newNetwork(w)
	w.net.dup, w.net.loss = p.Duplicates, p.Loss
	defer w.closeAll()
	w.populate()
	for _, f := range p.Faults {
		w.after(ms(f.AtMs), func() { trouble{w}.inject(f) })
	}
	w.after(ms(p.FaultsMs)*2/3, ending{w}.backUp)
	w.guarded(func() {
		w.runUntil(ms(p.FaultsMs))
		ending{w}.heal()
		ending{w}.progress()
		ending{w}.silence()
	})
	return w.result()
}

// guarded does what the run consists of, and ends it where an invariant of the product is broken.
func (w *World) guarded(do func()) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case invariants.BrokenError:
			w.wrecked = true
			w.violated("invariants", "%s", string(p))
		default:
			panic(p)
		}
	}()
	do()
}

// populate makes members and clients.
func (w *World) populate() {
	for range w.plan.Members {
		m := w.addMember()
		m.founder, m.everIn = true, true
	}
	for i := range w.plan.Machines {
		w.machines = append(w.machines, newMachine(i))
	}
	for _, m := range w.members {
		m.start()
	}
	for i, role := range w.plan.Clients {
		c := w.addClient(i, role)
		begin := map[string]func(*client){
			"keys": useKeys, "session": useSession, "watch": useWatch, "operator": operate, "catalog": useCatalog,
			"admin": administer, "agents": runAgents,
			RoleNobody: func(*client) {},
		}[role]
		if begin == nil {
			w.violated("plan", "role %q is not known", role)
			return
		}
		c.after(expo(c.dice, 500*time.Millisecond), func() { begin(c) })
	}
}

// ending is what a run demands when nothing breaks any more.
type ending struct{ *World }

// heal ends all faults.
func (w ending) heal() {
	if len(w.broken) > 0 {
		return
	}
	w.note("heal")
	w.quiet, w.calm = true, w.now+calmAfter
	clear(w.net.cut)
	clear(w.net.slowTo)
	gossips(w).heal()
	w.net.loss, w.net.slow, w.net.dup = 0, 0, 0
	for _, m := range w.members {
		m.lag = 0
		m.unhang()
		m.resume()
		if m.life != nil && m.life.fails() {
			m.leave(m.life.survives)
		}
		m.start()
	}
	for _, c := range w.clients {
		c.thaw()
	}
}

// progress demands that a healed cluster gets on: a leader, and answers to all who ask.
func (w ending) progress() {
	w.runUntil(w.now + ms(w.plan.HealMs)/2)
	before := make([]int, len(w.clients))
	for i, c := range w.clients {
		before[i] = c.done
	}
	w.runUntil(ms(w.plan.FaultsMs + w.plan.HealMs))
	if len(w.broken) > 0 {
		return
	}
	if w.leader() == nil {
		w.violated("liveness", "nobody leads %d ms after the last fault", w.plan.HealMs)
		return
	}
	for i, c := range w.clients {
		if role := w.plan.Clients[i]; role != "watch" && role != "operator" && role != "catalog" && role != "admin" && role != "agents" && c.busy > 0 && c.done == before[i] {
			w.violated("liveness", "client %s got no answer in %d ms, long after the last fault", c.name, w.plan.HealMs/2)
		}
	}
}

// silence lets the clients stop. What they had must come free, and all members must come to one state.
func (w ending) silence() {
	if len(w.broken) > 0 {
		return
	}
	w.note("silence")
	w.silent = true
	for _, c := range w.clients {
		if c.session != nil {
			c.session.end()
		}
	}
	w.runUntil(w.plan.end())
	if len(w.broken) > 0 {
		return
	}
	for _, watch := range w.watching {
		watch.DueBefore = int64(w.now - watchLag)
	}
	w.converged()
	w.allFree()
	w.truth.pool.settled()
	w.truth.syncs.settled()
	w.restore()
	w.canary()
}

// converged demands one state on all members.
func (w ending) converged() {
	l := w.leader()
	if l == nil {
		w.violated("liveness", "nobody leads at the end")
		return
	}
	roster(w).settleMembers()
	want := l.life.store.Applied()
	for _, m := range w.members {
		if m.removed || m.barred || m.life == nil || !m.everIn && m != l {
			continue
		}
		got := m.life.store.Applied()
		if got.Index != want.Index || got.Checksum != want.Checksum || got.Revision != want.Revision {
			w.violated("liveness", "at the end member %d is at index %d, revision %d, checksum %016x; leader %d at %d, %d, %016x",
				m.id, got.Index, got.Revision, got.Checksum, l.id, want.Index, want.Revision, want.Checksum)
		}
	}
}

// allFree demands that nobody holds, waits or is delayed when nobody is there any more.
func (w ending) allFree() {
	l := w.leader()
	if l == nil || len(w.broken) > 0 {
		return
	}
	s := l.life.store.NewReader()
	defer func() { _ = s.Close() }()
	at, err := s.Applied()
	if err != nil {
		w.violated("read", "%v", err)
		return
	}
	if at.Sessions != 0 {
		w.violated("liveness", "%d sessions live on after all their clients have gone", at.Sessions)
	}
	keys, _, err := s.List(storage.ListQuery{})
	if err != nil {
		w.violated("read", "%v", err)
		return
	}
	if text := untold(w.truth.history.Events, keys); text != "" {
		w.violated("keys", "at the end %s", text)
	}
	for _, key := range w.plan.locks() {
		info, _, err := s.Lock(key)
		if err != nil {
			w.violated("read", "%v", err)
			return
		}
		if st := info.State; st.GetHolders()+st.GetWaiters()+st.GetDelayedHolds() > 0 {
			w.violated("liveness", "lock %s has %d holders, %d waiters and %d delays after all clients have gone",
				key, st.GetHolders(), st.GetWaiters(), st.GetDelayedHolds())
		}
	}
}

// canary lets two members differ in one value, which no result shows, and demands that their checksums tell.
func (w ending) canary() {
	var sums []uint64
	for _, m := range w.members {
		if len(w.broken) > 0 || m.removed || m.barred || m.life == nil || m.life.store.Applied().Index == 0 {
			continue
		}
		a := m.life.store.Applied()
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Proposer: 1, Sequence: 1, Commands: []*storev1.Command{{
			Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "canary", Value: []byte{byte(len(sums))}}},
		}}})
		if err != nil {
			w.violated("canary", "%v", err)
			return
		}
		out, err := m.life.store.Apply([]storage.Entry{{Index: a.Index + 1, Term: a.Term, Data: data}})
		if err != nil {
			w.violated("canary", "member %d: %v", m.id, err)
			return
		}
		if sums = append(sums, out.Applied.Checksum); len(sums) == 2 {
			if sums[0] == sums[1] {
				w.violated("checksum", "two members whose states differ have the same checksum %016x", sums[0])
			}
			return
		}
	}
}

// result runs the checkers.
func (w *World) result() *Result {
	w.floors.SimulatedSeconds = w.now.Seconds()
	w.floors.Seeds = 1
	for _, op := range w.truth.history.Ops {
		if op.Outcome == check.OK {
			w.floors.Operations++
		}
	}
	for _, e := range w.truth.history.Events {
		if e.Kind == "lock_lost" {
			w.floors.ForcedLosses++
		}
	}
	r := &Result{
		Plan: w.plan, Trace: w.trace.Sum64(), Steps: w.steps, Floors: w.floors, History: w.truth.history,
		Violations: w.broken,
	}
	// Two clocks may differ by twice their drift.
	r.Report = check.Run(w.truth.history, check.Options{
		DriftPercent: w.plan.DriftPercent + 0.1, SearchMax: w.plan.SearchMax, CalmFrom: int64(w.calm),
	})
	r.Violations = append(r.Violations, r.Report.Violations...)
	return r
}

// closeAll ends all lives, and the agents in the middle of what they do. Where an invariant broke, an iterator may stand open, which a store does not close above: that run
// is left as it is.
func (w *World) closeAll() {
	if w.wrecked {
		return
	}
	for _, m := range w.members {
		if m.life != nil {
			m.end()
		}
	}
	for _, mc := range w.machines {
		mc.agent.stop()
	}
}
