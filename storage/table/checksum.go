package table

import (
	"hash/crc64"

	"github.com/cespare/xxhash/v2"

	"github.com/tenure-io/tenure/storage/layout"
)

// Checksum is the rolling checksum of everything applied. It covers the entries and the logical writes they made, in
// the order they were made, so it does not depend on where batches begin and end.
//
// Under the versions 1 and 2 of a cluster it is a CRC-64 of all of that. From version 3 on each part is hashed with XXH64, with the
// sum of all before as seed: it finds what differs as well, in less than a fifth of the time.
type Checksum struct {
	Sum   uint64
	table *crc64.Table
	hash  *xxhash.Digest
	fast  bool // whether it hashes with XXH64
	head  []byte
}

// NewChecksum goes on from sum, in a cluster of a version.
func NewChecksum(sum uint64, version uint32) *Checksum {
	c := &Checksum{Sum: sum, table: crc64.MakeTable(crc64.ECMA), hash: xxhash.New()}
	c.Follow(version)
	return c
}

// Follow sums up from now on as a cluster of a version does.
func (c *Checksum) Follow(version uint32) { c.fast = version >= layout.Version3 }

// AddEntry adds an entry before the writes that it makes.
func (c *Checksum) AddEntry(e layout.Entry) {
	c.head = layout.AppendUint64s(c.head[:0], e.Index, e.Term, uint64(len(e.Data)), uint64(len(e.ConfState)))
	c.add(c.head, e.Data, e.ConfState)
}

// addRow adds one write.
func (c *Checksum) addRow(p *Pending) {
	deleted := uint64(0)
	if p.Value == nil {
		deleted = 1
	}
	c.head = layout.AppendUint64s(c.head[:0], deleted, uint64(len(p.Row)), uint64(len(p.Value)))
	c.head = append(c.head, p.Row...)
	c.add(c.head, p.Value, nil)
}

// add adds the concatenation of three texts.
func (c *Checksum) add(a, b, rest []byte) {
	if !c.fast {
		for _, text := range [...][]byte{a, b, rest} {
			c.Sum = crc64.Update(c.Sum, c.table, text)
		}
		return
	}
	c.hash.ResetWithSeed(c.Sum)
	for _, text := range [...][]byte{a, b, rest} {
		_, _ = c.hash.Write(text) // It never fails.
	}
	c.Sum = c.hash.Sum64()
}
