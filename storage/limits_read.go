package storage

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/table"
)

// readLimits returns the limits in force: those that were set, and the defaults for the others.
func readLimits(rows table.Reader) (*storev1.Limits, error) {
	set, err := readLimitsSet(rows)
	if err != nil {
		return nil, err
	}
	return quota.InForce(set), nil
}

// readLimitsSet returns the limits that were set.
func readLimitsSet(rows table.Reader) (*storev1.Limits, error) {
	value, ok, err := rows.Get([]byte{layout.RowLimits})
	if err != nil || !ok {
		return nil, err
	}
	r := &storev1.LimitsRecord{}
	if err := layout.Decode(value, r); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	return r.GetLimits(), nil
}

// isFrozen says whether grants are frozen after a restore.
func isFrozen(rows table.Reader) (bool, error) {
	_, frozen, err := rows.Get([]byte{layout.RowFreeze})
	return frozen, err
}
