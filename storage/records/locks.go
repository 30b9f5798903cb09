package records

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// LockReader reads the locks of a Reader's snapshot, with their holds and queues.
type LockReader struct{ rows table.Snapshot }

// NewLockReader returns a reader of the locks of a snapshot.
func NewLockReader(rows table.Snapshot) LockReader { return LockReader{rows} }

// LockInfo is a lock as it is, with why its last holders are none any more.
type LockInfo struct {
	// State is the lock in short.
	State *storev1.LockState
	// Past are the last holds that ended, newest last.
	Past []*storev1.PastHold
}

// Lock returns a key's lock, or false if it was never locked or is forgotten.
func (r *LockReader) Lock(key string) (LockInfo, bool, error) {
	n := layout.Name{Key: key}
	head, past, err := ReadLock(r.rows, n)
	if err != nil || head == nil {
		return LockInfo{}, false, err
	}
	info, err := r.info(n, head, past)
	return info, err == nil, err
}

// info describes a lock.
func (r *LockReader) info(n layout.Name, head *storev1.LockHead, past layout.PastHolds) (info LockInfo, err error) {
	if info.State, err = LockState(r.rows, n, head); err == nil {
		info.Past, err = past.Holds()
	}
	return info, err
}

// Hold returns the hold of a key and lock_index, valid or delayed, or false.
func (r *LockReader) Hold(key string, lockIndex uint64) (*storev1.HoldState, bool, error) {
	h, err := ReadHold(r.rows, layout.Name{Key: key}, lockIndex)
	if err != nil || h == nil {
		return nil, false, err
	}
	return HoldState(key, h), true, nil
}

// Holds returns valid holds of a lock with a higher lock_index than after, at most limit, and whether there are more; zero or
// less is no limit.
func (r *LockReader) Holds(key string, after uint64, limit int) ([]*storev1.HoldState, bool, error) {
	page := holdPage{key: key, limit: limit}
	err := ScanHolds(r.rows, layout.Name{Key: key}, after, func(h *storev1.HoldRecord) bool {
		return h.GetDelayed() || page.add(h)
	})
	return page.holds, page.more, err
}

// DelayedHolds is Holds of the delayed ones.
func (r *LockReader) DelayedHolds(key string, after uint64, limit int) ([]*storev1.HoldState, bool, error) {
	page := holdPage{key: key, limit: limit}
	err := scanDelayed(r.rows, layout.Name{Key: key}, after, page.add)
	return page.holds, page.more, err
}

// holdPage collects holds of a lock.
type holdPage struct {
	key   string
	limit int
	holds []*storev1.HoldState
	more  bool
}

// add adds a hold. It returns false once the page is full.
func (p *holdPage) add(h *storev1.HoldRecord) bool {
	if p.limit > 0 && len(p.holds) >= p.limit {
		p.more = true
		return false
	}
	p.holds = append(p.holds, HoldState(p.key, h))
	return true
}

// WaiterValueField is the number of the field that holds what a waiter's grant writes.
const WaiterValueField = 6

// decodeWaiter reads the record of a place, without the value that its grant writes: nobody is shown it, and values of many
// places are large.
func decodeWaiter(value []byte) (*storev1.WaiterRecord, error) {
	short, _, err := layout.WithoutField(value, WaiterValueField)
	if err != nil {
		return nil, fmt.Errorf("place: %w", err)
	}
	w := &storev1.WaiterRecord{}
	return w, layout.Decode(short, w)
}

// WaiterEntry is one place in a queue. Its record comes without the value that a grant writes.
type WaiterEntry struct {
	// Key is the lock's.
	Key string
	// Place is its number; places are granted in the order of their numbers.
	Place uint64
	// Record is who waits for what.
	Record *storev1.WaiterRecord
}

// Waiter returns the record of a place that waits for a lock; nil when that place waits no more, or never did.
func (r *LockReader) Waiter(key string, place uint64) (*storev1.WaiterRecord, error) {
	w, err := viewWaiter(r.rows, layout.Name{Key: key}, place)
	if err != nil {
		return nil, fmt.Errorf("place in %q: %w", key, err)
	}
	return w, nil
}

