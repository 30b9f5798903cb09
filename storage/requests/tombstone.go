package requests

import (
	"bytes"
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
)

// TombstonesDroppedMax1 is how many windows, of any size, one Compact drops under version 1.
const TombstonesDroppedMax1 = 64

// BuryWindow turns the request window of an epoch that is over into a tombstone: it answers late retries until
// compaction passes it, or until there are too many.
func (k *Keeper) BuryWindow(id layout.SessionID, epoch uint64) error {
	window := layout.WindowRow(id, epoch)
	head, err := k.head(id, window)
	if err != nil || head == nil || head.GetTombstone() {
		return err
	}
	head.Tombstone = true
	head.TombstoneRevision = k.Revision
	if err = k.saveHead(window, head); err != nil {
		return err
	}
	k.Rows.Set(layout.TombstoneRow(k.Revision, id, epoch), nil)
	k.State.TombstoneBytes += head.GetBytes()
	k.buried = true
	if k.State.ClusterVersion >= layout.Version2 {
		return nil
	}
	limits, err := k.Command.Limits()
	if err != nil {
		return err
	}
	for k.State.TombstoneBytes > limits.GetTombstoneBytesMax() {
		dropped, _, err := k.DropTombstones(nil, 1)
		if err != nil || dropped == 0 {
			return err
		}
	}
	return nil
}

// DropTombstones drops the oldest tombstones before the row end, nil for all, at most so many. It returns how many it
// dropped, and whether there are more.
func (k *Keeper) DropTombstones(end []byte, most int) (dropped int, more bool, err error) {
	if end == nil {
		end = []byte{layout.RowTombstone + 1}
	}
	var rows [][]byte
	err = k.Rows.Scan([]byte{layout.RowTombstone}, end, func(row, _ []byte) (bool, error) {
		if len(rows) == most {
			more = true
			return false, nil
		}
		rows = append(rows, bytes.Clone(row))
		return true, nil
	})
	if err != nil {
		return 0, false, err
	}
	for _, row := range rows {
		if err = k.dropTombstone(row); err != nil {
			return 0, false, err
		}
	}
	return len(rows), more, nil
}

func (k *Keeper) dropTombstone(row []byte) error {
	id, epoch, ok := layout.CutTombstoneRow(row)
	if !ok {
		return fmt.Errorf("%w: tombstone row", layout.ErrCorrupt)
	}
	head, err := k.window(id, epoch)
	if err != nil {
		return err
	}
	from := layout.RequestRow(id, epoch, head.GetDoneBelow()) // What was below it is gone already.
	var requests [][]byte
	err = k.Rows.Scan(from, layout.RequestRow(id, epoch+1, 0), func(row, _ []byte) (bool, error) {
		requests = append(requests, bytes.Clone(row))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, r := range requests {
		k.Rows.Remove(r)
	}
	k.Rows.Remove(layout.WindowRow(id, epoch))
	k.Rows.Remove(row)
	k.State.TombstoneBytes -= head.GetBytes()
	return nil
}
