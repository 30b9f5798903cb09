//go:build !race

package sim_test

const (
	// raceDetector is whether the race detector is on.
	raceDetector = false
	// seedsDefault is how many seeds a plain test runs. CI runs more.
	seedsDefault = 20
)
