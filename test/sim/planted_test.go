package sim_test

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/planted"
	"github.com/tenure-io/tenure/test/sim"
)

const (
	// huntedMax is how many bugs one turn hunts.
	huntedMax = 12
	// huntSearchMax bounds each search of an order in a hunt. What it leaves undecided does not count as found.
	huntSearchMax = 10 * time.Second
)

var (
	plantedFlag = flag.String("planted", "", "look for this bug only")
	withinFlag  = flag.Int("within", 400, "give up after so many seeds")
	turnFlag    = flag.Int("turn", -1, "look for 12 of the bugs only, others at each turn")
)

// plantedBugs skips a program without planted bugs, and returns those that the simulator hunts.
func plantedBugs(t *testing.T) []planted.Bug {
	t.Helper()
	if !planted.Enabled {
		t.Skip("built without the overlay of test/planted: make planted")
	}
	all, err := planted.Bugs()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { planted.Plant("") })
	return slices.DeleteFunc(all, func(b planted.Bug) bool {
		return !b.Hunted() || *plantedFlag != "" && *plantedFlag != b.Name
	})
}

// One seed with one bug, told step by step, after make planted has made the overlay:
//
//	go test -overlay .build/planted/overlay.json -v -run TestPlantedOne ./test/sim -planted NAME -seed N
func TestPlantedOne(t *testing.T) {
	bugs := plantedBugs(t)
	if *plantedFlag == "" || *seedFlag == 0 {
		t.Skip("no -planted and -seed")
	}
	if len(bugs) == 0 {
		t.Fatalf("no bug is named %q", *plantedFlag)
	}
	planted.Plant(bugs[0].Name)
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
		if v.Undecided {
			continue
		}
		if len(bug.Checkers) == 0 || slices.Contains(bug.Checkers, v.Checker) {
			return &r.Violations[i]
		}
	}
	return nil
}

// inTurn returns the bugs whose turn it is: the next huntedMax of them, around in a circle.
func inTurn(bugs []planted.Bug, turn int) []planted.Bug {
	if turn < 0 || len(bugs) <= huntedMax {
		return bugs
	}
	first := turn * huntedMax % len(bugs)
	return slices.Concat(bugs, bugs)[first : first+huntedMax]
}

// Every planted bug is found. The table says how many seeds it took, and what told.
func TestPlantedBugsAreFound(t *testing.T) {
	bugs := plantedBugs(t)
	t.Logf("%d bugs", len(bugs))
	for _, bug := range inTurn(bugs, *turnFlag) {
		planted.Plant(bug.Name)
		var found *sim.Result
		sim.Hunt(1, *withinFlag, huntSearchMax, func(r *sim.Result) bool {
			if told(bug, r) != nil && (found == nil || r.Plan.Seed < found.Plan.Seed) {
				found = r
			}
			return found == nil
		})
		if found == nil {
			t.Errorf("| `%s` | not found in %d seeds | |", bug.Name, *withinFlag)
			continue
		}
		t.Logf("| `%s` | %d | %s |", bug.Name, found.Plan.Seed, told(bug, found).Checker)
	}
}
