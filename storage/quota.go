package storage

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/table"
)

// GrowthBytesMax returns how many bytes the store may have and still grow.
func GrowthBytesMax(limits *storev1.Limits) uint64 { return quota.GrowthBytesMax(limits) }

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
