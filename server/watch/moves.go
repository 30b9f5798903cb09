package watch

import (
	"hash/maphash"
	"sync/atomic"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// moves count how often places left the queues of locks, so that whoever looks where one stands need not look while nothing moved. Locks share
// counters: one that is counted for another lock has somebody look in vain.
type moves struct {
	seed maphash.Seed
	all  atomic.Uint64 // for all locks
	some [1024]atomic.Uint64
}

func newMoves() *moves { return &moves{seed: maphash.MakeSeed()} }

func (m *moves) of(key string) *atomic.Uint64 {
	return &m.some[maphash.String(m.seed, key)%uint64(len(m.some))]
}

// count counts what an event moved.
func (m *moves) count(e *storev1.Event) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_LockGranted:
		m.of(kind.LockGranted.GetKey()).Add(1)
	case *storev1.Event_LockLeft:
		m.of(kind.LockLeft.GetKey()).Add(1)
	}
}

// Moves returns a number that grows whenever a place in the queue of a lock was granted or left, and perhaps at other times. Read before the state
// it tells whether that state still shows where places stand.
func (h *Hub) Moves(key string) uint64 { return h.ring.moves.all.Load() + h.ring.moves.of(key).Load() }
