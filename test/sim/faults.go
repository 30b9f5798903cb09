package sim

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// leader returns the running member that leads in the highest term, or nil.
func (w *World) leader() *member {
	var best *member
	term := uint64(0)
	for _, m := range w.members {
		if m.life == nil {
			continue
		}
		if l := m.life.view.Lead(); l.Role == core.RoleLeader && l.Term > term {
			best, term = m, l.Term
		}
	}
	return best
}

// trouble is what breaks things in a world.
type trouble struct{ *World }

// target returns the member that a fault is about, nil if there is none.
func (w trouble) target(f Fault) *member {
	if f.Member == 0 {
		return w.leader()
	}
	return w.memberByID(uint64(f.Member))
}

// inject lets a fault begin.
func (w trouble) inject(f Fault) {
	if w.quiet {
		return
	}
	w.note("fault "+f.Kind, uint64(f.Member), uint64(f.ForMs))
	w.floors.Faults++
	length := ms(f.ForMs)
	m := w.target(f)
	switch f.Kind {
	case "crash", "crash leader":
		if m != nil {
			m.crash(f.Keep)
			w.after(length, m.start)
		}
	case "restart all":
		for _, m := range w.members {
			m.crash(f.Keep)
			w.after(length, m.start)
		}
	case "pause", "pause leader":
		if m != nil {
			m.pause()
			w.after(length, m.resume)
		}
	case "starved":
		w.starve(f, w.now+length)
	case "partition", "one way":
		w.partition(f, m)
	case "isolate leader":
		if m != nil {
			w.separate(func(id uint64) bool { return id == m.id }, "", length)
		}
	case "transfer":
		w.transfer(m)
	case "resets":
		w.reset(f, w.now+length)
	case "checkpoint":
		if m != nil && m.up() {
			keeping{m.life}.makeCheckpoint()
		}
	case "freeze client":
		if f.Client < len(w.clients) {
			c := w.clients[f.Client]
			c.frozen = true
			w.floors.ClientsFrozen++
			w.after(length, c.thaw)
		}
	case "members":
		roster(w).changeMembers()
	case "wipe":
		w.wipe(m)
	case "old copy":
		w.oldCopy(m, length)
	case "machine down", "machine leaves", "false alarm", "gossip cut":
		gossips(w).inject(f, m)
	default:
		w.degrade(f, m)
	}
}

// starvedRuns is how long a starved member runs between two stalls: too short for two ticks of its timers.
const starvedRuns = 40 * time.Millisecond

// starve stops a member again and again, as a machine does that has too little time for all that runs on it.
func (w trouble) starve(f Fault, until time.Duration) {
	if w.quiet || w.now >= until {
		return
	}
	stall := ms(int64(f.Percent))
	if m := w.target(f); m != nil && m.up() {
		w.floors.Starved++
		m.pause()
		w.after(stall, m.resume)
	}
	w.after(stall+starvedRuns, func() { w.starve(f, until) })
}

// degrade lets networks and disks be worse than they are for some time.
func (w trouble) degrade(f Fault, m *member) {
	length, slower := ms(f.ForMs), ms(int64(f.Percent))
	switch f.Kind {
	case "loss":
		w.forAWhile(length, func(on float64) { w.net.loss += on * float64(f.Percent) / 100 })
		return
	case "slow network":
		w.forAWhile(length, func(on float64) { w.net.slow += time.Duration(on) * slower })
		return
	}
	if m == nil {
		return
	}
	switch f.Kind {
	case "slow links":
		w.forAWhile(length, func(on float64) { w.net.slowTo[m.id] += time.Duration(on) * slower })
	case "slow disk":
		w.forAWhile(length, func(on float64) { m.lag += time.Duration(on) * slower })
	case "disk hangs":
		m.hang(length)
	case "syncs fail":
		m.failDisk(failsSyncs, f.Keep, length)
	case "writes fail":
		m.failDisk(failsWrites, f.Keep, length)
	case "disk full":
		m.failDisk(isFull, f.Keep, length)
	}
}

// forAWhile does something with 1 and later with -1. The healing ends all at once.
func (w trouble) forAWhile(length time.Duration, do func(on float64)) {
	do(1)
	w.after(length, func() {
		if !w.quiet {
			do(-1)
		}
	})
}

func (w trouble) partition(f Fault, m *member) {
	side := f.Members
	if side == 0 && m != nil {
		side = 1 << (m.id - 1)
	}
	w.separate(func(id uint64) bool { return side>>(id-1)&1 == 1 }, f.Way, ms(f.ForMs))
}

// separate cuts the links between two sides.
func (w trouble) separate(inside func(uint64) bool, way string, length time.Duration) {
	w.forAWhile(length, func(on float64) {
		for _, a := range w.members {
			for _, b := range w.members {
				if !inside(a.id) || inside(b.id) {
					continue
				}
				if way != "in" {
					w.net.setCut(a.id, b.id, on > 0)
				}
				if way != "out" {
					w.net.setCut(b.id, a.id, on > 0)
				}
			}
		}
	})
}

func (w trouble) transfer(m *member) {
	if m == nil || !m.up() {
		return
	}
	if to := m.life.core.Successor(); to != 0 {
		m.life.post(core.Transfer{To: to})
		w.floors.Transfers++
	}
}

