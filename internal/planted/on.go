//go:build planted

package planted

import "sync/atomic"

// Enabled says whether this program has bugs planted.
const Enabled = true

// active is the planted bug. It is state of the package because every room asks, down to pure functions; no build that
// anybody ships has it.
var active atomic.Uint32

// Is reports whether a bug is active.
func Is(b Bug) bool { return active.Load() == uint32(b) }

// Set plants a bug, or takes the planted one away with None.
func Set(b Bug) { active.Store(uint32(b)) }
