package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// keyedForgottenMax is how many keyed calls one call forgets. A result is at most 64 KiB and the smallest takes some
// hundred bytes, so this makes room for any; after a limit was lowered it takes several calls.
const keyedForgottenMax = 1024

// keyedRow returns the row of an idempotency key, which belongs to one caller.
func keyedRow(principal string, key []byte) []byte {
	return append(appendEscaped([]byte{rowIdempotency}, principal), key...)
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
	return uint64(len(row) + len(value) + len(numberRow(rowKeyed, 0)) + len(row))
}

func (m *keyedMemory) remember(c *command, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result)
	if err != nil {
		return err
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	c.rows.set(m.row, value)
	c.rows.set(numberRow(rowKeyed, c.state.KeyedRequests), m.row)
	c.state.KeyedRequests++
	c.state.KeyedBytes += keyedBytes(m.row, value)
	for range keyedForgottenMax {
		kept := c.state.KeyedRequests - c.state.KeyedForgotten
		if kept == 0 || kept <= uint64(limits.GetIdempotencyKeysMax()) && c.state.KeyedBytes <= limits.GetIdempotencyBytesMax() {
			return nil
		}
		if err = c.forgetKeyed(); err != nil {
			return err
		}
	}
	return nil
}

// forgetKeyed forgets the oldest keyed call.
func (c *command) forgetKeyed() error {
	number := numberRow(rowKeyed, c.state.KeyedForgotten)
	c.state.KeyedForgotten++
	row, ok, err := c.rows.get(number)
	if err != nil || !ok {
		return err
	}
	value, _, err := c.rows.get(row)
	if err != nil {
		return err
	}
	c.state.KeyedBytes -= keyedBytes(row, value)
	c.rows.remove(row)
	c.rows.remove(number)
	return nil
}
