package sim_test

import (
	"flag"
	"os"
	"testing"

	"github.com/tenure-io/tenure/test/sim"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only, and tell what happens")
	firstFlag = flag.Uint64("first", 1, "first seed")
	seedsFlag = flag.Int("seeds", 50, "how many seeds to run")
)

func TestOne(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("no -seed")
	}
	r := sim.Run(sim.Expand(*seedFlag), os.Stdout)
	t.Logf("trace %016x, %d steps, floors %+v\n%s", r.Trace, r.Steps, r.Floors, r.Report)
	for _, v := range r.Violations {
		t.Error(v)
	}
}

// The same seed twice is the same run.
func TestReplay(t *testing.T) {
	for seed := *firstFlag; seed < *firstFlag+uint64(*seedsFlag); seed += 10 {
		a, b := sim.Run(sim.Expand(seed), nil), sim.Run(sim.Expand(seed), nil)
		if a.Trace != b.Trace || a.Steps != b.Steps {
			t.Errorf("seed %d: trace %016x after %d steps, then %016x after %d", seed, a.Trace, a.Steps, b.Trace, b.Steps)
		}
	}
}

func TestSeeds(t *testing.T) {
	for seed := *firstFlag; seed < *firstFlag+uint64(*seedsFlag); seed++ {
		r := sim.Run(sim.Expand(seed), nil)
		t.Logf("seed %d trace %016x steps %d", seed, r.Trace, r.Steps)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %v", seed, v)
		}
	}
}
