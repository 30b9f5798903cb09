package tenure

import (
	"fmt"
	"sync"
)

// FenceGate protects a resource outside the cluster: it remembers the largest token of each lock that it let through, and refuses smaller
// ones. The zero value has seen nothing. It is for exclusive locks; shared holds use Client.CheckSequencer or guards. This one remembers in memory: a resource
// that outlives its process keeps the token beside its data, and compares in the same transaction.
type FenceGate struct {
	mu      sync.Mutex // Guards largest.
	largest map[string]uint64
}

// NewFenceGate returns a gate that has seen nothing.
func NewFenceGate() *FenceGate { return &FenceGate{} }

// Check lets a sequencer through, or returns ErrStaleToken if a later hold of its lock came before it.
func (g *FenceGate) Check(q Sequencer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	largest := g.largest[q.Key]
	if q.Token < largest {
		return &Error{
			Kind: ErrStaleToken, Applied: AppliedNo, Message: fmt.Sprintf("token %d of %q, but %d was seen", q.Token, q.Key, largest),
		}
	}
	if g.largest == nil {
		g.largest = map[string]uint64{}
	}
	g.largest[q.Key] = q.Token
	return nil
}