// handTo lets whoever leads hand over to a member.
func (w trouble) handTo(m *member) {
	if l := w.leader(); l != nil && l != m && l.up() && !w.quiet {
		l.life.post(core.Transfer{To: m.id})
		w.floors.Transfers++
	}
}

// wipe takes a member's disk away, for good: another one takes its place. That it is refused under its id is for raftnode's tests, since the
// greeting at the beginning of a cluster is not part of the simulator.
func (w trouble) wipe(m *member) {
	if m == nil || m.removed || m.barred || roster(w).voters() < 3 || roster(w).wiped() > 0 {
		return
	}
	m.crash(false)
	m.barred = true
	m.blanks++
	m.fs, m.fullUntil = vfs.NewCrashableMem(), 0
	w.floors.Wipes++
	w.after(time.Second, func() { roster(w).replace(m) })
}

// roster changes who is a member.
type roster struct{ *World }

// wiped counts the disks that were lost and not replaced yet, and those that do not hold yet what their members promised.
func (w roster) wiped() int {
	n := 0
	for _, m := range w.members {
		if (m.barred || m.oldCopy || m.mends) && !m.removed {
			n++
		}
	}
	return n
}

// conf returns the members as the leader has applied them.
func (w roster) conf() *raftpb.ConfState {
	l := w.leader()
	if l == nil {
		return nil
	}
	cs, err := core.UnmarshalConfState(l.life.store.Applied().ConfState)
	if err != nil {
		return nil
	}
	return cs
}

func (w roster) voters() int { return len(w.conf().GetVoters()) }

// proposeConf asks the leader for a change of members.
func (w roster) proposeConf(change *raftpb.ConfChangeV2) {
	l := w.leader()
	if l == nil || !l.up() {
		return
	}
	_ = l.life.confs.Propose(change) // What became of it shows in what is applied.
}

func single(t raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeSingle {
	return &raftpb.ConfChangeSingle{Type: t.Enum(), NodeId: new(id)}
}

// changeMembers adds a learner, promotes one, or removes a member, as the present members allow.
func (w roster) changeMembers() {
	cs := w.conf()
	// While a member's disk is lost, taking another away could cost the quorum; it is refused.
	if cs == nil || len(cs.GetVotersOutgoing()) > 0 || w.wiped() > 0 {
		return
	}
	d := w.dice("members " + w.now.String())
	switch {
	case len(cs.GetLearners()) > 0:
		id := cs.GetLearners()[0]
		if caughtUp(w.leader(), id) {
			w.note("promote", id)
			w.proposeConf(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddNode, id)}})
		}
	case len(cs.GetVoters()) > 3 || len(cs.GetVoters()) == 3 && d.IntN(3) == 0:
		id := cs.GetVoters()[d.IntN(len(cs.GetVoters()))]
		w.note("remove", id)
		w.proposeConf(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeRemoveNode, id)}})
	default:
		m := w.addMember()
		m.start()
		w.note("add learner", m.id)
		w.proposeConf(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddLearnerNode, m.id)}})
	}
	w.after(3*time.Second, w.settleMembers)
}

// caughtUp says whether a learner has nearly all.
func caughtUp(leader *member, id uint64) bool {
	if leader == nil {
		return false
	}
	st := leader.life.core.Status()
	pr, ok := st.Progress[id]
	return ok && pr.Match+50 > st.HardState.GetCommit()
}

// replace puts a new member in the place of one whose disk was lost: as a learner, then in one joint change.
func (w roster) replace(lost *member) {
	if lost.removed {
		return
	}
	cs := w.conf()
	if cs == nil || len(cs.GetVotersOutgoing()) > 0 {
		w.after(time.Second, func() { w.replace(lost) })
		return
	}
	for _, id := range cs.GetLearners() {
		if caughtUp(w.leader(), id) {
			w.note("replace", lost.id, id)
			w.proposeConf(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{
				single(raftpb.ConfChangeAddNode, id), single(raftpb.ConfChangeRemoveNode, lost.id),
			}})
			w.floors.Replaced++
		}
	}
	if len(cs.GetLearners()) == 0 {
		m := w.addMember()
		m.start()
		w.proposeConf(&raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddLearnerNode, m.id)}})
	}
	w.after(time.Second, func() { w.settleMembers(); w.replace(lost) })
}

// settleMembers takes members that were removed out of service.
func (w roster) settleMembers() {
	cs := w.conf()
	if cs == nil || len(cs.GetVotersOutgoing()) > 0 {
		return
	}
	at := w.leader().life.store.Applied().Index
	if at < w.confIndex {
		return // An old leader, who does not know.
	}
	w.confIndex = at
	in := map[uint64]bool{}
	for _, list := range [][]uint64{cs.GetVoters(), cs.GetLearners()} {
		for _, id := range list {
			in[id] = true
		}
	}
	for _, m := range w.members {
		// Whoever is not in the configuration that the leader has applied was removed, or is not added yet.
		if !in[m.id] && m.everIn {
			m.removed = true
			if m.life != nil {
				m.end()
			}
		}
		m.everIn = m.everIn || in[m.id]
	}
}
