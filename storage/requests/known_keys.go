package requests

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
)

const (
	// KnownKeysMax is how many idempotency keys may be remembered for a store to begin to learn them.
	KnownKeysMax = 1 << 18
	// learnedMax is how many rows a command reads to learn older keys.
	learnedMax = 1024
	// aheadMax is how many of the oldest keys are read at once.
	aheadMax = 64
)

// KnownKeys is what a store knows of the idempotency keys that it remembers: which rows they have, how large those are, and which are the
// oldest. A key is looked up mostly to find that it is new, and its row is read, long after, only to forget it: both cost more than all else
// that a put does. What it says is what the rows would say, so it has no part in what a command does, and a store that was just opened knows
// nothing.
//
// It follows what commands leave, before that is committed: after a commit that failed, a store applies nothing any more. It belongs to
// the goroutine of Apply. A nil one never knows anything.
type KnownKeys struct {
	hash func(row []byte) uint64
	most int                 // that may be remembered when it begins to learn; it goes on up to twice as many
	keys map[uint64]knownKey // by the hash of the row; nil before it learns
	// The keys with the numbers from next on and below until are not learned yet. Those from until on are added as they come.
	next, until uint64

	ahead []keyRow // the rows of the oldest keys
	first uint64   // number of the first of them
}

// knownKey is what is known of all remembered keys with one hash.
type knownKey struct {
	rows uint32 // how many
	size uint32 // of the row's value; zero: not known, or there are several rows
}

// keyRow is the row of an idempotency key; nil if its number has none.
type keyRow []byte

// NewKnownKeys returns what knows no key yet, and learns them when so many at most are remembered.
func NewKnownKeys(most int) *KnownKeys { return &KnownKeys{hash: xxhash.Sum64, most: most} }

// Len returns how many keys it knows.
func (n *KnownKeys) Len() int {
	if n == nil {
		return 0
	}
	return len(n.keys)
}

// missing reports whether a key's row is certainly not there. Before it is sure of that of any key, it learns some more of them.
func (n *KnownKeys) missing(k *Keeper, row []byte) (bool, error) {
	if n == nil {
		return false, nil
	}
	if n.keys == nil {
		if k.State.KeyedRequests-k.State.KeyedForgotten > uint64(n.most) {
			return false, nil
		}
		n.keys = make(map[uint64]knownKey)
		n.next, n.until = k.State.KeyedForgotten, k.State.KeyedRequests
	}
	if n.next < n.until {
		if err := n.learn(k); err != nil || n.next < n.until {
			return false, err
		}
	}
	if _, there := n.keys[n.hash(row)]; there {
		return false, nil
	}
	if invariants.Enabled {
		reads := k.Rows.Reads
		_, there, err := k.Rows.Get(row)
		k.Rows.Reads = reads
		invariants.That(err != nil || !there, "the row of an idempotency key that should be missing is there: %q", row)
	}
	return true, nil
}

// learn reads the rows of older keys.
func (n *KnownKeys) learn(k *Keeper) error {
	to := min(n.until, n.next+learnedMax)
	from := n.next
	n.next = to
	return k.Rows.Scan(layout.NumberRow(layout.RowKeyed, from), layout.NumberRow(layout.RowKeyed, to), func(_, row []byte) (bool, error) {
		n.put(row, 0)
		return true, nil
	})
}

func (n *KnownKeys) put(row []byte, size uint32) {
	hash := n.hash(row)
	known := n.keys[hash]
	known.rows++
	known.size = 0
	if known.rows == 1 {
		known.size = size
	}
	n.keys[hash] = known
}

// add notes that a key is remembered, with a value of a size.
func (n *KnownKeys) add(row []byte, size int) {
	switch {
	case n == nil || n.keys == nil:
	case len(n.keys) >= 2*n.most:
		n.drop()
	default:
		n.put(row, uint32(size))
	}
}

// size returns how large the value of the row is that a remembered key with a number has, if that is known. Of one that is not learned yet nothing is,
// even if another key with its hash is there.
func (n *KnownKeys) size(k *Keeper, number uint64, row []byte) (size int, known bool) {
	if n == nil || n.keys == nil || number >= n.next && number < n.until {
		return 0, false
	}
	size = int(n.keys[n.hash(row)].size)
	if invariants.Enabled && size > 0 {
		reads := k.Rows.Reads
		value, _, err := k.Rows.Get(row)
		k.Rows.Reads = reads
		invariants.That(err != nil || len(value) == size, "a remembered request is %d bytes, known were %d", len(value), size)
	}
	return size, size > 0
}

// forget notes that a key with a number is not remembered any more.
func (n *KnownKeys) forget(number uint64, row []byte) {
	if n == nil || n.keys == nil {
		return
	}
	if number >= n.next && number < n.until {
		n.next = number + 1 // All before it are forgotten, too.
		return
	}
	hash := n.hash(row)
	known := n.keys[hash]
	if known.rows <= 1 {
		delete(n.keys, hash)
		return
	}
	n.keys[hash] = knownKey{rows: known.rows - 1}
}

// drop unlearns which keys there are, for a forgetting that may be taken back.
func (n *KnownKeys) drop() {
	if n != nil {
		n.keys = nil
	}
}

// oldest returns the row of the key with a number, and whether it has one. Keys are forgotten in the order of their numbers, so those that
// follow are read, too.
func (n *KnownKeys) oldest(k *Keeper, number uint64) (row []byte, ok bool, err error) {
	if n == nil || k.State.KeyedRequests-number < aheadMax {
		return k.Rows.Get(layout.NumberRow(layout.RowKeyed, number))
	}
	if number < n.first || number-n.first >= uint64(len(n.ahead)) {
		if err = n.readAhead(k, number); err != nil {
			return nil, false, err
		}
	}
	row = n.ahead[number-n.first]
	if invariants.Enabled {
		reads := k.Rows.Reads
		value, _, err := k.Rows.Get(layout.NumberRow(layout.RowKeyed, number))
		k.Rows.Reads = reads
		invariants.That(err != nil || string(value) == string(row), "the key with number %d has row %q, known was %q", number, value, row)
	}
	return row, row != nil, nil
}

// readAhead reads the rows of the keys from a number on. What a number has never changes until it is forgotten, and no command adds one
// that could be taken back.
func (n *KnownKeys) readAhead(k *Keeper, number uint64) error {
	n.ahead, n.first = make([]keyRow, aheadMax), number
	var rows []byte // Of all keys, each in its part.
	err := k.Rows.Scan(layout.NumberRow(layout.RowKeyed, number), layout.NumberRow(layout.RowKeyed, number+aheadMax), func(at, row []byte) (bool, error) {
		begin := len(rows)
		rows = append(rows, row...)
		n.ahead[binary.BigEndian.Uint64(at[1:])-number] = rows[begin:len(rows):len(rows)]
		return true, nil
	})
	if err != nil {
		n.ahead = nil
	}
	return err
}
