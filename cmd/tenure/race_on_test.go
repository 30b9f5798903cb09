//go:build race

package main

// raceDetector is whether the race detector is on.
const raceDetector = true
