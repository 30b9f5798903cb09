package requests

import (
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// keyedForgottenMax1 is how many keyed calls one call forgets under version 1, of any size.
const keyedForgottenMax1 = 1024

// anonymous scopes the keys of callers without a credential while callers are told apart. Principals have a colon, so it is nobody's.
const anonymous = "anonymous"

// keyedRow returns the row of an idempotency key, which belongs to one caller.
func keyedRow(principal string, key []byte) []byte {
	return append(layout.AppendEscaped([]byte{layout.RowIdempotency}, principal), key...)
}

// keyedMemory keeps results under idempotency keys: the last of the whole store, so many and so many bytes.
type keyedMemory struct {
	row    []byte
	other  []byte // the row that the key had while the mode was another; nil: none
	key    []byte // that the caller gave
	digest []byte
}

// newKeyedMemory returns where the result under an idempotency key of a caller is kept.
func newKeyedMemory(cmd *storev1.Command) *keyedMemory {
	m := &keyedMemory{row: keyedRow(cmd.GetPrincipal(), cmd.GetIdempotencyKey()), key: cmd.GetIdempotencyKey(), digest: cmd.GetRequestDigest()}
	if cmd.GetPrincipal() != "" {
		m.other = keyedRow("", cmd.GetIdempotencyKey())
	}
	return m
}

// scope tells callers without a credential from those of whom nothing is known: authorization is off, or no command says whose it is.
func (m *keyedMemory) scope(state *layout.Applied) {
	if m.other != nil || state.ClusterVersion < layout.Version3 || state.AuthMode == storev1.AuthMode_AUTH_MODE_UNSPECIFIED {
		return
	}
	m.other = keyedRow(anonymous, m.key)
	if state.AuthMode != storev1.AuthMode_AUTH_MODE_OFF {
		m.row, m.other = m.other, m.row
	}
}

// Recall also takes the result of an equal request that was made while callers were not told apart: that is how a retry finds it after authorization was
// turned on, or the version raised. With mode off, it takes that of one that was made without a credential before. Whose these were is not known: who guesses
// such a key may get the result of another caller for what it could do itself, until the limits forget it. What is made while callers are told apart is under
// its caller's key, also that of callers without a credential, and is then never another's. Another request under the same key is in nobody's way.
//
// No time ends this: apply has no clock.
func (m *keyedMemory) Recall(k *Keeper) (*storev1.Result, error) {
	m.scope(k.State)
	result, refused := m.recallFrom(k, m.row)
	if result != nil || m.other == nil || refused != nil && rule.Of(refused) == nil {
		return result, refused
	}
	result, err := m.recallFrom(k, m.other)
	if result != nil || err != nil && rule.Of(err) == nil {
		return result, err
	}
	return nil, refused
}

// recallFrom returns what a key's row remembers, or nil.
func (m *keyedMemory) recallFrom(k *Keeper, row []byte) (*storev1.Result, error) {
	missing, err := k.Keys.missing(k, row)
	if missing || err != nil {
		return nil, err
	}
	return recallRow(k.Rows, row, m.digest)
}

// keyedBytes is what a remembered key counts: its row with a value of a size, and the row that says how old it is.
func keyedBytes(row []byte, size int) uint64 {
	return uint64(len(row) + size + len(layout.NumberRow(layout.RowKeyed, 0)) + len(row))
}

// Remember inserts: Recall has found that the key has no row, and no number comes twice.
func (m *keyedMemory) Remember(k *Keeper, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result)
	if err != nil {
		return err
	}
	k.Rows.Insert(m.row, value)
	k.Rows.Insert(layout.NumberRow(layout.RowKeyed, k.State.KeyedRequests), m.row)
	k.Keys.add(m.row, len(value))
	k.State.KeyedRequests++
	k.State.KeyedBytes += keyedBytes(m.row, len(value))
	left := ForgetStint()
	if k.State.ClusterVersion < layout.Version2 {
		left = &table.Stint{Rows: keyedForgottenMax1, Bytes: math.MaxUint64}
	}
	_, err = k.forgetKeyed(left)
	return err
}

// Pass has nothing to keep.
func (m *keyedMemory) Pass(*Keeper) error { return nil }

// ForgetKeyed forgets the oldest keyed calls above the limits, for a command that may yet be taken back. It reports whether it left some.
func (k *Keeper) ForgetKeyed(left *table.Stint) (more bool, err error) {
	before := k.State.KeyedForgotten
	more, err = k.forgetKeyed(left)
	if k.State.KeyedForgotten != before {
		k.Keys.drop()
	}
	return more, err
}

func (k *Keeper) forgetKeyed(left *table.Stint) (more bool, err error) {
	limits, err := k.Command.Limits()
	if err != nil {
		return false, err
	}
	for k.State.KeyedOver(limits) {
		if left.Over() {
			return true, nil
		}
		if err = k.forgetOldestKeyed(left); err != nil {
			return false, err
		}
	}
	return false, nil
}

// forgetOldestKeyed forgets the oldest keyed call.
func (k *Keeper) forgetOldestKeyed(left *table.Stint) error {
	number := k.State.KeyedForgotten
	age := layout.NumberRow(layout.RowKeyed, number)
	k.State.KeyedForgotten++
	left.Spend(1, uint64(len(age)))
	row, ok, err := k.Keys.oldest(k, number)
	if err != nil || !ok {
		return err
	}
	size, known := k.Keys.size(k, number, row)
	if !known {
		value, found, err := k.Rows.Get(row)
		if err != nil {
			return err
		}
		size, known = len(value), found
	}
	left.Spend(0, uint64(len(row)+size))
	k.State.KeyedBytes -= keyedBytes(row, size)
	if known {
		k.Rows.RemoveSized(row, uint64(len(row)+size))
	} else {
		k.Rows.Remove(row)
	}
	k.Rows.RemoveSized(age, uint64(len(age)+len(row)))
	k.Keys.forget(number, row)
	return nil
}
