//go:build race

package sim_test

// seedsDefault is small: the race detector makes a run ten times as long, and there is one goroutine.
const seedsDefault = 5
