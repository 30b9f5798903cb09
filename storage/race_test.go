package storage_test

import "testing"

// needsNoRaceDetector skips a long test of one goroutine under the race detector, which would find nothing in it.
func needsNoRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("runs on one goroutine, and without the race detector")
	}
}
