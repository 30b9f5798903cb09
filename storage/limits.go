package storage

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// defaultLimits are those of cluster version 1, where nothing else was set.
func defaultLimits() *storev1.Limits {
	return &storev1.Limits{
		WaitersMax:            proto.Uint32(65_536),
		HoldersMax:            proto.Uint32(16_384),
		SessionObjectsMax:     proto.Uint32(4_096),
		EndedSessionsMax:      proto.Uint32(10_000),
		RequestWindowMax:      proto.Uint32(1_024),
		RequestWindowBytesMax: proto.Uint64(1 << 20),
		IdempotencyKeysMax:    proto.Uint32(100_000),
		TombstoneBytesMax:     proto.Uint64(256 << 20),
		HistoryRevisions:      proto.Uint64(1_000_000),
		HistoryMs:             proto.Int64(600_000),
		HistoryBytesMax:       proto.Uint64(2 << 30),
		SessionsMax:           proto.Uint64(1_000_000),
		StoreBytesMax:         proto.Uint64(8 << 30),
		IdempotencyBytesMax:   proto.Uint64(256 << 20),
		CommandRowsMax:        proto.Uint32(commandRowsMax),
		CommandBytesMax:       proto.Uint64(commandBytesMax),
	}
}

// effectiveLimits returns the limits in force; nobody may change them.
func (w *work) effectiveLimits() (*storev1.Limits, error) {
	if w.limits == nil {
		limits, err := readLimits(w.rows)
		if err != nil {
			return nil, err
		}
		w.limits = limits
	}
	return w.limits, nil
}

// rowReader reads rows: the overlay of a batch, or a snapshot.
type rowReader interface {
	get(row []byte) ([]byte, bool, error)
	scan(from, to []byte, visit func(row, value []byte) (bool, error)) error
}

// readLimits returns the limits in force: those that were set, and the defaults for the others.
func readLimits(rows rowReader) (*storev1.Limits, error) {
	set, err := readLimitsSet(rows)
	if err != nil {
		return nil, err
	}
	return inForce(set), nil
}

// readLimitsSet returns the limits that were set.
func readLimitsSet(rows rowReader) (*storev1.Limits, error) {
	value, ok, err := rows.get([]byte{layout.RowLimits})
	if err != nil || !ok {
		return nil, err
	}
	r := &storev1.LimitsRecord{}
	if err := layout.Decode(value, r); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	return r.GetLimits(), nil
}

// inForce returns the limits in force where some were set.
func inForce(set *storev1.Limits) *storev1.Limits {
	limits := defaultLimits()
	proto.Merge(limits, set)
	boundParts(limits)
	return limits
}

// isFrozen says whether grants are frozen after a restore.
func isFrozen(rows rowReader) (bool, error) {
	_, frozen, err := rows.get([]byte{layout.RowFreeze})
	return frozen, err
}
