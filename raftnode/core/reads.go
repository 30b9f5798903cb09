package core

import (
	"encoding/binary"

	"go.etcd.io/raft/v3"

	"github.com/tenure-io/tenure/internal/invariants"
)

// reads batches requests for proof. One round is in flight; what arrives meanwhile waits for the next, because a round
// proves only what was committed before it began.
type reads struct {
	next      uint64 // number of the next round asked of raft
	waiting   []Read
	round     []Read
	first     uint64 // number under which the round was asked first; retries count up
	asked     bool
	term      uint64 // term in which this member, then leader, asked; 0 when it asked another
	age       int    // ticks since the round was asked, or since there is nobody to ask
	unproved  int    // ticks since the round began, or another leader
	confirmed []confirmedReads
}

// noLeaderElections is for how many election time-outs reads wait for a leader, or for the proof of the one that is
// known: an ordinary change of leaders takes up to two.
const noLeaderElections = 3

// confirmedReads wait until index is applied.
type confirmedReads struct {
	index, term uint64
	reads       []Read
}

func (r *reads) tick() {
	r.age++
	r.unproved++
}

// restart asks the round again: the leader it was asked of may have lost it.
func (r *reads) restart() {
	r.asked = false
	r.age, r.unproved = 0, 0
}

// confirm takes a proof. Proofs of earlier rounds come late and are passed over.
func (r *reads) confirm(c *Core, rs raft.ReadState) {
	if len(rs.RequestCtx) != 8 || len(r.round) == 0 {
		return
	}
	if n := binary.BigEndian.Uint64(rs.RequestCtx); n-r.first >= r.next-r.first {
		return
	}
	st := c.rn.BasicStatus()
	done := confirmedReads{index: rs.Index, reads: r.round}
	if st.SoftState.RaftState == raft.StateLeader && st.HardState.GetTerm() == r.term {
		done.term = r.term
	}
	invariants.That(len(r.confirmed) == 0 || r.confirmed[len(r.confirmed)-1].index <= done.index, "a later read is proven for an earlier index")
	invariants.That(done.index <= st.HardState.GetCommit() || done.term == 0, "a leader proved index %d, committed is %d", done.index, st.HardState.GetCommit())
	r.confirmed = append(r.confirmed, done)
	r.round = nil
	r.asked = false
}

// settle finishes what can be finished and asks what can be asked.
func (r *reads) settle(c *Core, fx *Effects) {
	r.finish(c, fx)
	if c.lead.Role != RoleLeader {
		r.round = failLeaderReads(r.round, fx)
		r.waiting = failLeaderReads(r.waiting, fx)
	}
	if len(r.round) == 0 {
		if len(r.waiting) == 0 {
			r.age = 0
			return
		}
		r.round, r.waiting = r.waiting, nil
		r.first = r.next
		r.asked, r.age, r.unproved = false, 0, 0
	}
	// A leader that never answers is none: without raft's ticks a member goes on following one that is gone.
	if c.lead.Role != RoleLeader && r.unproved >= noLeaderElections*c.cfg.ElectionTicks {
		r.fail(fx)
		return
	}
	if c.lead.Leader == raft.None {
		return
	}
	// A leader may answer only after it knows what earlier terms committed: its own first entry tells.
	if c.lead.Role == RoleLeader && !c.started {
		return
	}
	if r.asked && r.age < c.cfg.ReadRetryTicks {
		return
	}
	r.asked, r.age, r.term = true, 0, 0
	if c.lead.Role == RoleLeader {
		r.term = c.lead.Term
	}
	ctx := binary.BigEndian.AppendUint64(nil, r.next)
	r.next++
	c.rn.ReadIndex(ctx)
}

// finish hands out confirmed reads whose index is applied, and ends those for which it cannot be because the disk hangs.
func (r *reads) finish(c *Core, fx *Effects) {
	n := 0
	hangs := c.Hangs()
	for _, done := range r.confirmed {
		late := done.index > c.applied
		if late && !hangs {
			break
		}
		for _, rd := range done.reads {
			out := ReadDone{Handle: rd.Handle, Index: done.index, Term: done.term}
			invariants.That(late || out.Index <= c.applied, "a read sees index %d, applied is %d", out.Index, c.applied)
			switch {
			case late:
				// Nothing is applied before it is written. Who waits had better ask another member.
				out = ReadDone{Handle: rd.Handle, Err: ErrDiskHangs}
			case rd.Leader && done.term == 0:
				out.Err = ErrNotLeader
			}
			fx.Reads = append(fx.Reads, out)
		}
		n++
	}
	r.confirmed = r.confirmed[n:]
	if len(r.confirmed) == 0 {
		r.confirmed = nil
	}
}

// fail ends every read that has nobody to prove it.
func (r *reads) fail(fx *Effects) {
	for _, list := range [][]Read{r.round, r.waiting} {
		for _, rd := range list {
			fx.Reads = append(fx.Reads, ReadDone{Handle: rd.Handle, Err: ErrNoLeader})
		}
	}
	r.round, r.waiting = nil, nil
	r.asked = false
	r.age = 0
}

// failLeaderReads ends the reads that need the leader and returns the others.
func failLeaderReads(list []Read, fx *Effects) []Read {
	kept := list[:0]
	for _, rd := range list {
		if rd.Leader {
			fx.Reads = append(fx.Reads, ReadDone{Handle: rd.Handle, Err: ErrNotLeader})
			continue
		}
		kept = append(kept, rd)
	}
	return kept
}
