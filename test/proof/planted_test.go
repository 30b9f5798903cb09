package proof_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/planted"
)

// TestPlantedBugsAreCaught builds a member that has all planted bugs, switches those on that these tests have to find, and
// demands that the test that each names fails. It is part of the long form, because of the build.
func TestPlantedBugsAreCaught(t *testing.T) {
	if scaled(0, 1) == 0 {
		t.Skip("only with TENURE_SOAK=1: the member is a build of its own")
	}
	bugs, err := planted.Bugs()
	if err != nil {
		t.Fatal(err)
	}
	member := buildPlanted(t)
	for _, bug := range bugs {
		if bug.Proof == "" {
			continue
		}
		t.Run(bug.Name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^"+bug.Proof+"$", ".")
			run.Env = append(os.Environ(), "TENURE_BINARY="+member, "TENURE_SOAK=0", "TENURE_PLANTED="+bug.Name)
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+bug.Proof) {
				t.Errorf("%s did not fail: %v\n%s", bug.Proof, err, out)
			}
		})
	}
}

// buildPlanted builds a member with the overlay of test/planted.
func buildPlanted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	member := filepath.Join(dir, "tenure")
	for _, args := range [][]string{
		{"run", "./test/planted/overlay", "-out", filepath.Join(dir, "overlay")},
		{"build", "-overlay", filepath.Join(dir, "overlay", "overlay.json"), "-o", member, "./cmd/tenure"},
	} {
		run := exec.CommandContext(t.Context(), "go", args...)
		run.Dir = filepath.Join("..", "..")
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return member
}
