package machine

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

const (
	// moveBytesMax is how many bytes of keys one command moves before it leaves the rest, but for the first key: with its row and its
	// event a value is written twice. Version 1 had no bound.
	moveBytesMax = 4 << 20
	// movesMax is how many keys one command moves that earlier ones left.
	movesMax = 256
)

// moveKey moves the mod_revision of an existing key because its EXCLUSIVE holder changed; a missing key stays so. Where
// the command has moved too many bytes already, the key is left to GrantWaiters.
func (c keyVerbs) moveKey(n layout.Name, head *storev1.LockHead, change storev1.KeyChange) error {
	if c.movesLater(n, 0) {
		return c.leaveMove(n, change)
	}
	row := layout.NameRow(layout.RowKey, n)
	var k keyFacts
	later := false
	_, err := c.rows.View(row, func(value []byte) error {
		k.rowBytes = len(row) + len(value)
		if later = c.movesLater(n, k.rowBytes); later {
			return nil
		}
		k.record = &storev1.KeyRecord{}
		if err := layout.Decode(value, k.record); err != nil {
			return fmt.Errorf("key %q: %w", n.Key, err)
		}
		k.valueBytes = len(k.record.GetValue())
		return nil
	})
	if err != nil {
		return err
	}
	if later {
		c.moved = moveBytesMax // Whoever comes behind need not look.
		return c.leaveMove(n, change)
	}
	if k.record == nil {
		return c.settleMove(n)
	}
	c.moved += k.rowBytes
	previous := previousValue(k.record)
	k.record.ModRevision, k.record.ModTimeMs = c.revision, c.wallMs
	c.emitPut(n, k.record, head, change, previous)
	if err := c.settleMove(n); err != nil {
		return err
	}
	return c.saveKey(n, k, k.record)
}

// movesLater reports whether a key of so many bytes is left to another command. One that this command told of already is not.
func (c keyVerbs) movesLater(n layout.Name, size int) bool {
	if c.state.ClusterVersion < layout.Version2 || c.moved == 0 || c.moved < moveBytesMax && c.moved+size <= moveBytesMax {
		return false
	}
	_, told := c.toldPut(n)
	return told == nil
}

// leaveMove notes that a key is to be moved, and why.
func (c keyVerbs) leaveMove(n layout.Name, change storev1.KeyChange) error {
	row := layout.NameRow(layout.RowUnmoved, n)
	_, marked, err := c.rows.Get(row)
	if err != nil {
		return err
	}
	if !marked {
		c.state.GrantsLeft++
	}
	if c.unmoved == nil {
		c.unmoved = make(map[layout.Name]bool)
	}
	c.unmoved[n] = true
	c.rows.Set(row, []byte{byte(change)})
	return nil
}

// settleMove forgets that a key is to be moved: it was moved, written or deleted.
func (c keyVerbs) settleMove(n layout.Name) error {
	if c.state.GrantsLeft == 0 {
		return nil
	}
	row := layout.NameRow(layout.RowUnmoved, n)
	_, marked, err := c.rows.Get(row)
	if err != nil || !marked {
		return err
	}
	c.rows.Remove(row)
	c.state.GrantsLeft--
	delete(c.unmoved, n)
	return nil
}

// moveLeft moves the keys that earlier commands left, by key, as many as one command may.
func (c keyVerbs) moveLeft() error {
	type move struct {
		name   layout.Name
		change storev1.KeyChange
	}
	var moves []move
	err := c.rows.Scan([]byte{layout.RowUnmoved}, []byte{layout.RowUnmoved + 1}, func(row, value []byte) (bool, error) {
		n, ok := layout.CutNameRow(row)
		if !ok || len(value) != 1 {
			return false, fmt.Errorf("%w: key left to be moved", layout.ErrCorrupt)
		}
		moves = append(moves, move{name: n, change: storev1.KeyChange(value[0])})
		return len(moves) < movesMax, nil
	})
	if err != nil {
		return err
	}
	for _, m := range moves {
		if c.moved >= moveBytesMax {
			return nil
		}
		l, err := c.lock(m.name)
		if err != nil {
			return err
		}
		if err = c.moveKey(m.name, l.head, m.change); err != nil {
			return err
		}
		if records.IsIdle(l.head) {
			c.noteIdle(m.name)
		}
	}
	return nil
}
