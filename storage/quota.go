package storage

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// GrowthBytesMax returns how many bytes the store may have and still grow.
func GrowthBytesMax(limits *storev1.Limits) uint64 { return quota.GrowthBytesMax(limits) }

// needSpace refuses what makes the state grow once the store has reached the part of its limit that is for growth. It
// looks at the state as the command has left it so far, so a transaction may first delete and then put.
func (c *command) needSpace() error {
	limits, err := c.effectiveLimits()
	if err != nil || c.rows.Bytes < GrowthBytesMax(limits) {
		return err
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_STORE_FULL,
		storev1.FailureDetail_FAILURE_DETAIL_STORE_IS_FULL, c.rows.Bytes, GrowthBytesMax(limits))
	f.Failure.LimitName = "store_bytes_max"
	f.Failure.Limit = limits.GetStoreBytesMax()
	f.Failure.Actual = c.rows.Bytes
	return f
}

// needSpaceFor is needSpace for a value that comes with the release of a lock, which goes on in a full store: a value
// that is no longer than the one before needs no space.
func (c *command) needSpaceFor(old keyFacts, value []byte) error {
	if len(value) <= old.valueBytes {
		return nil
	}
	return c.needSpace()
}

// Usage says how full a store is.
type Usage struct {
	// Bytes is the size of the state: all rows, with their history.
	Bytes uint64
	// BytesMax is the limit.
	BytesMax uint64
	// GrowthBytesMax is from where on nothing is taken that makes the state grow.
	GrowthBytesMax uint64
	// Full says that Bytes has reached GrowthBytesMax.
	Full bool
}

// Usage returns how full the store is. One that is not bootstrapped is empty.
func (r *Reader) Usage() (Usage, error) {
	limits, err := r.Limits()
	if err != nil {
		return Usage{}, err
	}
	a, err := r.Applied()
	if err != nil && !errors.Is(err, ErrNotBootstrapped) {
		return Usage{}, err
	}
	most := GrowthBytesMax(limits)
	return Usage{
		Bytes: a.StoreBytes, BytesMax: limits.GetStoreBytesMax(), GrowthBytesMax: most, Full: a.StoreBytes >= most,
	}, nil
}

// countBytes returns the bytes of all rows but the applied record.
func countBytes(rows table.Reader) (uint64, error) {
	total := uint64(0)
	err := rows.Scan([]byte{0}, nil, func(row, value []byte) (bool, error) {
		if row[0] != layout.RowApplied {
			total += uint64(len(row) + len(value))
		}
		return true, nil
	})
	return total, err
}
