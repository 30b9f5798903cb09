package machine

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// forgetRowsMax is how much of one kind of memory a command forgets: records of ended sessions, results under idempotency keys,
	// or results of request windows that are over.
	forgetRowsMax = 1024
	// forgetBytesMax is how many bytes of it the command reads before it leaves the rest.
	forgetBytesMax = 4 << 20
)

func forgetStint() *table.Stint { return &table.Stint{Rows: forgetRowsMax, Bytes: forgetBytesMax} }

// compactMemory forgets request windows that were over when history was forgotten last, and what is above the limits. It reports
// whether it left some.
func (c memoryVerbs) compactMemory() (more bool, err error) {
	if c.state.ClusterVersion < layout.Version2 {
		_, more, err = c.dropTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), tombstonesDroppedMax1)
		return more, err
	}
	windows := forgetStint()
	parts := []func() (bool, error){
		func() (bool, error) {
			return c.forgetTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), 0, windows)
		},
		func() (bool, error) { return c.forgetTombstonesAbove(windows) },
		func() (bool, error) { return c.sessions.forgetEnded(forgetStint()) },
		func() (bool, error) { return c.forgetKeyed(forgetStint()) },
	}
	for _, part := range parts {
		left, err := part()
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}

// forgetBuried forgets the oldest tombstones above the limit, if the command made one.
func (c memoryVerbs) forgetBuried() error {
	if !c.buried || c.state.ClusterVersion < layout.Version2 {
		return nil
	}
	c.buried = false
	_, err := c.forgetTombstonesAbove(forgetStint())
	return err
}

// forgetTombstonesAbove forgets the oldest tombstones above the limit. It reports whether it left some.
func (c memoryVerbs) forgetTombstonesAbove(left *table.Stint) (more bool, err error) {
	limits, err := c.effectiveLimits()
	if err != nil {
		return false, err
	}
	return c.forgetTombstones([]byte{layout.RowTombstone + 1}, limits.GetTombstoneBytesMax(), left)
}

// forgetTombstones forgets the oldest tombstones before the row end, until so many bytes of all are left. It reports whether there are
// more for the next command.
func (c memoryVerbs) forgetTombstones(end []byte, keep uint64, left *table.Stint) (more bool, err error) {
	if keep > 0 && c.state.TombstoneBytes <= keep {
		return false, nil
	}
	var rows [][]byte
	err = c.rows.Scan([]byte{layout.RowTombstone}, end, func(row, _ []byte) (bool, error) {
		if more = len(rows) >= left.Rows; more {
			return false, nil
		}
		rows = append(rows, bytes.Clone(row))
		return true, nil
	})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if keep > 0 && c.state.TombstoneBytes <= keep {
			return false, nil
		}
		if left.Over() {
			return true, nil
		}
		gone, err := c.forgetTombstone(row, left)
		if err != nil || !gone {
			return !gone, err
		}
	}
	return more && (keep == 0 || c.state.TombstoneBytes > keep), nil
}

// forgetTombstone forgets the results of a window that is over, the oldest first, and then the window. What a command leaves of it
// still answers. It reports whether all is gone.
func (c memoryVerbs) forgetTombstone(row []byte, left *table.Stint) (gone bool, err error) {
	id, epoch, ok := layout.CutTombstoneRow(row)
	if !ok {
		return false, fmt.Errorf("%w: tombstone row", layout.ErrCorrupt)
	}
	head, err := c.window(id, epoch)
	if err != nil {
		return false, err
	}
	type result struct {
		row  []byte
		size uint64 // of its value
	}
	var results []result
	gone = true
	from := layout.RequestRow(id, epoch, head.GetDoneBelow()) // What was below it is gone already.
	err = c.rows.Scan(from, layout.RequestRow(id, epoch+1, 0), func(row, value []byte) (bool, error) {
		if gone = !left.Over(); !gone {
			return false, nil
		}
		results = append(results, result{row: bytes.Clone(row), size: uint64(len(value))})
		left.Spend(1, uint64(len(row)+len(value)))
		return true, nil
	})
	if err != nil {
		return false, err
	}
	forgotten := uint64(0)
	for _, r := range results {
		c.rows.RemoveSized(r.row, uint64(len(r.row))+r.size)
		forgotten += r.size
	}
	if gone {
		c.rows.Remove(layout.WindowRow(id, epoch))
		c.rows.Remove(row)
		c.state.TombstoneBytes -= head.GetBytes()
		left.Spend(1, uint64(len(row)))
		return true, nil
	}
	last := results[len(results)-1].row // There is one, as the stint was not over.
	head.DoneBelow = binary.BigEndian.Uint64(last[len(last)-8:]) + 1
	head.Requests -= uint32(len(results))
	head.Bytes -= forgotten
	c.state.TombstoneBytes -= forgotten
	return false, c.saveWindow(id, head)
}
