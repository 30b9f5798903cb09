package planted_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/planted"
)

// TestRulesOfFreshnessAreMissed leaves out one rule about how fresh rights are after the other, and demands that a test misses each. It builds the
// tests with the overlay whose path TENURE_PLANTED_OVERLAY gives: make planted.
func TestRulesOfFreshnessAreMissed(t *testing.T) {
	overlay := os.Getenv("TENURE_PLANTED_OVERLAY")
	if overlay == "" {
		t.Skip("no TENURE_PLANTED_OVERLAY: make planted")
	}
	bugs, err := planted.Bugs()
	if err != nil {
		t.Fatal(err)
	}
	bugs = slices.DeleteFunc(bugs, func(b planted.Bug) bool { return b.Freshness == nil })
	slices.SortStableFunc(bugs, func(a, b planted.Bug) int { return cmp.Compare(a.Freshness.Package, b.Freshness.Package) })
	tests := buildTests(t, overlay, bugs)
	passes := map[planted.Test]bool{}
	missed := 0
	for _, bug := range bugs {
		test := *bug.Freshness
		if passed, known := passes[test]; !known {
			out, err := tests.run(t, test, "")
			passes[test] = err == nil && strings.Contains(out, "--- PASS: "+test.Name+" ")
			if !passes[test] {
				t.Errorf("%s %s does not pass with all rules: %v\n%s", test.Package, test.Name, err, out)
			}
		} else if !passed {
			continue
		}
		out, err := tests.run(t, test, bug.Name)
		if err == nil || !strings.Contains(out, "--- FAIL: "+test.Name+" ") {
			t.Errorf("%s: %s %s did not fail: %v\n%s", bug.Name, test.Package, test.Name, err, out)
			continue
		}
		missed++
	}
	t.Logf("%d freshness rules were left out in turn, %d missed", len(bugs), missed)
	if missed != len(bugs) || missed == 0 {
		t.Errorf("%d of %d rules were missed, want all", missed, len(bugs))
	}
}

// builtTests are the tests of packages, built with all planted bugs, in a folder.
type builtTests string

// buildTests builds the tests that must fail with bugs.
func buildTests(t *testing.T, overlay string, bugs []planted.Bug) builtTests {
	t.Helper()
	built := builtTests(t.TempDir())
	last := ""
	for _, bug := range bugs {
		if bug.Freshness.Package == last {
			continue
		}
		last = bug.Freshness.Package
		args := []string{"test", "-c", "-vet=off", "-tags", "invariants", "-overlay", overlay, "-o", built.of(last), last}
		build := exec.CommandContext(t.Context(), "go", args...)
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return built
}

// of returns where the tests of a package are.
func (b builtTests) of(pkg string) string {
	return filepath.Join(string(b), strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
}

// run runs a test with a bug, and returns what it printed.
func (b builtTests) run(t *testing.T, test planted.Test, bug string) (string, error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), b.of(test.Package),
		"-test.v", "-test.run", "^"+test.Name+"$", "-test.timeout", "1m")
	run.Dir = filepath.Join("..", "..", filepath.FromSlash(test.Package))
	run.Env = append(os.Environ(), "TENURE_PLANTED="+bug)
	out, err := run.CombinedOutput()
	return string(out), err
}
