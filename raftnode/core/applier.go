package core

import (
	"fmt"
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
)

// StateMachine takes committed entries; storage.Store is the one of production.
type StateMachine interface {
	Apply(batch []storage.Entry) (storage.Outcome, error)
}

// ApplierOptions is what an Applier needs.
type ApplierOptions struct {
	// State returns the state machine in use; it changes when a snapshot is installed.
	State func() StateMachine
	// ConfChange makes a change of members effective in Core and returns the members after it.
	ConfChange func(*raftpb.ConfChangeV2) (*raftpb.ConfState, error)
	// BatchBytesMax bounds the entries of one Apply; 0 is 1 MiB. One message of work is never split.
	BatchBytesMax int
}

// Applier does apply work: it brings committed entries to the state machine.
type Applier struct {
	o ApplierOptions
}

// Applied is apply work that is done.
type Applied struct {
	// Index and Term are those of the last entry.
	Index, Term uint64
	// Responses are for this member, through ApplyDone.
	Responses []*raftpb.Message
	// Outcome is the state machine's.
	Outcome storage.Outcome
	// Messages counts the work that is done, Entries and Bytes what was in it.
	Messages, Entries, Bytes int
}

const applyBatchBytesMaxDefault = 1 << 20

// NewApplier makes an Applier.
func NewApplier(o ApplierOptions) *Applier {
	if o.BatchBytesMax == 0 {
		o.BatchBytesMax = applyBatchBytesMaxDefault
	}
	return &Applier{o: o}
}

// Apply does the first messages of the work, as many as fit in one batch, at least one. After an error the state
// machine may be behind what was decided, and the member has to stop.
func (a *Applier) Apply(work []*raftpb.Message) (Applied, error) {
	done := Applied{}
	var batch []storage.Entry
	for _, m := range work {
		size := 0
		for _, e := range m.GetEntries() {
			size += len(e.GetData())
		}
		if done.Messages > 0 && done.Bytes+size > a.o.BatchBytesMax {
			break
		}
		for _, e := range m.GetEntries() {
			entry, err := a.entry(e)
			if err != nil {
				return Applied{}, err
			}
			batch = append(batch, entry)
		}
		done.Messages++
		done.Bytes += size
		done.Responses = append(done.Responses, m.GetResponses()...)
	}
	if len(batch) == 0 {
		return done, nil
	}
	for i, e := range batch {
		invariants.That(i == 0 || e.Index == batch[i-1].Index+1 && e.Term >= batch[i-1].Term,
			"entry %d of term %d follows %d of term %d", e.Index, e.Term, batch[max(i-1, 0)].Index, batch[max(i-1, 0)].Term)
	}
	outcome, err := a.o.State().Apply(batch)
	if err != nil {
		return Applied{}, fmt.Errorf("apply entries %d to %d: %w", batch[0].Index, batch[len(batch)-1].Index, err)
	}
	last := batch[len(batch)-1]
	done.Index, done.Term = last.Index, last.Term
	done.Outcome = outcome
	done.Entries = len(batch)
	return done, nil
}

func (a *Applier) entry(e *raftpb.Entry) (storage.Entry, error) {
	entry := storage.Entry{Index: e.GetIndex(), Term: e.GetTerm()}
	var change *raftpb.ConfChangeV2
	switch e.GetType() {
	case raftpb.EntryConfChange:
		cc := &raftpb.ConfChange{}
		if err := proto.Unmarshal(e.GetData(), cc); err != nil {
			return entry, fmt.Errorf("decode change of members %d: %w", e.GetIndex(), err)
		}
		change = cc.AsV2()
	case raftpb.EntryConfChangeV2:
		change = &raftpb.ConfChangeV2{}
		if err := proto.Unmarshal(e.GetData(), change); err != nil {
			return entry, fmt.Errorf("decode change of members %d: %w", e.GetIndex(), err)
		}
	default:
		entry.Data = e.GetData()
		return entry, nil
	}
	cs, err := a.o.ConfChange(change)
	if err != nil {
		return entry, err
	}
	entry.ConfState, err = MarshalConfState(cs)
	return entry, err
}

// MarshalConfState writes a ConfState the same way on every member.
func MarshalConfState(cs *raftpb.ConfState) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(cs)
	if err != nil {
		return nil, fmt.Errorf("encode members: %w", err)
	}
	return b, nil
}

// UnmarshalConfState reads what MarshalConfState wrote.
func UnmarshalConfState(b []byte) (*raftpb.ConfState, error) {
	cs := &raftpb.ConfState{}
	if err := proto.Unmarshal(b, cs); err != nil {
		return nil, fmt.Errorf("decode members: %w", err)
	}
	return cs, nil
}

// IsMember reports whether a member is in a configuration, in whatever role.
func IsMember(cs *raftpb.ConfState, id uint64) bool {
	for _, set := range [][]uint64{cs.GetVoters(), cs.GetLearners(), cs.GetVotersOutgoing(), cs.GetLearnersNext()} {
		if slices.Contains(set, id) {
			return true
		}
	}
	return false
}
