package sim_test

import (
	"testing"

	"github.com/tenure-io/tenure/test/check"
	"github.com/tenure-io/tenure/test/sim"
)

// flapping is a run in which the connections to whoever leads are cut all the time, and everybody who tries again is refused.
func flapping(seed uint64) *sim.Plan {
	return &sim.Plan{
		Seed: seed, Members: 3, FaultsMs: 60_000, HealMs: 9_000, SilentMs: 18_000, TickMs: 50, ElectionTicks: 10,
		CheckpointEntries: 300, RingEvents: 64, KeepRevisions: 100, Keys: 3, Locks: 2, ThinkMs: 200, Deaths: true,
		Clients: []string{"keys", "session", "session", "session", "session", "session", "operator"},
		Faults:  []sim.Fault{{Kind: "resets", AtMs: 2000, ForMs: 58_000, Percent: 100}},
	}
}

// Each leader starts the time of all sessions again. However often leaders seem to have ended, that must not keep sessions alive
// whose clients are dead: the pauses between elections grow beyond each TTL.
func TestFlappingKeepsNoDeadSession(t *testing.T) {
	skipUnderRace(t)
	const (
		runs = 3
		// lateMax is by how many TTLs a session may live on: elections at pauses below it, each of which started it again, come to
		// less than two, and of each pause there may be one for each of two members.
		lateMax = 2.5
	)
	expired, early, latest := 0, 0, 0.0
	for seed := range uint64(runs) {
		r := sim.Run(flapping(seed+1), nil)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %v", seed+1, v)
		}
		early += r.Floors.EarlyElections
		for session, late := range lateness(r.History) {
			expired++
			latest = max(latest, late)
			if late > lateMax {
				t.Errorf("seed %d: session %s lived on for %.1f TTLs after its last TTL", seed+1, session, late)
			}
		}
	}
	t.Logf("%d sessions expired, at most %.1f TTLs late, under %d early elections", expired, latest, early)
	if expired < 2*runs || early < 10*runs {
		t.Errorf("floors: %d sessions expired, %d early elections", expired, early)
	}
}

// lateness returns for each session that expired how long it lived on after its TTL, counted in TTLs.
func lateness(h *check.History) map[string]float64 {
	ttls, last := map[string]float64{}, map[string]int64{}
	for _, op := range h.Ops {
		if op.Outcome != check.Refused && (op.Kind == check.KindRenew || op.Kind == check.KindCreate) {
			last[op.Session] = max(last[op.Session], op.Call)
		}
	}
	late := map[string]float64{}
	for _, e := range h.Events {
		switch {
		case e.Kind == "session_begun":
			ttls[e.Session] = float64(e.TTLMs) * 1e6
		case e.Kind == "session_ended" && e.Cause == "expired" && e.At != 0 && ttls[e.Session] > 0 && last[e.Session] > 0:
			late[e.Session] = float64(e.At-last[e.Session])/ttls[e.Session] - 1
		}
	}
	return late
}
