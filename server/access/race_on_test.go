//go:build race

package access

// raceDetector is whether the race detector is on.
const raceDetector = true
