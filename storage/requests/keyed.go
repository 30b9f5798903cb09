package requests

import (
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// keyedForgottenMax1 is how many keyed calls one call forgets under version 1, of any size.
const keyedForgottenMax1 = 1024

// anonymous scopes the keys of callers without a credential while rules are enforced. Principals have a colon, so it is nobody's.
const anonymous = "anonymous"

// keyedRow returns the row of an idempotency key, which belongs to one caller, or with an empty principal to all of them.
func keyedRow(principal string, key []byte) []byte {
	return append(layout.AppendEscaped([]byte{layout.RowIdempotency}, principal), key...)
}

// keyedMemory keeps results under idempotency keys: the last of the whole store, so many and so many bytes.
//
// A key is its caller's own only while rules are enforced. Before, nothing that a caller may see is hidden from others, and a member in mode warn takes a caller whose
// credential it cannot verify yet for one without: a retry through another member, or a moment later, comes from somebody else. So a key has a row that all callers
// share, which names its caller if rules were enforced when it was written; a caller has a row of its own for a key that is another's there.
type keyedMemory struct {
	principal string
	key       []byte // that the caller gave
	digest    []byte

	row    []byte // that is free for the key, once Recall has found no result
	caller string // that this row is to name
}

// newKeyedMemory returns where the result under an idempotency key of a caller is kept.
func newKeyedMemory(cmd *storev1.Command) *keyedMemory {
	return &keyedMemory{principal: cmd.GetPrincipal(), key: cmd.GetIdempotencyKey(), digest: cmd.GetRequestDigest()}
}

// Recall also takes the result of an equal request that was made while rules were not enforced, in mode off or warn, or under an earlier version: that is how a retry
// finds it after that was changed. Whose such a result is, is not known: a caller that guesses its key may get the result of another one, for what it could do itself,
// until the limits forget it. What is made while rules are enforced is its caller's, also that of callers without a credential, and as long as they are it is never
// another's. Another request under the same key does not disturb it.
//
// No time ends this: apply has no clock.
func (m *keyedMemory) Recall(k *Keeper) (*storev1.Result, error) {
	s := scopeOf(m.principal, k.State)
	m.row = keyedRow(s.caller, m.key)
	own, err := m.recordIn(k, m.row)
	if err != nil || own != nil && same(own, m.digest) {
		return own.GetResult(), err
	}
	reused := own != nil
	if s.caller != "" {
		row := keyedRow("", m.key)
		shared, err := m.recordIn(k, row)
		switch {
		case err != nil:
			return nil, err
		case shared != nil && same(shared, m.digest) && s.sees(shared.GetCaller()):
			return shared.GetResult(), nil
		case shared != nil:
			reused = reused || s.shares && s.owns(shared.GetCaller())
		case s.shares:
			m.row, m.caller = row, s.names()
		}
	}
	if reused {
		return nil, anotherRequest()
	}
	return nil, nil
}

// recordIn returns what a key's row remembers, or nil.
func (m *keyedMemory) recordIn(k *Keeper, row []byte) (*storev1.RequestRecord, error) {
	missing, err := k.Keys.missing(k, row)
	if missing || err != nil {
		return nil, err
	}
	return requestIn(k.Rows, row)
}

// keyScope says which remembered keys are a caller's. Below version 3, and before the bootstrap, callers have rows of their own only, and see those of nobody.
type keyScope struct {
	caller   string // the principal; of a caller without a credential "anonymous", or nothing before callers share rows
	shares   bool   // whether new keys are in the row that all share
	enforced bool   // whether rules are
}

func scopeOf(principal string, state *layout.Applied) keyScope {
	s := keyScope{caller: principal, shares: state.ClusterVersion >= layout.Version3 && state.AuthMode != storev1.AuthMode_AUTH_MODE_UNSPECIFIED}
	s.enforced = s.shares && state.AuthMode == storev1.AuthMode_AUTH_MODE_ENFORCE
	if s.shares && principal == "" {
		s.caller = anonymous
	}
	return s
}

// owns reports whether a key in the shared row is the caller's: another request under it is refused.
func (s keyScope) owns(caller string) bool { return caller == s.caller || caller == "" && !s.enforced }

// sees reports whether the caller gets the result of an equal request in the shared row.
func (s keyScope) sees(caller string) bool { return caller == s.caller || caller == "" || !s.enforced }

// names returns the caller that the shared row is to name.
func (s keyScope) names() string {
	if s.enforced {
		return s.caller
	}
	return ""
}

// keyedBytes is what a remembered key counts: its row with a value of a size, and the row that says how old it is.
func keyedBytes(row []byte, size int) uint64 {
	return uint64(len(row) + size + len(layout.NumberRow(layout.RowKeyed, 0)) + len(row))
}

// Remember inserts: Recall has found that the key has no row, and no number comes twice.
func (m *keyedMemory) Remember(k *Keeper, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result, m.caller)
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
