//go:build !race

package storage_test

// raceDetector is whether the race detector is on.
const raceDetector = false
