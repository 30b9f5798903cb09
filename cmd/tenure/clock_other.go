//go:build !linux

package main

// newClock returns the best clock that every system has.
func newClock() clock { return portableClock() }