// viewWaiter returns the record of a place; nil when there is none. Of one with a large value it reads the brief.
func viewWaiter(rows table.Snapshot, n layout.Name, place uint64) (*storev1.WaiterRecord, error) {
	var w *storev1.WaiterRecord
	found, err := rows.View(layout.NumberedRow(layout.RowPlaceBrief, n, place), func(value []byte) error {
		brief, err := layout.CutBrief(value)
		if err == nil {
			w, err = decodeWaiter(brief.Record)
		}
		return err
	})
	if err == nil && !found {
		_, err = rows.View(layout.NumberedRow(layout.RowPlace, n, place), func(value []byte) (err error) {
			w, err = decodeWaiter(value)
			return err
		})
	}
	return w, err
}

// Waiters returns places in a lock's queue with a higher number than after, at most limit, and whether there are more;
// zero or less is no limit.
func (r *LockReader) Waiters(key string, after uint64, limit int) ([]WaiterEntry, bool, error) {
	n := layout.Name{Key: key}
	var page []WaiterEntry
	more := false
	from, to := layout.NumberedRow(layout.RowPlace, n, after+1), layout.RowsEnd(layout.NameRows(layout.RowPlace, n))
	err := r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		if limit > 0 && len(page) >= limit {
			more = true
			return false, nil
		}
		_, place, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: place in %q", layout.ErrCorrupt, key)
		}
		w, err := decodeWaiter(value)
		if err != nil {
			return false, fmt.Errorf("place in %q: %w", key, err)
		}
		page = append(page, WaiterEntry{Key: key, Place: place, Record: w})
		return true, nil
	})
	return page, more, err
}

// Locks returns locks whose keys begin with prefix and come after a key, also free ones that are remembered, at most
// limit, and whether there are more; zero or less is no limit.
func (r *LockReader) Locks(prefix, after string, limit int) ([]LockInfo, bool, error) {
	from, to := layout.PageRows(layout.RowLock, prefix, after)
	var page []LockInfo
	more := false
	err := r.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		if limit > 0 && len(page) >= limit {
			more = true
			return false, nil
		}
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: lock row", layout.ErrCorrupt)
		}
		head, past, err := decodeLock(n, value)
		if err != nil {
			return false, err
		}
		info, err := r.info(n, head, past)
		page = append(page, info)
		return true, err
	})
	return page, more, err
}

// Delay is a hold that was lost and still counts.
type Delay struct {
	// Key, LockIndex and FencingToken name the hold.
	Key                     string
	LockIndex, FencingToken uint64
	// DelayMs is the length of the lock-delay.
	DelayMs int64
}

// Delays returns all delayed holds, by key and lock_index: what a new leader starts timers for.
func (r *LockReader) Delays() ([]Delay, error) {
	var delays []Delay
	err := r.rows.Scan([]byte{layout.RowDelay}, []byte{layout.RowDelay + 1}, func(row, value []byte) (bool, error) {
		n, lockIndex, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: delay row", layout.ErrCorrupt)
		}
		d, err := layout.CutDelayedRow(value)
		if err != nil {
			return false, err
		}
		delays = append(delays, Delay{Key: n.Key, LockIndex: lockIndex, FencingToken: d.Token, DelayMs: d.DelayMs})
		return true, nil
	})
	return delays, err
}

// Wait is a place whose wait has a time-out.
type Wait struct {
	// Key and Place name it.
	Key   string
	Place uint64
	// SessionID waits.
	SessionID layout.SessionID
	// WaitMs is the longest wait.
	WaitMs int64
}

// Waits returns all places with a time-out, by key and place: what a new leader starts timers for.
func (r *LockReader) Waits() ([]Wait, error) {
	var waits []Wait
	err := r.rows.Scan([]byte{layout.RowWait}, []byte{layout.RowWait + 1}, func(row, value []byte) (bool, error) {
		n, place, ok := layout.CutNumberedRow(row)
		if !ok || len(value) != len(layout.SessionID{})+8 {
			return false, fmt.Errorf("%w: wait row", layout.ErrCorrupt)
		}
		ms, err := layout.CutUint64s(value[len(layout.SessionID{}):], 1)
		if err != nil {
			return false, err
		}
		waits = append(waits, Wait{Key: n.Key, Place: place, SessionID: layout.SessionID(value[:16]), WaitMs: int64(ms[0])})
		return true, nil
	})
	return waits, err
}
