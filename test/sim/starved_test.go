package sim_test

import (
	"testing"

	"github.com/tenure-io/tenure/test/sim"
)

// starving is a run in which whoever leads gets so little time that each tick of its timers is late.
func starving(seed uint64) *sim.Plan {
	return &sim.Plan{
		Seed: seed, Members: 3, FaultsMs: 60_000, HealMs: 9_000, SilentMs: 18_000, TickMs: 50, ElectionTicks: 10,
		CheckpointEntries: 300, RingEvents: 64, KeepRevisions: 100, Keys: 3, Locks: 2, ThinkMs: 200, Deaths: true,
		Clients: []string{"keys", "session", "session", "session", "session", "session", "operator"},
		Faults:  []sim.Fault{{Kind: "starved", AtMs: 2000, ForMs: 58_000, Percent: 300}},
	}
}

// However late the ticks of a leader are, sessions end whose clients are dead.
func TestAStarvedLeaderEndsDeadSessions(t *testing.T) {
	skipUnderRace(t)
	const (
		runs = 3
		// lateMax is by how many TTLs a session may live on: each tick counts for 50 ms, and they are 340 ms apart. A timer that has
		// run out waits for a few more.
		lateMax = 340.0/50 - 1 + 1.5
	)
	expired, stalls, latest := 0, 0, 0.0
	for seed := range uint64(runs) {
		r := sim.Run(starving(seed+1), nil)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %v", seed+1, v)
		}
		stalls += r.Floors.Starved
		for session, late := range lateness(r.History) {
			expired++
			latest = max(latest, late)
			if late > lateMax {
				t.Errorf("seed %d: session %s lived on for %.1f TTLs after its last TTL", seed+1, session, late)
			}
		}
	}
	t.Logf("%d sessions expired, at most %.1f TTLs late, under %d stalls", expired, latest, stalls)
	if expired < 2*runs || stalls < 100*runs {
		t.Errorf("floors: %d sessions expired, %d stalls", expired, stalls)
	}
}
