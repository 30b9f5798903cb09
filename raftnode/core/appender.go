package core

import (
	"fmt"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// AppenderOptions is what an Appender needs.
type AppenderOptions struct {
	// Log takes the entries.
	Log *raftlog.Log
	// Install replaces log and state machine by a snapshot that was received. The batch before it is committed.
	Install func(*raftpb.Snapshot, *raftpb.HardState) error
}

// Appender does append work: it makes entries, terms and votes stable.
type Appender struct {
	o AppenderOptions
	// dirty is true while something a promise may rest on (entries, term, vote) is written and not synced. A commit
	// index alone never makes it true: losing it loses nothing.
	dirty      bool
	term, vote uint64
}

// Appended is append work that is done.
type Appended struct {
	// Entries counts the messages of append work that carried entries.
	Entries int
	// Awaited counts the messages that somebody waited for, Snapshots those that installed one.
	Awaited, Snapshots int
	// Responses are due now, those for this member through AppendDone, the others to peers.
	Responses []*raftpb.Message
	// Bytes and Synced tell what the work cost: payload bytes written, and whether it took a sync.
	Bytes  int
	Synced bool
	// Count is the number of entries written.
	Count int
}

// NewAppender makes an Appender that continues after what the log holds, all of which is stable.
func NewAppender(o AppenderOptions) *Appender {
	hs := o.Log.HardState()
	return &Appender{o: o, term: hs.GetTerm(), vote: hs.GetVote()}
}

// Append does append work, all of it in one write with at most one sync. After an error the log is unusable, nothing
// of the work may be answered, and the member has to stop.
func (a *Appender) Append(work []*raftpb.Message) (Appended, error) {
	done := Appended{}
	b := a.o.Log.NewBatch()
	for _, m := range work {
		if s := m.GetSnapshot(); !raft.IsEmptySnap(s) {
			next, err := a.install(b, m, s)
			if err != nil {
				return Appended{}, err
			}
			b = next
			done.Snapshots++
		}
		if err := a.add(b, m, &done); err != nil {
			return Appended{}, err
		}
		if len(m.GetResponses()) > 0 {
			done.Awaited++
		}
		done.Responses = append(done.Responses, m.GetResponses()...)
	}
	done.Synced = len(done.Responses) > 0 && a.dirty
	if err := b.Commit(done.Synced); err != nil {
		return Appended{}, err
	}
	if done.Synced {
		a.dirty = false
	}
	return done, nil
}

func (a *Appender) add(b *raftlog.Batch, m *raftpb.Message, done *Appended) error {
	if ents := m.GetEntries(); len(ents) > 0 {
		if err := b.Append(ents); err != nil {
			return err
		}
		a.dirty = true
		done.Entries++
		done.Count += len(ents)
		for _, e := range ents {
			done.Bytes += len(e.GetData())
		}
	}
	// A message without a hard state leaves the stored one alone.
	hs := hardStateOf(m)
	if raft.IsEmptyHardState(hs) {
		return nil
	}
	if hs.GetTerm() != a.term || hs.GetVote() != a.vote {
		a.dirty = true
		a.term, a.vote = hs.GetTerm(), hs.GetVote()
	}
	return b.SetHardState(hs)
}

// install commits what came before the snapshot, installs it, and begins a new batch for what comes after.
func (a *Appender) install(b *raftlog.Batch, m *raftpb.Message, s *raftpb.Snapshot) (*raftlog.Batch, error) {
	if err := b.Commit(a.dirty); err != nil {
		return nil, err
	}
	hs := hardStateOf(m)
	if raft.IsEmptyHardState(hs) {
		stored := a.o.Log.HardState()
		hs = &raftpb.HardState{Term: new(stored.GetTerm()), Vote: new(stored.GetVote())}
	}
	hs.Commit = new(max(hs.GetCommit(), s.GetMetadata().GetIndex()))
	if err := a.o.Install(s, hs); err != nil {
		return nil, fmt.Errorf("install snapshot: %w", err)
	}
	a.dirty = false
	a.term, a.vote = hs.GetTerm(), hs.GetVote()
	return a.o.Log.NewBatch(), nil
}

func hardStateOf(m *raftpb.Message) *raftpb.HardState {
	return &raftpb.HardState{
		Term: new(m.GetTerm()), Vote: new(m.GetVote()), Commit: new(m.GetCommit()),
	}
}
