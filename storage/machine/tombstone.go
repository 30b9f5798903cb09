package machine

import (
	"bytes"
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
)

// tombstonesDroppedMax1 is how many windows, of any size, one Compact drops under version 1.
const tombstonesDroppedMax1 = 64

// buryWindow turns the request window of an epoch that is over into a tombstone: it answers late retries until
// compaction passes it, or until there are too many.
func (c memoryVerbs) buryWindow(id layout.SessionID, epoch uint64) error {
	head, err := c.window(id, epoch)
	if err != nil || head == nil || head.GetTombstone() {
		return err
	}
	head.Tombstone = true
	head.TombstoneRevision = c.revision
	if err = c.saveWindow(id, head); err != nil {
		return err
	}
	c.rows.Set(layout.TombstoneRow(c.revision, id, epoch), nil)
	c.state.TombstoneBytes += head.GetBytes()
	c.buried = true
	if c.state.ClusterVersion >= layout.Version2 {
		return nil
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	for c.state.TombstoneBytes > limits.GetTombstoneBytesMax() {
		dropped, _, err := c.dropTombstones(nil, 1)
		if err != nil || dropped == 0 {
			return err
		}
	}
	return nil
}

// dropTombstones drops the oldest tombstones before the row end, nil for all, at most so many. It returns how many it
// dropped, and whether there are more.
func (c memoryVerbs) dropTombstones(end []byte, most int) (dropped int, more bool, err error) {
	if end == nil {
		end = []byte{layout.RowTombstone + 1}
	}
	var rows [][]byte
	err = c.rows.Scan([]byte{layout.RowTombstone}, end, func(row, _ []byte) (bool, error) {
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
		if err = c.dropTombstone(row); err != nil {
			return 0, false, err
		}
	}
	return len(rows), more, nil
}

func (c memoryVerbs) dropTombstone(row []byte) error {
	id, epoch, ok := layout.CutTombstoneRow(row)
	if !ok {
		return fmt.Errorf("%w: tombstone row", layout.ErrCorrupt)
	}
	head, err := c.window(id, epoch)
	if err != nil {
		return err
	}
	from := layout.RequestRow(id, epoch, head.GetDoneBelow()) // What was below it is gone already.
	var requests [][]byte
	err = c.rows.Scan(from, layout.RequestRow(id, epoch+1, 0), func(row, _ []byte) (bool, error) {
		requests = append(requests, bytes.Clone(row))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, r := range requests {
		c.rows.Remove(r)
	}
	c.rows.Remove(layout.WindowRow(id, epoch))
	c.rows.Remove(row)
	c.state.TombstoneBytes -= head.GetBytes()
	return nil
}
