//go:build invariants || race

package invariants

import "fmt"

// Enabled reports whether this program checks its invariants.
const Enabled = true

// That panics unless ok. What it is given is computed in every program, so it must be cheap; what is not stands behind
// Enabled.
func That(ok bool, format string, args ...any) {
	if !ok {
		panic(BrokenError(fmt.Sprintf(format, args...)))
	}
}
