package planted_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCrashSweepFindsPlantedBugs runs the crash sweep of a test binary of raftnode that was built with the overlay, whose
// path TENURE_CRASH_SWEEP gives: make planted.
func TestTheCrashSweepFindsPlantedBugs(t *testing.T) {
	binary := os.Getenv("TENURE_CRASH_SWEEP")
	if binary == "" {
		t.Skip("no TENURE_CRASH_SWEEP: make planted")
	}
	for _, bug := range []string{"ack-before-sync", "cut-log-early"} {
		t.Run(bug, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), binary, "-test.run", "^TestCrashSweep$")
			run.Dir = filepath.Join("..", "..", "raftnode")
			run.Env = append(os.Environ(), "TENURE_PLANTED="+bug, "TENURE_CRASH_POINTS=500", "TENURE_CRASH_SEED=2")
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "a promise broke: crash point") {
				t.Errorf("not found: %v\n%s", err, out)
			}
		})
	}
}
