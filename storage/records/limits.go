package records

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/table"
)

// ReadLimits returns the limits in force: those that were set, and the defaults for the others.
func ReadLimits(rows table.Reader) (*storev1.Limits, error) {
	set, err := LimitsSet(rows)
	if err != nil {
		return nil, err
	}
	return quota.InForce(set), nil
}

// LimitsSet returns the limits that were set.
func LimitsSet(rows table.Reader) (*storev1.Limits, error) {
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

// IsFrozen says whether grants are frozen after a restore.
func IsFrozen(rows table.Reader) (bool, error) {
	_, frozen, err := rows.Get([]byte{layout.RowFreeze})
	return frozen, err
}
