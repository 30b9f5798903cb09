//go:build race

package sim_test

const (
	// raceDetector is whether the race detector is on. It makes a run ten times as long, and all but Pebble runs on one goroutine.
	raceDetector = true
	// seedsDefault is one seed for each of two processors: they show what runs share.
	seedsDefault = 2
)
