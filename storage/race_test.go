package storage_test

import "testing"

// needsNoRaceDetector skips a long test of one goroutine under the race detector, which would find nothing in it. Those that give a
// store many commands are run by `make sim` with the invariants that the race detector would have brought.
func needsNoRaceDetector(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("runs on one goroutine, and without the race detector")
	}
}
