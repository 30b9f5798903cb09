package machine

import (
	"bytes"
	"fmt"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// blockedSweptMax is how many locks one command moves from those blocked by the limit of holders to those left for
// GrantWaiters; blockedSweptMax1 was it under version 1.
const (
	blockedSweptMax  = 256
	blockedSweptMax1 = 4096
)

// markBlocked notes whether the first waiter of a lock waits for nothing but a higher limit of holders.
func (c queueVerbs) markBlocked(n layout.Name, blocked bool) error {
	row := layout.NameRow(layout.RowBlocked, n)
	_, marked, err := c.rows.Get(row)
	if err != nil || marked == blocked {
		return err
	}
	if blocked {
		c.rows.Set(row, nil)
	} else {
		c.rows.Remove(row)
	}
	return nil
}

// holdersRaised lets waiters in that a lower limit of holders kept out: as many as this command may grant, the others by
// GrantWaiters.
func (c queueVerbs) holdersRaised() error {
	_, sweeping, err := c.rows.Get([]byte{layout.RowSweep})
	if err != nil {
		return err
	}
	if !sweeping {
		c.state.GrantsLeft++
	}
	c.rows.Set([]byte{layout.RowSweep}, nil) // A sweep under way begins anew.
	frozen, err := records.IsFrozen(c.rows)
	if err != nil || frozen {
		return err
	}
	return c.grantLeft()
}

// sweepBlocked moves on, by key, through the locks that were blocked when the limit of holders was raised, and marks
// them as left ungranted. Those that are blocked again stay behind, so it comes to an end.
func (c queueVerbs) sweepBlocked() error {
	last, sweeping, err := c.rows.Get([]byte{layout.RowSweep})
	if err != nil || !sweeping {
		return err
	}
	from := []byte{layout.RowBlocked}
	if len(last) > 0 {
		from = append(bytes.Clone(last), 0)
	}
	most := blockedSweptMax
	if c.state.ClusterVersion < layout.Version2 {
		most = blockedSweptMax1
	}
	var names []layout.Name
	more := false
	err = c.rows.Scan(from, []byte{layout.RowBlocked + 1}, func(row, _ []byte) (bool, error) {
		if more = len(names) == most; more {
			return false, nil
		}
		n, ok := layout.CutNameRow(row)
		if !ok {
			return false, fmt.Errorf("%w: blocked lock", layout.ErrCorrupt)
		}
		names = append(names, n)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, n := range names {
		if err = c.markBlocked(n, false); err != nil {
			return err
		}
		if err = c.markUngranted(n, true); err != nil {
			return err
		}
	}
	if more {
		c.rows.Set([]byte{layout.RowSweep}, layout.NameRow(layout.RowBlocked, names[len(names)-1]))
		return nil
	}
	c.rows.Remove([]byte{layout.RowSweep})
	c.state.GrantsLeft--
	return nil
}
