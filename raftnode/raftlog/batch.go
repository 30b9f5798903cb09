package raftlog

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/invariants"
)

// Batch gathers writes that reach the disk together. One goroutine fills and commits it; afterwards it is used up.
type Batch struct {
	l      *Log
	b      *pebble.Batch
	staged [][]*raftpb.Entry
	hs     *raftpb.HardState
	reset  *EntryID
	next   uint64 // index that the next entry may have at most
	floor  uint64 // index that the next entry must have at least
	wrote  bool
}

// NewBatch begins a batch.
func (l *Log) NewBatch() *Batch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return &Batch{l: l, b: l.db.NewBatch(), next: l.last + 1, floor: l.truncated.Index + 1}
}

// Append adds entries; those that exist at their indexes and behind are replaced. The batch keeps the slice.
func (b *Batch) Append(ents []*raftpb.Entry) error {
	if len(ents) == 0 {
		return nil
	}
	first := ents[0].GetIndex()
	if first > b.next || first < b.floor {
		return fmt.Errorf("%w: first is %d, the log takes %d to %d", ErrGap, first, b.floor, b.next)
	}
	for i, e := range ents {
		if e.GetIndex() != first+uint64(i) {
			return fmt.Errorf("%w: %d follows %d", ErrGap, e.GetIndex(), first+uint64(i)-1)
		}
		if err := b.putEntry(e); err != nil {
			return err
		}
	}
	next := first + uint64(len(ents))
	if next < b.next {
		if err := b.b.DeleteRange(entryKey(next), entryKey(b.next), nil); err != nil {
			return fmt.Errorf("replace tail of the log: %w", err)
		}
	}
	b.next = next
	b.staged = append(b.staged, ents)
	b.wrote = true
	return nil
}

func (b *Batch) putEntry(e *raftpb.Entry) error {
	var header [entryHeaderMax]byte
	n := putEntryHeader(header[:], e)
	op := b.b.SetDeferred(entryKeyLen, n+len(e.GetData()))
	putEntryKey(op.Key, e.GetIndex())
	copy(op.Value, header[:n])
	copy(op.Value[n:], e.GetData())
	if err := op.Finish(); err != nil {
		return fmt.Errorf("write entry %d: %w", e.GetIndex(), err)
	}
	return nil
}

// SetHardState replaces term, vote and commit index.
func (b *Batch) SetHardState(hs *raftpb.HardState) error {
	v, err := encodeHardState(hs)
	if err != nil {
		return fmt.Errorf("encode hard state: %w", err)
	}
	if err := b.b.Set(hardStateKey, v, nil); err != nil {
		return fmt.Errorf("write hard state: %w", err)
	}
	b.hs = hs
	b.wrote = true
	return nil
}

// Reset drops every entry and lets the log begin behind a snapshot whose installation is to be finished, also after a
// crash. The log remembers the installation until EndInstall.
func (b *Batch) Reset(in Install) error {
	if err := b.b.DeleteRange([]byte{entryPrefix}, []byte{entryPrefix + 1}, nil); err != nil {
		return fmt.Errorf("drop entries: %w", err)
	}
	if err := b.b.Set(truncatedKey, encodeEntryID(in.ID), nil); err != nil {
		return fmt.Errorf("write truncation: %w", err)
	}
	if err := b.b.Set(installKey, encodeInstall(in), nil); err != nil {
		return fmt.Errorf("write pending install: %w", err)
	}
	b.staged = nil
	b.reset = new(in.ID)
	b.next, b.floor = in.ID.Index+1, in.ID.Index+1
	b.wrote = true
	return nil
}

// Commit writes the batch; with sync it and all before it are on stable storage when Commit returns nil. An error is
// final for the whole log.
func (b *Batch) Commit(sync bool) error {
	l := b.l
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if !b.wrote {
		// A sync without writes still has to cover the unsynced batches before it.
		if !sync {
			return l.commit(b.b, false)
		}
		if err := b.b.LogData(nil, nil); err != nil {
			return l.fail(err)
		}
	}
	if err := l.commit(b.b, sync); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.hs != nil {
		invariants.That(b.hs.GetTerm() >= l.hs.GetTerm(), "the term on disk falls from %d to %d", l.hs.GetTerm(), b.hs.GetTerm())
		invariants.That(b.hs.GetTerm() > l.hs.GetTerm() || l.hs.GetVote() == 0 || b.hs.GetVote() == l.hs.GetVote(),
			"in term %d the vote on disk goes from %d to %d", b.hs.GetTerm(), l.hs.GetVote(), b.hs.GetVote())
		invariants.That(b.hs.GetCommit() >= l.hs.GetCommit(), "the commit index on disk falls from %d to %d", l.hs.GetCommit(), b.hs.GetCommit())
		l.hs = b.hs
	}
	if b.reset != nil {
		l.truncated, l.last = *b.reset, b.reset.Index
		l.tail.clear()
		l.sizer.reset()
	}
	for _, ents := range b.staged {
		l.remember(ents)
	}
	invariants.That(l.last >= l.truncated.Index, "the log ends at %d, before it starts at %d", l.last, l.truncated.Index)
	return nil
}

// Discard drops a batch that is not committed.
func (b *Batch) Discard() error { return b.b.Close() }
