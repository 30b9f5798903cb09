//go:build unix && !linux

package process

// runWithoutFirst cannot end a thread alone where the system has no means for it; no test asks for it there.
func runWithoutFirst() int { return 1 }
