package sim

import (
	"bytes"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/core"
)

// mending is how a life finds out whether its disk is an older copy, and what it does then.
type mending struct{ *life }

// greet has a member that starts ask the others what they know of it. One that lost what it has acknowledged mends.
func (r mending) greet() error {
	if err := r.self.Heed(r.ask()); err != nil {
		return err
	}
	whole, err := r.self.Mended()
	if err == nil && !whole && !r.m.oldCopy {
		r.w.violated("disk", "member %d: its disk lost what it had acknowledged", r.m.id)
	}
	if !whole {
		r.w.note("mends", r.m.id)
		r.m.mends = true
	}
	return err
}

// ask returns what the others know of this member, as many as can be reached. It takes no time.
func (r mending) ask() (all []*peerv1.Witness) {
	for _, m := range r.w.members {
		if m == r.m || !m.up() || r.w.net.isCut(r.m.id, m.id) {
			continue
		}
		w := &peerv1.Witness{}
		w.Term, w.Index, w.IndexTerm = m.life.self.Promised(r.m.id)
		all = append(all, w)
	}
	return all
}

// doubted asks the others, a moment after a heartbeat has promised more than the log holds.
func (r mending) doubted(commit uint64) {
	r.w.floors.Doubts++
	r.after(r.w.net.delay(), func() { r.self.Judge(commit, r.ask()) })
}

// mend asks the leader for a snapshot, until nothing is left to mend.
func (r mending) mend() {
	whole, err := false, error(nil)
	if !r.diskWork("mend", func() error {
		whole, err = r.self.Mended()
		return err
	}) {
		return
	}
	if whole {
		if r.m.mends {
			r.w.note("mended", r.m.id)
			r.w.floors.Mended++
		}
		r.m.oldCopy, r.m.mends = false, false
		return
	}
	if leader := r.w.memberByID(r.view.Lead().Leader); leader != nil {
		r.w.net.call(r.m.id, leader.id, func() {
			if leader.life != nil {
				leader.life.soon(func(l *life) { mending{l}.reseed(r.m.id) })
			}
		})
	}
	r.after(r.w.plan.electionTimeout(), r.mend)
}

// reseed sends a member a snapshot of which raft does not know, as raftnode's couriers do.
func (r mending) reseed(to uint64) {
	if !r.leads() {
		return
	}
	index := r.self.Acknowledged(to)
	if newest := r.snaps.Newest(); newest == nil || newest.Index < index {
		if r.store.Applied().Index < index {
			return // It asks again.
		}
		keeping(r).makeCheckpoint()
	}
	newest := r.snaps.Newest()
	if newest == nil {
		return
	}
	members, err := core.UnmarshalConfState(newest.ConfState)
	if err != nil || !core.IsMember(members, to) {
		return
	}
	r.w.net.send(r.life, []*raftpb.Message{{
		Type: raftpb.MsgSnap.Enum(), To: new(to), From: new(r.m.id), Term: new(r.view.Lead().Term),
		Snapshot: &raftpb.Snapshot{Data: []byte(newest.Name()), Metadata: &raftpb.SnapshotMetadata{
			ConfState: members, Index: new(newest.Index), Term: new(newest.Term),
		}},
	}})
}

// oldCopy puts a copy of a member's disk in its place some time after it was made: writes that were synced are lost. A member
// that nobody can tell so cannot know. So it happens only if all others are there the whole time, under one leader, and reach
// it when it is back: then each promise that is lost is known to somebody. It votes only for members that have what it has promised, so
// the leader of two voters must not lose what it has not written yet.
func (w trouble) oldCopy(m *member, length time.Duration) {
	if m == nil || !m.up() || m.life.fails() || m.oldCopy || roster(w).voters() < 2 {
		return
	}
	lives, leader := w.lives(m)
	if leader == nil {
		return
	}
	r, term, conf := m.life, leader.view.Lead().Term, leader.store.Applied().ConfState
	m.apart.Lock()
	disk := m.fs.CrashClone(vfs.CrashCloneCfg{})
	m.apart.Unlock()
	dice := w.dice("old copy " + w.now.String())
	if behind := lives[dice.IntN(len(lives))]; behind != leader && dice.IntN(2) == 0 {
		// What is committed meanwhile is with the leader and the member, perhaps with nobody else.
		w.forAWhile(length+5*time.Second, func(on float64) {
			w.net.setCut(leader.m.id, behind.m.id, on > 0)
			w.net.setCut(behind.m.id, leader.m.id, on > 0)
		})
	}
	w.after(length, func() {
		now, same := w.lives(m)
		if w.quiet || len(w.broken) > 0 || m.life != r || r.fails() || len(now) != len(lives) || same != leader ||
			same.view.Lead().Term != term || !bytes.Equal(conf, same.store.Applied().ConfState) {
			return
		}
		for i := range now {
			if now[i] != lives[i] {
				return
			}
		}
		w.note("old copy", m.id)
		w.floors.OldCopies++
		m.end()
		m.fs, m.oldCopy = disk, true
		m.copies++
		m.start()
		if dice.IntN(2) == 0 {
			// Those who are left must not come to another end without what the member has forgotten.
			w.after(between(dice, 0, 2*w.plan.electionTimeout()), func() {
				if leader.m.life == leader && !w.quiet && (roster(w).voters() > 2 || !leader.m.hangs()) {
					leader.m.crash(false)
					w.after(between(dice, 10*time.Millisecond, 4*time.Second), leader.m.start)
				}
			})
		}
	})
}

// lives returns the lives of all others, and which of them leads; nothing unless all are up and their links to the member are
// whole.
func (w *World) lives(of *member) (all []*life, leader *life) {
	whole := true
	for _, a := range w.members {
		if a.removed || a == of {
			continue
		}
		whole = whole && a.up() && !a.oldCopy && !w.net.isCut(a.id, of.id)
		if a.life == nil {
			continue
		}
		all = append(all, a.life)
		if a.life.leads() {
			leader = a.life
		}
	}
	if !whole {
		return nil, nil
	}
	return all, leader
}
