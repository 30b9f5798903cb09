package turn

import (
	"errors"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/storage"
)

// Work is work for the disk that gathers while other work is done, in order. Raft bounds what can be in it.
type Work struct {
	messages []*raftpb.Message
	urgent   bool // somebody waits for a part of it
}

// Add adds work. What nobody waits for (a commit index alone) lies until something else comes.
func (w *Work) Add(work []*raftpb.Message) {
	w.messages = append(w.messages, work...)
	for _, m := range work {
		w.urgent = w.urgent || len(m.GetResponses()) > 0
	}
}

// Urgent reports whether somebody waits for a part of it.
func (w *Work) Urgent() bool { return w.urgent }

// Take returns all there is, in dst.
func (w *Work) Take(dst []*raftpb.Message) []*raftpb.Message {
	dst = append(dst[:0], w.messages...)
	clear(w.messages)
	w.messages = w.messages[:0]
	w.urgent = false
	return dst
}

// Written answers append work that is done, on the member that did it: it sends to peers what had to wait for the disk, and
// posts to the loop what is for the member itself.
func Written(member uint64, done core.Appended, send func([]*raftpb.Message), post func(...core.Event)) {
	var own, peers []*raftpb.Message
	for _, m := range done.Responses {
		if m.GetTo() == member {
			own = append(own, m)
		} else {
			peers = append(peers, m)
		}
	}
	if len(peers) > 0 {
		send(peers)
	}
	done.Responses = own
	post(core.AppendDone{Done: done})
}

// Applies tells everybody what was applied. Only whoever applies uses it, or installs a snapshot meanwhile. All of it is
// required but Watch.
type Applies struct {
	Proposals *envelope.Queue
	Confs     *membership.ConfChanges
	View      *View
	// Term is that of the newest applied entry.
	Term uint64
	// Watch sees every batch. It does not block.
	Watch func(storage.Outcome)
	// MembersChanged is told when the records of members may have changed, Removed when this member is none any more.
	MembersChanged, Removed func()
	// Post gives an event to the loop. It does not block.
	Post func(ev ...core.Event)
}

// Publish tells everybody what was applied: first those who watch, then those who proposed, then raft.
func (a *Applies) Publish(done core.Applied) {
	if done.Entries > 0 && a.Watch != nil {
		a.Watch(done.Outcome)
	}
	a.Proposals.Applied(done.Outcome.Entries)
	touched, removed := a.Confs.Applied()
	if removed {
		a.Removed()
	}
	if touched || done.Outcome.MembersChanged {
		a.MembersChanged()
	}
	if done.Term > a.Term {
		a.Term = done.Term
		a.Proposals.Outrun(done.Term, a.View.Explain(core.ErrNotLeader))
		a.Confs.Unknown(a.View.Explain(core.ErrNotLeader))
	}
	done.Outcome.Entries, done.Outcome.Events = nil, nil
	a.Post(core.ApplyDone{Done: done})
}

// Skipped ends the waits for entries in whose place a snapshot was installed.
func (a *Applies) Skipped() {
	a.Proposals.Skipped()
	a.Confs.Unknown(errors.New("a snapshot was installed"))
}
