package table

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/internal/invariants"
)

// verifiedMax is the largest number of rows that an invariant counts.
const verifiedMax = 1024

// VerifyBytes checks the bytes of an overlay against what its rows change on disk.
func (o *Overlay) VerifyBytes(before uint64) error {
	if o.tree.Len() > verifiedMax {
		return nil
	}
	bytes, err := before, error(nil)
	o.tree.Ascend(func(p *Pending) bool {
		_, err = ViewRow(o.disk, p.Row, func(value []byte) error {
			bytes -= uint64(len(p.Row) + len(value))
			return nil
		})
		bytes += p.size()
		return err == nil
	})
	if err == nil {
		invariants.That(bytes == o.Bytes, "the rows are %d bytes, counted were %d", bytes, o.Bytes)
	}
	return err
}

// verifyHot checks a row that is kept in memory against the disk.
func verifyHot(disk pebble.Reader, row []byte, known HotRow) error {
	value, found, err := GetRow(disk, row)
	if err == nil {
		invariants.That(found == (known != nil) && string(value) == string(known), "a row kept in memory differs from the disk: %q", row)
	}
	return err
}
