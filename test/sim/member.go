package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// member is one server of the cluster, whether it runs or not.
type member struct {
	w     *World
	id    uint64
	fs    *vfs.MemFS
	apart sync.RWMutex // see apartFS
	// incarnation is that of the disk by which the others know it.
	incarnation uint64
	blanks      uint64 // how often its disk was lost
	founder     bool   // it was there when the cluster began

	life    *life // nil while it is down
	paused  bool
	backlog []func()      // what would have happened while it was paused
	everIn  bool          // it was in the configuration once
	removed bool          // by a change of members; it does not come back
	barred  bool          // its disk was lost; it does not come back
	oldCopy bool          // its disk was put back to an older copy, and does not hold yet what the member has promised
	mends   bool          // since others know of more than is there
	copies  int           // how often that happened
	lag     time.Duration // what the disk is slowed down by
	// fullUntil is when there is room on the disk again: until then a member that starts waits.
	fullUntil time.Duration

	// hungUntil is when the writes of the log end that began before.
	hungUntil time.Duration

	starts uint64 // lives that began

	rate   float64 // of its clock
	offset time.Duration
}

// hangs reports whether the disk hangs now.
func (m *member) hangs() bool { return m.w.now < m.hungUntil && !m.w.quiet }

// hang lets the writes of the log hang for some time.
func (m *member) hang(length time.Duration) {
	m.hungUntil = max(m.hungUntil, m.w.now+length)
	m.w.after(length, m.unhang)
}

// unhang lets the write that hangs come to its end, unless another fault holds it.
func (m *member) unhang() {
	r := m.life
	if r == nil || m.hangs() || r.hung == nil {
		return
	}
	do := r.hung
	r.hung = nil
	r.soon(func(*life) { do() })
}

// clock is the member's monotonic clock.
func (m *member) clock() time.Duration {
	return m.offset + time.Duration(float64(m.w.now)*m.rate)
}

// moment is the clock as a time.
func (m *member) moment() time.Time { return time.Unix(0, int64(m.clock())) }

// local turns a duration of the member's clock into a true one.
func (m *member) local(d time.Duration) time.Duration { return time.Duration(float64(d) / m.rate) }

func (w *World) memberByID(id uint64) *member {
	for _, m := range w.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// inService returns the members that clients know of: those that joined and are not gone for good.
func (w *World) inService() []*member {
	var in []*member
	for _, m := range w.members {
		if m.everIn && !m.removed && !m.barred {
			in = append(in, m)
		}
	}
	if len(in) == 0 {
		return w.members
	}
	return in
}

// addMember makes a member with an empty disk.
func (w *World) addMember() *member {
	d := w.dice(fmt.Sprintf("member %d", len(w.members)+1))
	m := &member{
		w: w, id: uint64(len(w.members) + 1), fs: vfs.NewCrashableMem(), incarnation: d.Uint64() | 1,
		rate:   1 + w.plan.DriftPercent/100*(2*d.Float64()-1),
		offset: between(d, 0, time.Hour),
	}
	w.members = append(w.members, m)
	return m
}

// nextIncarnation returns the incarnation of a fresh disk.
func (m *member) nextIncarnation() uint64 { return m.incarnation + m.blanks }

// up reports whether the member can do anything now.
func (m *member) up() bool { return m.life != nil && !m.paused }

// sender is who sent a message: a member, the disk that it had, and how often that had been put back to an older copy.
type sender struct {
	id, incarnation uint64
	copies          int
}

func (r *life) sender() sender { return sender{r.m.id, r.identity.Incarnation, r.m.copies} }

// receive takes a raft message.
func (m *member) receive(from sender, msg *raftpb.Message) {
	if m.life == nil {
		return
	}
	// A member knows its peers by the incarnation of their disks: a blank or copied disk cannot speak for them.
	if peer := m.w.memberByID(from.id); peer != nil && peer.incarnation != from.incarnation {
		return
	}
	// Connections of a start before the last one are closed when that one has greeted.
	if peer := m.w.memberByID(from.id); peer != nil && peer.copies != from.copies {
		return
	}
	m.life.soon(func(r *life) {
		r.heard[from.id] = r.ticks
		suspecting{r}.noteLeader(msg)
		if r.self.Hear(msg) {
			r.post(core.Receive{Message: msg})
		}
	})
}

// crash ends a member's life at once. What was not synced is lost, or kept as if the system had written it in time.
func (m *member) crash(keep bool) {
	r := m.life
	if r == nil {
		return
	}
	m.w.note("crash", m.id, boolNumber(keep))
	m.w.floors.Crashes++
	if keep && !r.fails() {
		if err := r.log.NewBatch().Commit(true); err != nil {
			m.w.violated("disk", "member %d: %v", m.id, err)
		}
	}
	m.leave(false)
}

// end closes what the member has open.
func (m *member) end() {
	r := m.life
	m.life = nil
	m.paused, m.backlog = false, nil
	r.close()
	m.w.processEnded(m)
}

// start begins a life on the member's disk.
func (m *member) start() {
	if m.life != nil || m.removed || m.barred {
		return
	}
	if room := m.fullUntil; m.w.now < room && !m.w.quiet {
		m.w.after(room-m.w.now, m.start)
		return
	}
	m.w.note("start", m.id)
	r, err := m.open()
	if err != nil {
		m.w.violated("disk", "member %d does not start: %v", m.id, err)
		return
	}
	m.life = r
	m.starts++
	r.begin()
}

// pause stops a member as SIGSTOP does: nothing happens in it, its clock runs on, and messages wait.
func (m *member) pause() {
	if m.life == nil || m.paused {
		return
	}
	m.w.note("pause", m.id)
	m.paused = true
	if m.life.leads() {
		m.w.floors.LeadersPaused++
	}
}

// resume lets a paused member go on: all that waited happens now, in order.
func (m *member) resume() {
	if !m.paused {
		return
	}
	m.w.note("resume", m.id)
	m.paused = false
	backlog := m.backlog
	m.backlog = nil
	for _, do := range backlog {
		do()
	}
}

func boolNumber(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// quietLogger drops what raft says, and panics as raft's own does.
type quietLogger struct{}

var _ raft.Logger = quietLogger{}

func (quietLogger) Debug(...any)              {}
func (quietLogger) Debugf(string, ...any)     {}
func (quietLogger) Error(...any)              {}
func (quietLogger) Errorf(string, ...any)     {}
func (quietLogger) Info(...any)               {}
func (quietLogger) Infof(string, ...any)      {}
func (quietLogger) Warning(...any)            {}
func (quietLogger) Warningf(string, ...any)   {}
func (quietLogger) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (quietLogger) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (quietLogger) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (quietLogger) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
