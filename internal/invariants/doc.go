// Package invariants checks what must always hold inside the program: where a value is made, and where it is used. It
// does so in programs built with the tag invariants or with the race detector; in others the compiler leaves the checks
// out. A broken invariant panics: it is a mistake in this program, and what follows from it would only hide it. Pebble
// does the same in a package of this name.
package invariants

// BrokenError is what a broken invariant panics with: what it found.
type BrokenError string

// Error says what was found.
func (b BrokenError) Error() string { return "invariant broken: " + string(b) }
