package storage

import "github.com/tenure-io/tenure/internal/invariants"

// verifyBytes checks the bytes of an overlay against what its rows change on disk.
func (o *overlay) verifyBytes(before uint64) error {
	if o.tree.Len() > 16*verifiedMax {
		return nil
	}
	bytes, err := before, error(nil)
	o.tree.Ascend(func(p *pending) bool {
		_, err = viewRow(o.disk, p.row, func(value []byte) error {
			bytes -= uint64(len(p.row) + len(value))
			return nil
		})
		bytes += p.size()
		return err == nil
	})
	if err == nil {
		invariants.That(bytes == o.bytes, "the rows are %d bytes, counted were %d", bytes, o.bytes)
	}
	return err
}

// verifyHot checks a row that is kept in memory against the disk.
func (o *overlay) verifyHot(row []byte, known hotRow) error {
	value, found, err := getRow(o.disk, row)
	if err == nil {
		invariants.That(found == (known != nil) && string(value) == string(known), "a row kept in memory differs from the disk: %q", row)
	}
	return err
}
