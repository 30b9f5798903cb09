package storage

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// holdsShown is how many holds, and how many delayed ones, a LockState names.
const holdsShown = 8

// lockHead returns the head of a key's lock, or nil.
func lockHead(rows rowReader, n name) (*storev1.LockHead, error) {
	value, ok, err := rows.get(nameRow(rowLock, n))
	if err != nil || !ok {
		return nil, err
	}
	h := &storev1.LockHead{}
	if err := decode(value, h); err != nil {
		return nil, fmt.Errorf("lock %q: %w", n.key, err)
	}
	return h, nil
}

// isIdle says that nobody holds a lock, waits for it, or lost it with a delay.
func isIdle(h *storev1.LockHead) bool {
	return h.GetHolders()+h.GetDelayed()+h.GetWaiters() == 0
}

// lockState describes a lock in short.
func lockState(rows rowReader, n name, head *storev1.LockHead) (*storev1.LockState, error) {
	frozen, err := isFrozen(rows)
	if err != nil {
		return nil, err
	}
	s := &storev1.LockState{
		Key:          n.key,
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
	validShown, delayedShown := min(holdsShown, int(head.GetHolders())), min(holdsShown, int(head.GetDelayed()))
	err = scanHolds(rows, n, 0, func(h *storev1.HoldRecord) bool {
		switch {
		case h.GetDelayed() && len(s.GetDelayed()) < delayedShown:
			s.Delayed = append(s.Delayed, holdState(n.key, h))
		case !h.GetDelayed() && len(s.GetHolds()) < validShown:
			s.Holds = append(s.Holds, holdState(n.key, h))
		}
		return len(s.GetHolds()) < validShown || len(s.GetDelayed()) < delayedShown
	})
	return s, err
}

// scanHolds visits the holds of a lock, valid and delayed, with a higher lock_index than after.
func scanHolds(rows rowReader, n name, after uint64, visit func(*storev1.HoldRecord) bool) error {
	return rows.scan(numberedRow(rowHold, n, after+1), rowsEnd(nameRows(rowHold, n)), func(_, value []byte) (bool, error) {
		h := &storev1.HoldRecord{}
		if err := decode(value, h); err != nil {
			return false, fmt.Errorf("hold of %q: %w", n.key, err)
		}
		return visit(h), nil
	})
}

// holdState describes a hold.
func holdState(key string, h *storev1.HoldRecord) *storev1.HoldState {
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
