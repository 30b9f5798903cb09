//go:build !planted

package planted

// Enabled says whether this program has bugs planted.
const Enabled = false

// Is reports whether a bug is active: never in this build.
func Is(Bug) bool { return false }

// Set does nothing in this build.
func Set(Bug) {}
