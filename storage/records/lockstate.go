package records

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// holdsShown is how many holds, and how many delayed ones, a LockState names.
const holdsShown = 8

// LockHead returns the head of a key's lock without its past holds, or nil.
func LockHead(rows table.Reader, n layout.Name) (*storev1.LockHead, error) {
	h, _, err := ReadLock(rows, n)
	return h, err
}

// ReadLock returns the head of a key's lock, or nil, and its past holds, which the head has not.
func ReadLock(rows table.Reader, n layout.Name) (*storev1.LockHead, layout.PastHolds, error) {
	value, ok, err := rows.Get(layout.NameRow(layout.RowLock, n))
	if err != nil || !ok {
		return nil, layout.PastHolds{}, err
	}
	return decodeLock(n, value)
}

func decodeLock(n layout.Name, value []byte) (*storev1.LockHead, layout.PastHolds, error) {
	h := &storev1.LockHead{}
	past, err := layout.DecodeLock(value, h)
	if err != nil {
		return nil, layout.PastHolds{}, fmt.Errorf("lock %q: %w", n.Key, err)
	}
	return h, past, nil
}

// IsIdle says that nobody holds a lock, waits for it, or lost it with a delay.
func IsIdle(h *storev1.LockHead) bool {
	return h.GetHolders()+h.GetDelayed()+h.GetWaiters() == 0
}

// LockState describes a lock in short.
func LockState(rows table.Reader, n layout.Name, head *storev1.LockHead) (*storev1.LockState, error) {
	frozen, err := IsFrozen(rows)
	if err != nil {
		return nil, err
	}
	s := &storev1.LockState{
		Key:          n.Key,
		Mode:         head.GetMode(),
		Limit:        head.GetLimit(),
		LockIndex:    head.GetLockIndex(),
		Holders:      head.GetHolders(),
		Waiters:      head.GetWaiters(),
		DelayedHolds: head.GetDelayed(),
		Frozen:       frozen,
	}
	if head.GetHolders()+head.GetDelayed() == 0 {
		return s, nil
	}
	if s.Holds, err = firstHolds(rows, n, head); err != nil {
		return nil, err
	}
	s.Delayed, err = firstDelayed(rows, n, head)
	return s, err
}

// firstHolds returns the valid holds that a LockState names.
func firstHolds(rows table.Reader, n layout.Name, head *storev1.LockHead) (holds []*storev1.HoldState, err error) {
	shown := min(holdsShown, int(head.GetHolders()))
	if shown == 0 {
		return nil, nil
	}
	err = ScanHolds(rows, n, 0, func(h *storev1.HoldRecord) bool {
		if !h.GetDelayed() {
			holds = append(holds, HoldState(n.Key, h))
		}
		return len(holds) < shown
	})
	return holds, err
}

// firstDelayed returns the delayed holds that a LockState names.
func firstDelayed(rows table.Reader, n layout.Name, head *storev1.LockHead) (holds []*storev1.HoldState, err error) {
	shown := min(holdsShown, int(head.GetDelayed()))
	if shown == 0 {
		return nil, nil
	}
	err = scanDelayed(rows, n, 0, func(h *storev1.HoldRecord) bool {
		holds = append(holds, HoldState(n.Key, h))
		return len(holds) < shown
	})
	return holds, err
}

// ScanHolds visits the valid holds of a lock with a higher lock_index than after, and those delayed ones that were lost under
// version 1.
func ScanHolds(rows table.Reader, n layout.Name, after uint64, visit func(*storev1.HoldRecord) bool) error {
	return rows.Scan(layout.NumberedRow(layout.RowHold, n, after+1), layout.RowsEnd(layout.NameRows(layout.RowHold, n)), func(_, value []byte) (bool, error) {
		h := &storev1.HoldRecord{}
		if err := layout.Decode(value, h); err != nil {
			return false, fmt.Errorf("hold of %q: %w", n.Key, err)
		}
		return visit(h), nil
	})
}

// HoldState describes a hold.
func HoldState(key string, h *storev1.HoldRecord) *storev1.HoldState {
	return &storev1.HoldState{
		Key:          key,
		LockIndex:    h.GetLockIndex(),
		FencingToken: h.GetFencingToken(),
		SessionId:    h.GetSessionId(),
		Owner:        h.GetOwner(),
		Mode:         h.GetMode(),
		Permits:      h.GetPermits(),
		GrantTimeMs:  h.GetGrantTimeMs(),
		SessionName:  h.GetSessionName(),
		Delayed:      h.GetDelayed(),
		DelayMs:      h.GetDelayMs(),
		LostTimeMs:   h.GetLostTimeMs(),
	}
}

// ReadHold returns the hold of a number, valid or delayed, or nil.
func ReadHold(rows table.Reader, n layout.Name, lockIndex uint64) (*storev1.HoldRecord, error) {
	value, ok, err := rows.Get(layout.NumberedRow(layout.RowHold, n, lockIndex))
	if err != nil {
		return nil, err
	}
	if ok {
		return decodeHold(n, lockIndex, value)
	}
	value, ok, err = rows.Get(layout.NumberedRow(layout.RowDelay, n, lockIndex))
	if err != nil || !ok {
		return nil, err
	}
	return delayedHold(rows, n, lockIndex, value)
}

// decodeHold reads the record of a hold.
func decodeHold(n layout.Name, lockIndex uint64, value []byte) (*storev1.HoldRecord, error) {
	h := &storev1.HoldRecord{}
	if err := layout.Decode(value, h); err != nil {
		return nil, fmt.Errorf("hold %d of %q: %w", lockIndex, n.Key, err)
	}
	return h, nil
}

// delayedHold returns the delayed hold of a number whose row has the given value.
func delayedHold(rows table.Reader, n layout.Name, number uint64, value []byte) (*storev1.HoldRecord, error) {
	d, err := layout.CutDelayedRow(value)
	if err != nil {
		return nil, err
	}
	if len(d.Record) > 0 {
		return decodeHold(n, number, d.Record)
	}
	among, ok, err := rows.Get(layout.NumberedRow(layout.RowHold, n, number))
	if err == nil && !ok {
		err = fmt.Errorf("%w: delayed hold %d of %q", layout.ErrCorrupt, number, n.Key)
	}
	if err != nil {
		return nil, err
	}
	return decodeHold(n, number, among)
}

// scanDelayed visits the delayed holds of a lock with a higher lock_index than after, by lock_index.
func scanDelayed(rows table.Reader, n layout.Name, after uint64, visit func(*storev1.HoldRecord) bool) error {
	return rows.Scan(layout.NumberedRow(layout.RowDelay, n, after+1), layout.RowsEnd(layout.NameRows(layout.RowDelay, n)), func(row, value []byte) (bool, error) {
		_, number, ok := layout.CutNumberedRow(row)
		if !ok {
			return false, fmt.Errorf("%w: delay row", layout.ErrCorrupt)
		}
		h, err := delayedHold(rows, n, number, value)
		if err != nil {
			return false, err
		}
		return visit(h), nil
	})
}
