package storage

import (
	"hash/crc64"

	"github.com/tenure-io/tenure/storage/layout"
)

// checksum is the rolling checksum of everything applied. It covers the entries and the logical writes they made, in
// the order they were made, so it does not depend on where batches begin and end.
type checksum struct {
	sum   uint64
	table *crc64.Table
	head  []byte
}

// newChecksum goes on from sum.
func newChecksum(sum uint64) *checksum {
	return &checksum{sum: sum, table: crc64.MakeTable(crc64.ECMA)}
}

// addEntry adds an entry before the writes that it makes.
func (c *checksum) addEntry(e Entry) {
	c.head = layout.AppendUint64s(c.head[:0], e.Index, e.Term, uint64(len(e.Data)), uint64(len(e.ConfState)))
	c.sum = crc64.Update(c.sum, c.table, c.head)
	c.sum = crc64.Update(c.sum, c.table, e.Data)
	c.sum = crc64.Update(c.sum, c.table, e.ConfState)
}

// addRow adds one write.
func (c *checksum) addRow(p *pending) {
	deleted := uint64(0)
	if p.value == nil {
		deleted = 1
	}
	c.head = layout.AppendUint64s(c.head[:0], deleted, uint64(len(p.row)), uint64(len(p.value)))
	c.head = append(c.head, p.row...)
	c.sum = crc64.Update(c.sum, c.table, c.head)
	c.sum = crc64.Update(c.sum, c.table, p.value)
}
