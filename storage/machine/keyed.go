package machine

import (
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// keyedForgottenMax1 is how many keyed calls one call forgets under version 1, of any size.
const keyedForgottenMax1 = 1024

// keyedRow returns the row of an idempotency key, which belongs to one caller.
func keyedRow(principal string, key []byte) []byte {
	return append(layout.AppendEscaped([]byte{layout.RowIdempotency}, principal), key...)
}

// keyedMemory keeps results under idempotency keys: the last of the whole store, so many and so many bytes.
type keyedMemory struct {
	row    []byte
	digest []byte
}

func (m *keyedMemory) recall(c *command) (*storev1.Result, error) {
	return recallRow(c.rows, m.row, m.digest)
}

// keyedBytes is what a remembered key counts: its row, and the one that says how old it is.
func keyedBytes(row, value []byte) uint64 {
	return uint64(len(row) + len(value) + len(layout.NumberRow(layout.RowKeyed, 0)) + len(row))
}

func (m *keyedMemory) remember(c *command, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result)
	if err != nil {
		return err
	}
	c.rows.Set(m.row, value)
	c.rows.Set(layout.NumberRow(layout.RowKeyed, c.state.KeyedRequests), m.row)
	c.state.KeyedRequests++
	c.state.KeyedBytes += keyedBytes(m.row, value)
	left := forgetStint()
	if c.state.ClusterVersion < layout.Version2 {
		left = &table.Stint{Rows: keyedForgottenMax1, Bytes: math.MaxUint64}
	}
	_, err = c.memory.forgetKeyed(left)
	return err
}

// forgetKeyed forgets the oldest keyed calls above the limits. It reports whether it left some.
func (c memoryVerbs) forgetKeyed(left *table.Stint) (more bool, err error) {
	limits, err := c.effectiveLimits()
	if err != nil {
		return false, err
	}
	for c.state.KeyedOver(limits) {
		if left.Over() {
			return true, nil
		}
		if err = c.forgetOldestKeyed(left); err != nil {
			return false, err
		}
	}
	return false, nil
}

// forgetOldestKeyed forgets the oldest keyed call.
func (c memoryVerbs) forgetOldestKeyed(left *table.Stint) error {
	number := layout.NumberRow(layout.RowKeyed, c.state.KeyedForgotten)
	c.state.KeyedForgotten++
	left.Spend(1, uint64(len(number)))
	row, ok, err := c.rows.Get(number)
	if err != nil || !ok {
		return err
	}
	value, _, err := c.rows.Get(row)
	if err != nil {
		return err
	}
	left.Spend(0, uint64(len(row)+len(value)))
	c.state.KeyedBytes -= keyedBytes(row, value)
	c.rows.Remove(row)
	c.rows.Remove(number)
	return nil
}
