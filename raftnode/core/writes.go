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
	tried    []uint64
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
	w.tried = nil
}

func (w *writes) tick() {
	if w.waiting > 0 && w.installs == 0 {
		w.age++
	}
}

// Hangs reports whether the disk hangs: no append work has come to an end for Config.WriteTicksMax, though some waits.
func (c *Core) Hangs() bool { return c.writes.waiting > 0 && c.writes.age >= c.cfg.WriteTicksMax }

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
	if to := c.heir(); to != 0 {
		c.writes.tried = append(c.writes.tried, to)
		c.rn.TransferLeader(to)
	}
}

// heir returns the member to hand over to: one after the other of those who have written what hangs here, the furthest
// first. It is 0 while they are no quorum. Without this member nothing is committed then, whoever leads, and nobody else
// may be elected, so the leadership is better kept: what needs no disk goes on.
func (c *Core) heir() uint64 {
	stable, err := c.cfg.Storage.LastIndex()
	if err != nil {
		return 0
	}
	able := map[uint64]bool{}
	match := map[uint64]uint64{}
	c.rn.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		if id != c.cfg.ID && typ == raft.ProgressTypePeer {
			able[id] = pr.RecentActive && pr.Match > stable
			match[id] = pr.Match
		}
	})
	able[c.cfg.ID] = false
	if c.rn.Status().Config.Voters.VoteResult(able) != quorum.VoteWon {
		return 0
	}
	if to := furthest(able, match, c.writes.tried); to != 0 {
		return to
	}
	c.writes.tried = nil
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
