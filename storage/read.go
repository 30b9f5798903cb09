package storage

import (
	"fmt"
	"sync"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/auth"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/table"
)

// Reader reads one consistent snapshot of a store. It may be used from many goroutines, and must be closed.
type Reader struct {
	records.LockReader
	records.SessionReader
	members.MemberReader
	records.CatalogReader
	records.QueryReader
	auth.Reader
	store *Store
	rows  table.Snapshot
	dead  error
	close sync.Once

	// mu guards applied and known.
	mu      sync.Mutex
	applied Applied
	known   bool
}

// readerOf returns a reader of rows.
func readerOf(s *Store, rows table.Snapshot) *Reader {
	return &Reader{LockReader: records.NewLockReader(rows), SessionReader: records.NewSessionReader(rows), MemberReader: members.NewMemberReader(rows), CatalogReader: records.NewCatalogReader(rows), QueryReader: records.NewQueryReader(rows), Reader: auth.NewReader(rows), store: s, rows: rows}
}

// FindingsMax is how many findings a command may have.
const FindingsMax = records.FindingsMax

// Find returns a finding with what is there under its id.
func (r *Reader) Find(of *storev1.Finding) (*storev1.Finding, error) { return records.Find(r.rows, of) }

// NewReader returns a snapshot of what the last Apply left. After Close every call of it returns ErrClosed.
func (s *Store) NewReader() *Reader {
	if err := s.enter(); err != nil {
		r := readerOf(s, table.Snapshot{Dead: err})
		r.dead = err
		return r
	}
	before := s.writes.Load()
	applied := s.Applied()
	disk := s.db.NewSnapshot()
	// What is published belongs to the snapshot if no Apply came between; else the snapshot has its own account.
	known := before%2 == 0 && s.writes.Load() == before && applied.Index != 0
	rows := table.Snapshot{Disk: disk, Voids: s.voids}
	if known {
		rows.Index = applied.Index
	}
	r := readerOf(s, rows)
	r.applied, r.known = applied, known
	return r
}

// Close ends the snapshot. A second call does nothing.
func (r *Reader) Close() error {
	var err error
	r.close.Do(func() {
		if r.rows.Disk == nil {
			return
		}
		if err = r.rows.Disk.Close(); err != nil {
			err = fmt.Errorf("close reader: %w", err)
		}
		r.store.leave()
	})
	return err
}

// Applied returns the state's account of itself as of the snapshot.
func (r *Reader) Applied() (Applied, error) {
	if r.dead != nil {
		return Applied{}, r.dead
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known {
		return r.applied, nil
	}
	a, err := readApplied(r.rows.Disk)
	if err != nil {
		return Applied{}, err
	}
	r.applied, r.known = a, true
	return a, nil
}

// Get returns a key with its value, or false.
func (r *Reader) Get(key string) (*storev1.KeyState, bool, error) {
	n := layout.Name{Key: key}
	value, ok, err := r.rows.Get(layout.NameRow(layout.RowKey, n))
	if err != nil || !ok {
		return nil, false, err
	}
	k := &storev1.KeyRecord{}
	if err = layout.Decode(value, k); err != nil {
		return nil, false, fmt.Errorf("key %q: %w", key, err)
	}
	head, err := records.LockHead(r.rows, n)
	if err != nil {
		return nil, false, err
	}
	return records.KeyState(key, k, head), true, nil
}

// ListQuery says which keys to list.
type ListQuery struct {
	// Prefix is the beginning of the keys; empty lists all.
	Prefix string
	// After is the last key of the page before; empty for the first page.
	After string
	// Limit is the most keys to return; zero or less is no limit.
	Limit int
	// SizeBytesMax ends the page behind the key that reaches so many bytes of keys and values; zero is no limit. A page
	// has at least one key if there is one.
	SizeBytesMax int
	// KeysOnly leaves the values out.
	KeysOnly bool
}

// List returns a page of keys in order, and whether there are more behind it.
func (r *Reader) List(q ListQuery) ([]*storev1.KeyState, bool, error) {
	from, to := layout.PageRows(layout.RowKey, q.Prefix, q.After)
	var page []*storev1.KeyState
	size, more := 0, false
	err := r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		if (q.Limit > 0 && len(page) >= q.Limit) || (q.SizeBytesMax > 0 && size >= q.SizeBytesMax) {
			more = true
			return false, nil
		}
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: key row", ErrCorrupt)
		}
		k := &storev1.KeyRecord{}
		if err := layout.Decode(value, k); err != nil {
			return false, fmt.Errorf("key %q: %w", n.Key, err)
		}
		if q.KeysOnly {
			k.Value = nil
		}
		size += len(n.Key) + len(k.GetValue())
		page = append(page, records.KeyState(n.Key, k, nil))
		return true, nil
	})
	if err != nil {
		return nil, false, err
	}
	return page, more, r.addLocks(page)
}

// addLocks fills in what a page of keys shows of their locks, in one pass over the locks between first and last.
func (r *Reader) addLocks(page []*storev1.KeyState) error {
	if len(page) == 0 {
		return nil
	}
	from := layout.NameRow(layout.RowLock, layout.Name{Key: page[0].GetKey()})
	to := append(layout.NameRow(layout.RowLock, layout.Name{Key: page[len(page)-1].GetKey()}), 0)
	next := 0
	return r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: lock row", ErrCorrupt)
		}
		for next < len(page) && page[next].GetKey() < n.Key {
			next++
		}
		if next == len(page) {
			return false, nil
		}
		if page[next].GetKey() != n.Key {
			return true, nil
		}
		head := &storev1.LockHead{}
		if err := layout.Decode(value, head); err != nil {
			return false, fmt.Errorf("lock %q: %w", n.Key, err)
		}
		page[next].LockIndex = head.GetLockIndex()
		page[next].SessionId = head.GetExclusiveSessionId()
		return true, nil
	})
}

// Limits returns the replicated limits in force.
func (r *Reader) Limits() (*storev1.Limits, error) {
	return records.ReadLimits(r.rows)
}

// Freeze returns the freeze of grants after a restore, or false.
func (r *Reader) Freeze() (*storev1.FreezeRecord, bool, error) {
	value, ok, err := r.rows.Get([]byte{layout.RowFreeze})
	if err != nil || !ok {
		return nil, false, err
	}
	f := &storev1.FreezeRecord{}
	if err := layout.Decode(value, f); err != nil {
		return nil, false, fmt.Errorf("freeze: %w", err)
	}
	return f, true, nil
}
