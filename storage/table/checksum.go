package table

import (
	"hash/crc64"

	"github.com/tenure-io/tenure/storage/layout"
)

// Checksum is the rolling checksum of everything applied. It covers the entries and the logical writes they made, in
// the order they were made, so it does not depend on where batches begin and end.
type Checksum struct {
	Sum   uint64
	table *crc64.Table
	head  []byte
}

// NewChecksum goes on from sum.
func NewChecksum(sum uint64) *Checksum {
	return &Checksum{Sum: sum, table: crc64.MakeTable(crc64.ECMA)}
}

// AddEntry adds an entry before the writes that it makes.
func (c *Checksum) AddEntry(e layout.Entry) {
	c.head = layout.AppendUint64s(c.head[:0], e.Index, e.Term, uint64(len(e.Data)), uint64(len(e.ConfState)))
	c.Sum = crc64.Update(c.Sum, c.table, c.head)
	c.Sum = crc64.Update(c.Sum, c.table, e.Data)
	c.Sum = crc64.Update(c.Sum, c.table, e.ConfState)
}

// addRow adds one write.
func (c *Checksum) addRow(p *Pending) {
	deleted := uint64(0)
	if p.Value == nil {
		deleted = 1
	}
	c.head = layout.AppendUint64s(c.head[:0], deleted, uint64(len(p.Row)), uint64(len(p.Value)))
	c.head = append(c.head, p.Row...)
	c.Sum = crc64.Update(c.Sum, c.table, c.head)
	c.Sum = crc64.Update(c.Sum, c.table, p.Value)
}
