package tenure

import (
	"fmt"
	"sync"
)

// FenceGate protects an external resource. It remembers the largest token of each lock that it has accepted, and
// refuses smaller ones. The zero value has seen no token. It is for exclusive locks; for shared holds use
// Client.CheckSequencer or guards. It remembers tokens in memory: a resource that outlives its process stores the token
// with its data, and compares it in the same transaction.
type FenceGate struct {
	mu      sync.Mutex // Guards largest.
	largest map[string]uint64
}

// NewFenceGate returns a gate that has seen no token.
func NewFenceGate() *FenceGate { return &FenceGate{} }

// Check accepts a sequencer, or returns ErrStaleToken if the gate has accepted a later hold of the same lock.
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
