//go:build planted

package sim_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/tenure-io/tenure/internal/planted"
	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/sim"
)

var (
	plantedFlag = flag.String("planted", "", "look for this bug only")
	withinFlag  = flag.Int("within", 400, "give up after so many seeds")
	turnFlag    = flag.String("turn", "1/1", "I/N looks for the I-th of N parts of the bugs")
)

// One seed with one bug, told step by step: go test -tags planted ./test/sim -run TestPlantedOne -planted NAME -seed N.
func TestPlantedOne(t *testing.T) {
	bug, ok := planted.Parse(*plantedFlag)
	if !ok || *seedFlag == 0 {
		t.Skip("no -planted and -seed")
	}
	planted.Set(bug)
	defer planted.Set(planted.None)
	r := sim.Run(sim.Expand(*seedFlag), os.Stdout)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Failed() {
		keepSmaller(t, r.Plan)
	}
}

// told returns the violation that shows a bug, nil if there is none. A bug that makes reads stale has to be seen as a stale
// read, not by what follows from it.
func told(bug planted.Bug, r *sim.Result) *check.Violation {
	for i, v := range r.Violations {
		switch bug {
		case planted.ReadIndexReused, planted.LeaseReads, planted.ReadWithoutProof:
			if v.Checker == "linearizable" || v.Checker == "replay" {
				return &r.Violations[i]
			}
		default:
			return &r.Violations[i]
		}
	}
	return nil
}

// inTurn returns the bugs whose turn it is: every N-th, from the I-th on.
func inTurn(t *testing.T) (bugs []planted.Bug) {
	t.Helper()
	var turn, of int
	if _, err := fmt.Sscanf(*turnFlag, "%d/%d", &turn, &of); err != nil || turn < 1 || turn > of {
		t.Fatalf("-turn %s is not I/N with I from 1 to N", *turnFlag)
	}
	for i, bug := range planted.Bugs() {
		if i%of == turn-1 {
			bugs = append(bugs, bug)
		}
	}
	return bugs
}

// Every planted bug is found. The table says how many seeds it took, and what told.
func TestPlantedBugsAreFound(t *testing.T) {
	defer planted.Set(planted.None)
	for _, bug := range inTurn(t) {
		if *plantedFlag != "" && *plantedFlag != bug.Name() {
			continue
		}
		planted.Set(bug)
		var found *sim.Result
		sim.Many(1, *withinFlag, func(r *sim.Result) bool {
			if told(bug, r) != nil && (found == nil || r.Plan.Seed < found.Plan.Seed) {
				found = r
			}
			return found == nil
		})
		if found == nil {
			t.Errorf("| `%s` | not found in %d seeds | |", bug.Name(), *withinFlag)
			continue
		}
		t.Logf("| `%s` | %d | %s |", bug.Name(), found.Plan.Seed, told(bug, found).Checker)
	}
}
