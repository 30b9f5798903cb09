package core

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/quorum"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// writes follows the append work of this member, to tell a disk that hangs from one that is slow: on a slow one work comes
// to an end now and then.
//
// A member whose disk hangs cannot do anything that counts: what it leads is committed by the others at best, and applied
// by them alone. It hands the leadership over, and neither takes it nor asks for votes before its disk works again.
type writes struct {
	waiting  int // append work that somebody waits for
	installs int // of it, what installs a snapshot, which may take long
	age      int // ticks since some of it ended, or the first of it began
}

func (w *writes) begun(m *raftpb.Message) {
	if len(m.GetResponses()) == 0 {
		return
	}
	if w.waiting == 0 {
		w.age = 0
	}
	w.waiting++
	if !raft.IsEmptySnap(m.GetSnapshot()) {
		w.installs++
	}
}

func (w *writes) ended(done Appended) {
	w.waiting -= done.Awaited
	w.installs -= done.Snapshots
	w.age = 0
}

func (w *writes) tick() {
	if w.waiting > 0 && w.installs == 0 {
		w.age++
	}
}

// applies follows the apply work of this member in the same way. It hangs where the state machine's disk does, where Pebble
// holds writes back, or in a command that takes that long.
type applies struct {
	waiting int // apply work that is not answered yet
	age     int // ticks since some of it ended, or the first of it began
}

func (a *applies) begun() {
	if a.waiting == 0 {
		a.age = 0
	}
	a.waiting++
}

func (a *applies) ended(done Applied) {
	a.waiting -= done.Messages
	a.age = 0
}

// tick counts, but for the time in which a snapshot is installed: apply work waits for it.
func (a *applies) tick(w *writes) {
	if a.waiting > 0 && w.installs == 0 {
		a.age++
	}
}

// Hangs reports whether this member hangs: no append work, or no apply work, has come to an end for Config.WriteTicksMax,
// though some waits.
func (c *Core) Hangs() bool { return c.writesHang() || c.AppliesHang() }

func (c *Core) writesHang() bool { return c.writes.waiting > 0 && c.writes.age >= c.cfg.WriteTicksMax }

// AppliesHang reports whether it is, or is also, the state machine that hangs.
func (c *Core) AppliesHang() bool {
	return c.applies.waiting > 0 && c.applies.age >= c.cfg.WriteTicksMax
}

// tickHanging is a tick on a member whose disk hangs. One that leads tries to hand over; another does not campaign.
func (c *Core) tickHanging() {
	if c.rn.BasicStatus().SoftState.RaftState != raft.StateLeader {
		return
	}
	// It goes on sending heartbeats: proofs of reads and renewals need no disk, and whether anybody takes over is open.
	c.rn.Tick()
	if st := c.rn.BasicStatus(); st.SoftState.RaftState != raft.StateLeader || st.LeadTransferee != raft.None {
		return // Raft gives an attempt up after an election time-out.
	}
	heir := c.heirOfApplies
	if c.writesHang() {
		heir = c.heirOfWrites
	}
	if to := heir(); to != 0 {
		c.tried = append(c.tried, to)
		c.rn.TransferLeader(to)
	}
}

// heirOfWrites returns the member to hand over to: one after the other of those who have written what hangs here, the
// furthest first. It is 0 while they are no quorum. Without this member nothing is committed then, whoever leads, and nobody
// else may be elected, so the leadership is better kept: what needs no disk goes on.
func (c *Core) heirOfWrites() uint64 {
	stable, err := c.cfg.Storage.LastIndex()
	if err != nil {
		return 0
	}
	able, match := c.peers(func(pr tracker.Progress) bool { return pr.Match > stable })
	able[c.cfg.ID] = false
	if c.rn.Status().Config.Voters.VoteResult(able) != quorum.VoteWon {
		return 0
	}
	return c.next(able, match)
}

// heirOfApplies returns the member to hand over to while it is the state machine that hangs here: one after the other of
// those who have all that is committed. The log here goes on, so they need no quorum of their own. One that hangs, too,
// does not take over.
func (c *Core) heirOfApplies() uint64 {
	return c.next(c.peers(func(pr tracker.Progress) bool { return pr.Match >= c.commit }))
}

// peers returns which other voters are able to lead, and how far their logs reach.
func (c *Core) peers(is func(tracker.Progress) bool) (able map[uint64]bool, match map[uint64]uint64) {
	able, match = map[uint64]bool{}, map[uint64]uint64{}
	c.rn.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		if id != c.cfg.ID && typ == raft.ProgressTypePeer {
			able[id] = pr.RecentActive && is(pr) && c.stays(id)
			match[id] = pr.Match
		}
	})
	return able, match
}

// next returns the able member that was not tried yet and reaches furthest; when all were tried it begins again.
func (c *Core) next(able map[uint64]bool, match map[uint64]uint64) uint64 {
	if to := furthest(able, match, c.tried); to != 0 {
		return to
	}
	c.tried = nil
	return furthest(able, match, nil)
}

// furthest returns the able member whose log is longest, of those not tried; 0 if there is none.
func furthest(able map[uint64]bool, match map[uint64]uint64, tried []uint64) uint64 {
	best := uint64(0)
	for id, is := range able {
		if !is || slices.Contains(tried, id) {
			continue
		}
		if best == 0 || match[id] > match[best] || match[id] == match[best] && id < best {
			best = id
		}
	}
	return best
}
