package requests

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

// ForgetStint returns what a command may spend on one kind of memory.
func ForgetStint() *table.Stint { return &table.Stint{Rows: forgetRowsMax, Bytes: forgetBytesMax} }

// ForgetBuried forgets the oldest tombstones above the limit, if the command made one.
func (k *Keeper) ForgetBuried() error {
	if !k.buried || k.State.ClusterVersion < layout.Version2 {
		return nil
	}
	k.buried = false
	_, err := k.ForgetTombstonesAbove(ForgetStint())
	return err
}

// ForgetTombstonesAbove forgets the oldest tombstones above the limit. It reports whether it left some.
func (k *Keeper) ForgetTombstonesAbove(left *table.Stint) (more bool, err error) {
	limits, err := k.Command.Limits()
	if err != nil {
		return false, err
	}
	return k.ForgetTombstones([]byte{layout.RowTombstone + 1}, limits.GetTombstoneBytesMax(), left)
}

// ForgetTombstones forgets the oldest tombstones before the row end, until so many bytes of all are left. It reports whether there are
// more for the next command.
func (k *Keeper) ForgetTombstones(end []byte, keep uint64, left *table.Stint) (more bool, err error) {
	if keep > 0 && k.State.TombstoneBytes <= keep {
		return false, nil
	}
	var rows [][]byte
	err = k.Rows.Scan([]byte{layout.RowTombstone}, end, func(row, _ []byte) (bool, error) {
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
		if keep > 0 && k.State.TombstoneBytes <= keep {
			return false, nil
		}
		if left.Over() {
			return true, nil
		}
		gone, err := k.forgetTombstone(row, left)
		if err != nil || !gone {
			return !gone, err
		}
	}
	return more && (keep == 0 || k.State.TombstoneBytes > keep), nil
}

// forgetTombstone forgets the results of a window that is over, the oldest first, and then the window. What a command leaves of it
// still answers. It reports whether all is gone.
func (k *Keeper) forgetTombstone(row []byte, left *table.Stint) (gone bool, err error) {
	id, epoch, ok := layout.CutTombstoneRow(row)
	if !ok {
		return false, fmt.Errorf("%w: tombstone row", layout.ErrCorrupt)
	}
	head, err := k.window(id, epoch)
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
	err = k.Rows.Scan(from, layout.RequestRow(id, epoch+1, 0), func(row, value []byte) (bool, error) {
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
		k.Rows.RemoveSized(r.row, uint64(len(r.row))+r.size)
		forgotten += r.size
	}
	if gone {
		k.Rows.Remove(layout.WindowRow(id, epoch))
		k.Rows.Remove(row)
		k.State.TombstoneBytes -= head.GetBytes()
		left.Spend(1, uint64(len(row)))
		return true, nil
	}
	last := results[len(results)-1].row // There is one, as the stint was not over.
	head.DoneBelow = binary.BigEndian.Uint64(last[len(last)-8:]) + 1
	head.Requests -= uint32(len(results))
	head.Bytes -= forgotten
	k.State.TombstoneBytes -= forgotten
	return false, k.saveHead(layout.WindowRow(id, head.GetEpoch()), head)
}
