package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/database"
)

// Log is the raft log of one member.
type Log struct {
	db *pebble.DB

	// writeMu serialises commits, so that a truncation and a snapshot's reset never interleave. It comes before mu.
	writeMu sync.Mutex

	// mu guards the fields below, which mirror what is committed.
	mu        sync.RWMutex
	truncated EntryID // last entry that was cut away
	last      uint64  // index of the newest entry; truncated.Index when there is none
	hs        *raftpb.HardState
	tail      tail
	sizer     sizer

	appended atomic.Uint64 // entries appended since Open
	failure  atomic.Pointer[error]
	failed   chan struct{}
	failOnce sync.Once
}

// FirstIndex returns the index of the first entry that is kept.
func (l *Log) FirstIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.truncated.Index + 1, nil
}

// LastIndex returns the index of the newest entry, or of the last one cut away if none is kept.
func (l *Log) LastIndex() (uint64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last, nil
}

// HardState returns the newest committed hard state; nil when there is none.
func (l *Log) HardState() *raftpb.HardState {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.hs
}

// Term returns the term of an entry from FirstIndex - 1 to LastIndex.
func (l *Log) Term(index uint64) (uint64, error) {
	l.mu.RLock()
	switch {
	case index < l.truncated.Index:
		l.mu.RUnlock()
		return 0, raft.ErrCompacted
	case index == l.truncated.Index:
		defer l.mu.RUnlock()
		return l.truncated.Term, nil
	case index > l.last:
		l.mu.RUnlock()
		return 0, raft.ErrUnavailable
	case l.tail.has(index):
		defer l.mu.RUnlock()
		return l.tail.at(index).GetTerm(), nil
	}
	l.mu.RUnlock()
	v, closer, err := l.db.Get(entryKey(index))
	if err != nil {
		return 0, l.readError(index, err)
	}
	_, term, _, err := decodeEntryHeader(index, v)
	if cerr := closer.Close(); err == nil {
		err = cerr
	}
	return term, err
}

// Entries returns the entries from lo up to and without hi, at least one, else at most bytesMax. The caller owns the
// slice; the entries are shared and never changed.
func (l *Log) Entries(lo, hi, bytesMax uint64) ([]*raftpb.Entry, error) {
	l.mu.RLock()
	if lo <= l.truncated.Index {
		l.mu.RUnlock()
		return nil, raft.ErrCompacted
	}
	if hi > l.last+1 {
		l.mu.RUnlock()
		return nil, raft.ErrUnavailable
	}
	var recent []*raftpb.Entry
	diskEnd := hi
	if n := len(l.tail.entries); n > 0 && hi > l.tail.first() {
		from := max(lo, l.tail.first())
		recent = append(recent, l.tail.entries[from-l.tail.first():hi-l.tail.first()]...)
		diskEnd = from
	}
	l.mu.RUnlock()
	if lo >= diskEnd {
		return limitSize(recent, bytesMax), nil
	}
	ents, err := l.readEntries(lo, diskEnd, bytesMax)
	if err != nil {
		return nil, err
	}
	if uint64(len(ents)) == diskEnd-lo {
		ents = append(ents, recent...)
	}
	return limitSize(ents, bytesMax), nil
}

// readEntries reads entries from Pebble, at least one, until bytesMax is passed.
func (l *Log) readEntries(lo, hi, bytesMax uint64) (ents []*raftpb.Entry, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(lo), UpperBound: entryKey(hi)})
	if err != nil {
		return nil, readFailed(err)
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			err = readFailed(cerr)
		}
	}()
	want, size := lo, uint64(0)
	for ok := it.First(); ok && (len(ents) == 0 || size <= bytesMax); ok = it.Next() {
		index, err := entryKeyIndex(it.Key())
		if err != nil {
			return nil, err
		}
		if index != want {
			return nil, l.readError(want, pebble.ErrNotFound)
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, readFailed(err)
		}
		e, err := decodeEntry(index, v)
		if err != nil {
			return nil, err
		}
		ents = append(ents, e)
		size += uint64(len(v))
		want++
	}
	if err := it.Error(); err != nil {
		return nil, readFailed(err)
	}
	if len(ents) == 0 {
		return nil, l.readError(lo, pebble.ErrNotFound)
	}
	return ents, nil
}

// readError explains why an entry that was inside the bounds could not be read: a truncation or replacement overtook
// the reader, or the log has a hole.
func (l *Log) readError(index uint64, err error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case index <= l.truncated.Index:
		return raft.ErrCompacted
	case index > l.last:
		return raft.ErrUnavailable
	case !errors.Is(err, pebble.ErrNotFound):
		return readFailed(err)
	}
	return fmt.Errorf("%w: entry %d: %w", ErrCorrupt, index, err)
}

// limitSize cuts entries to bytesMax but leaves one.
func limitSize(ents []*raftpb.Entry, bytesMax uint64) []*raftpb.Entry {
	size := uint64(0)
	for i, e := range ents {
		size += uint64(entrySize(e))
		if i > 0 && size > bytesMax {
			return ents[:i:i]
		}
	}
	return ents
}

// TruncatePrefix cuts every entry up to index. It is not synced: a lost truncation is done again. An index before the
// first entry is no error and changes nothing.
func (l *Log) TruncatePrefix(index uint64) error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	first, _ := l.FirstIndex()
	if index < first {
		return nil
	}
	term, err := l.Term(index)
	if err != nil {
		return fmt.Errorf("truncate raft log to %d: %w", index, err)
	}
	id := EntryID{Index: index, Term: term}
	b := l.db.NewBatch()
	if err := b.DeleteRange(entryKey(0), entryKey(index+1), nil); err != nil {
		return l.fail(err)
	}
	if err := b.Set(truncatedKey, encodeEntryID(id), nil); err != nil {
		return l.fail(err)
	}
	if err := l.commit(b, false); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.truncated = id
	l.tail.cutTo(index)
	l.sizer.cutTo(index)
	return nil
}

// SizeBytes returns roughly how many bytes of entries the log keeps.
func (l *Log) SizeBytes() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sizer.from(l.truncated.Index)
}

// SizeBytesFrom returns roughly how many bytes lie behind index.
func (l *Log) SizeBytesFrom(index uint64) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sizer.from(max(index, l.truncated.Index))
}

// IndexBehind returns an index behind which, up to and with the entry at index, lie roughly bytesMax bytes of entries,
// never more.
func (l *Log) IndexBehind(index, bytesMax uint64) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sizer.behind(index, bytesMax)
}

// Appended returns how many entries were appended since Open.
func (l *Log) Appended() uint64 { return l.appended.Load() }

// Truncated names the last entry that was cut away.
func (l *Log) Truncated() EntryID {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.truncated
}

// remember takes entries into the mirror. The caller holds mu.
func (l *Log) remember(ents []*raftpb.Entry) {
	l.sizer.replaceFrom(ents[0].GetIndex())
	for _, e := range ents {
		l.sizer.add(e.GetIndex(), entrySize(e))
	}
	l.tail.append(ents)
	l.last = ents[len(ents)-1].GetIndex()
	l.appended.Add(uint64(len(ents)))
}

// Close ends the log. A failed log is closed too; the error tells that it failed.
func (l *Log) Close() error {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	failure := l.Err()
	l.setFailure(ErrClosed)
	if err := database.Close(l.db); failure == nil && err != nil {
		return fmt.Errorf("close raft log: %w", err)
	}
	return failure
}
