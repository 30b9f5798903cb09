package sim_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/planted"
	"github.com/tenure-io/tenure/test/sim"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only, and tell what happens")
	planFlag  = flag.String("plan", "", "run the plan in this file only, and tell what happens")
	firstFlag = flag.Uint64("first", 1, "first seed")
	seedsFlag = flag.Int("seeds", 0, "how many seeds to run; 0 is 20, and 5 000 in a soak")
	traceFlag = flag.String("traces", "", "write the trace hash of each seed to this file")
	keepFlag  = flag.String("keep", os.TempDir(), "directory that takes the smaller plan of a seed that fails")
)

// gcPercent lets the collector run a quarter as often as it would. A fifth to a third of the simulator's time was its; what it
// leaves is less than 200 MiB.
const gcPercent = 400

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if planted.Enabled {
		// What a planted bug wrecks stays open.
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// floorsFrom is from how many seeds on there is something of everything.
const floorsFrom = 20

// shrinkTries bounds how long a failing seed is made smaller.
const shrinkTries = 60

func seeds() int {
	switch {
	case *seedsFlag > 0:
		return *seedsFlag
	case os.Getenv("TENURE_SOAK") == "1":
		return 5000
	default:
		return seedsDefault
	}
}

// One seed, or one plan, told step by step.
func TestOne(t *testing.T) {
	var p *sim.Plan
	switch {
	case *planFlag != "":
		p = readPlan(t, *planFlag)
	case *seedFlag != 0:
		p = sim.Expand(*seedFlag)
	default:
		t.Skip("no -seed and no -plan")
	}
	r := sim.Run(p, os.Stdout)
	t.Logf("trace %016x, %d steps\n%s%s", r.Trace, r.Steps, r.Floors, r.Report)
	for _, v := range r.Violations {
		t.Error(v)
	}
}

// Whatever breaks, no promise does.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 || *planFlag != "" {
		t.Skip("one seed or plan only")
	}
	if testing.Short() {
		t.Skip("short")
	}
	var total sim.Floors
	checked := map[string]int{}
	failed := 0
	var traces []string
	sim.Many(*firstFlag, seeds(), func(r *sim.Result) bool {
		total.Add(r.Floors)
		for name, n := range r.Report.Counts {
			checked[name] += n
		}
		traces = append(traces, fmt.Sprintf("%06d %016x\n", r.Plan.Seed, r.Trace))
		if !r.Failed() {
			return true
		}
		failed++
		for _, v := range r.Violations {
			t.Errorf("seed %d: %v", r.Plan.Seed, v)
		}
		t.Errorf("to see it: go test ./test/sim -run TestOne -seed %d", r.Plan.Seed)
		if failed == 1 {
			keepSmaller(t, r.Plan)
		}
		return failed < 10
	})
	t.Logf("what happened:\n%s\nwhat was checked:\n%s", total, &check.Report{Counts: checked})
	if *traceFlag != "" {
		slices.Sort(traces)
		if err := os.WriteFile(*traceFlag, []byte(strings.Join(traces, "")), 0o600); err != nil {
			t.Error(err)
		}
	}
	if seeds() < floorsFrom {
		return
	}
	for _, b := range slices.Concat(total.Below(), total.Unchecked(checked)) {
		t.Errorf("below the floor: %s", b)
	}
}

// keepSmaller writes down a plan as small as it can be made.
func keepSmaller(t *testing.T, p *sim.Plan) {
	t.Helper()
	small := sim.Shrink(p, shrinkTries)
	file := filepath.Join(*keepFlag, fmt.Sprintf("sim-seed-%d.json", p.Seed))
	if err := os.WriteFile(file, []byte(small.JSON()), 0o600); err != nil {
		t.Error(err)
		return
	}
	t.Errorf("smaller, %d faults: go test ./test/sim -run TestOne -plan %s\n%s", len(small.Faults), file, small.JSON())
}

func readPlan(t *testing.T, file string) *sim.Plan {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := sim.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// skipUnderRace skips what runs one world at a time: TestSeeds runs two, and the race detector finds nothing more in these.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector is on; make sim runs it")
	}
}

// Plans that failed once, and do not any more.
func TestPlans(t *testing.T) {
	skipUnderRace(t)
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no plans")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := sim.Run(readPlan(t, file), nil)
			for _, v := range r.Violations {
				t.Error(v)
			}
		})
	}
}

// The same seed twice is the same run, also if streams of snapshots break in it: Pebble's own goroutines decide how many files
// a snapshot has, and nothing may depend on that.
func TestReplay(t *testing.T) {
	skipUnderRace(t)
	n := max(seeds()/100, 2)
	left := map[bool]int{false: n, true: n} // by whether streams break
	for seed := *firstFlag; left[false]+left[true] > 0; seed++ {
		breaks := sim.Expand(seed).BrokenStreams > 0
		if left[breaks] == 0 {
			continue
		}
		left[breaks]--
		a, b := sim.Run(sim.Expand(seed), nil), sim.Run(sim.Expand(seed), nil)
		if a.Trace != b.Trace || a.Steps != b.Steps {
			t.Errorf("seed %d: trace %016x after %d steps, then %016x after %d", seed, a.Trace, a.Steps, b.Trace, b.Steps)
		}
	}
}
