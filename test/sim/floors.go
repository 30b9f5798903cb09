package sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Floors count what happened in a run, so that nobody takes a run for a test in which nothing did.
type Floors struct {
	// Seeds are runs, SimulatedSeconds how long they were, Lives starts of members.
	Seeds, Lives     int
	SimulatedSeconds float64
	// Faults are those that began; the others are what they led to.
	Faults, Crashes, LeadersPaused, Transfers, Wipes, Replaced, ClientsFrozen, ClientDeaths, ClientLapses int
	// Messages are raft's; Duplicates came twice.
	Messages, Duplicates int
	// Proposals are entries, Dropped those of them that did not enter the log, Operations calls that were answered, Relayed those that went to the leader over another member.
	Proposals, Dropped, Operations, Relayed int
	// ReadTransactions were answered without the log.
	ReadTransactions int
	// QueuedAtPaused are calls that waited at a leader that was stopped.
	QueuedAtPaused int
	// Starved are the stalls of members that got too little time.
	Starved int
	// LeaderChanges are elections that somebody won.
	LeaderChanges int
	// ExpiriesProposed are commands of the timers, SessionsExpiring what they name. ExpiriesAtChange were on their way
	// when somebody else began to lead.
	ExpiriesProposed, SessionsExpiring, ExpiriesAtChange int
	// RenewalsWhileExpiring waited for the outcome of an expiry, or for the timers to begin.
	RenewalsWhileExpiring int
	// RenewalsAnsweredLate were answered when their client had gone to another member.
	RenewalsAnsweredLate int
	// OldDecisions are commands of the timers of an earlier term that reached the log, and were refused.
	OldDecisions int
	// StaleGuards are writes that were refused because their hold was over; ForcedLosses are holds that were lost by force.
	StaleGuards, ForcedLosses, OldEpochs int
	// AnswersCompared are answers of attempts after another one had been answered. RetriesInLog are attempts behind one that had a result,
	// KeyedRetries those of them under an idempotency key. NotApplied are requests that were told that no attempt was applied.
	AnswersCompared, RetriesInLog, KeyedRetries, NotApplied int
	// Checksums were compared between members.
	Checksums int
	// What members did with their disks, and in which of it they crashed.
	Checkpoints, LogCuts, Installs, InstallsFinished, InstallCrashes, ConfChanges, Compactions int
	// Streams brought snapshots, StreamsBroken of them not to the end; FilesReused are files, or beginnings of some, that the
	// receivers had.
	Streams, StreamsBroken, FilesReused int
	// DiskErrors are members that stopped because a write or a sync failed, DisksFull because there was no room.
	DiskErrors, DisksFull int
	// OldCopies are disks that were put back to an older copy, Mended those members that hold again what they had promised.
	// Doubts are heartbeats that promised more than the log holds.
	OldCopies, Mended, Doubts int
	// HungSteppedDown are leaders that did not lead any more while their disk hung.
	HungSteppedDown int
	// LeadersGone were found to have ended, or wrongly taken for it; EarlyElections are episodes because of that. Resets are
	// connections that were cut, FalseResets those whose process went on, and that were refused again.
	LeadersGone, EarlyElections, Resets, FalseResets int
	// EndsByCheck are sessions that ended with what they were bound to, MarkedEnds those of them that the end list ended. FalseAlarms are
	// machines that lived and that members called failed, FalseEnds those that a majority did. FlipsAtChange are changes of liveness that
	// were on their way when somebody else began to lead, OldFlips those that reached the log in a later term.
	EndsByCheck, MarkedEnds, FalseAlarms, FalseEnds, LivenessSet, FlipsAtChange, OldFlips int
	// Syncs are those of agents that were made, SyncsOutdated those that were refused because they came behind a later one.
	Syncs, SyncsOutdated int
	// RightsTaken are changes that took rights from a client. CallsDenied are answers because of that, ChangesDecidedAgain changes that met
	// it in the log, RenewalsDecidedAgain those that met it at the leader, RenewalsDenied those that were denied on their stream.
	// StreamsRevoked ended because of it. Shown are reads that were decided about on their snapshot, and streams that began.
	RightsTaken, CallsDenied, ChangesDecidedAgain, RenewalsDecidedAgain, RenewalsDenied, StreamsRevoked, Shown int
	// Restores are new clusters from a backup.
	Restores int
	// What watches did.
	WatchStreams, WatchEvents, WatchesCompacted int
}

// Add adds the counts of another run.
func (f *Floors) Add(other Floors) {
	a, b := reflect.ValueOf(f).Elem(), reflect.ValueOf(other)
	for i := range a.NumField() {
		if a.Field(i).CanInt() {
			a.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
		} else {
			a.Field(i).SetFloat(a.Field(i).Float() + b.Field(i).Float())
		}
	}
}

// String returns one count a line.
func (f Floors) String() string {
	var s strings.Builder
	v := reflect.ValueOf(f)
	for i := range v.NumField() {
		fmt.Fprintf(&s, "%-22s %v\n", v.Type().Field(i).Name, v.Field(i).Interface())
	}
	return s.String()
}

// Below returns what is below the floors that so many seeds have to reach.
func (f Floors) Below() []string {
	n := f.Seeds
	tests := []floor{
		{"simulated seconds", int(f.SimulatedSeconds), 60 * n},
		{"operations", f.Operations, 300 * n},
		{"transactions that only read", f.ReadTransactions, 5 * n},
		{"leader changes", f.LeaderChanges, 2 * n},
		{"crashes", f.Crashes, n},
		{"expiries in flight at a change of leader", f.ExpiriesAtChange, n / 20},
		{"stale guards refused", f.StaleGuards, n / 4},
		{"requests queued at a paused leader", f.QueuedAtPaused, n / 4},
		{"stalls of starved members", f.Starved, 5 * n},
		{"forced losses", f.ForcedLosses, 5 * n},
		{"renewals that waited for an expiry", f.RenewalsWhileExpiring, n / 2},
		{"renewals answered when their client had gone to another member", f.RenewalsAnsweredLate, n},
		{"decisions of timers refused in a later term", f.OldDecisions, n / 6},
		{"checksums compared", f.Checksums, 500 * n},
		{"snapshots installed", f.Installs, n / 10},
		{"installations finished after a crash", f.InstallsFinished, n / 100},
		{"streams of snapshots that broke", f.StreamsBroken, n / 20},
		{"files of snapshots that were there", f.FilesReused, n / 20},
		{"changes of members", f.ConfChanges, n / 4},
		{"answers of retries compared", f.AnswersCompared, n / 4},
		{"members stopped by an error of their disk", f.DiskErrors, n / 8},
		{"members stopped by a full disk", f.DisksFull, n / 32},
		{"leaders that stepped down because their disk hung", f.HungSteppedDown, n / 50},
		{"disks put back to an older copy", f.OldCopies, n / 20},
		{"members that mended", f.Mended, n / 25},
		{"connections reset", f.Resets, 10 * n},
		{"leaders that were wrongly taken for gone", f.FalseResets, n},
		{"elections without a time-out", f.EarlyElections, n},
		{"restores", f.Restores, 2 * n},
		{"retries in the log that get the first result", f.RetriesInLog, 10 * n},
		{"of those, under an idempotency key", f.KeyedRetries, n / 2},
		{"requests that are told that they were not applied", f.NotApplied, n},
		{"sessions ended with what they were bound to", f.EndsByCheck, n},
		{"of those, ended by the end list", f.MarkedEnds, n / 20},
		{"false alarms", f.FalseAlarms, n / 10},
		{"changes of liveness in flight at a change of leader", f.FlipsAtChange, n / 10},
		{"syncs of agents", f.Syncs, n},
		{"syncs that came behind a later one", f.SyncsOutdated, n / 20},
		{"rights taken from clients", f.RightsTaken, n},
		{"calls denied", f.CallsDenied, 5 * n},
		{"changes that met a change of rights in the log", f.ChangesDecidedAgain, n / 4},
		{"renewals that met a change of rights at the leader", f.RenewalsDecidedAgain, n / 20},
		{"streams ended by a change of rights", f.StreamsRevoked, n / 2},
		{"watch events", f.WatchEvents, 100 * n},
		{"watches passed by compaction", f.WatchesCompacted, n / 50},
		{"disks lost", f.Wipes, n / 20},
		{"members replaced", f.Replaced, n / 20},
		{"clients frozen", f.ClientsFrozen, n / 4},
		{"clients that died", f.ClientDeaths, n / 4},
		{"clients that lapsed", f.ClientLapses, n / 4},
		{"transfers", f.Transfers, n / 2},
		{"crashes during an installation", f.InstallCrashes, n / 20},
		{"compactions", f.Compactions, n},
		{"writes of an old epoch", f.OldEpochs, n / 4},
		{"living machines that a majority called failed", f.FalseEnds, n / 100},
		{"changes of liveness of an earlier term in the log", f.OldFlips, n / 100},
	}
	return below(tests)
}

// Unchecked returns which of the checkers of package check looked at less than they have to in so many seeds.
func (f Floors) Unchecked(counts map[string]int) []string {
	n := f.Seeds
	var tests []floor
	for name, want := range map[string]int{
		"linearizable keys":                           3 * n,
		"linearizable operations":                     200 * n,
		"linearizable locks":                          n,
		"linearizable lock operations":                20 * n,
		"locks beliefs":                               5 * n,
		"locks grants":                                10 * n,
		"replay guards held":                          20 * n,
		"replay stale guards refused":                 n / 4,
		"replay old epochs refused":                   n / 4,
		"replay calls of ended sessions refused":      n,
		"replay retried changes":                      5 * n,
		"ttl renewals of sessions that expired":       20 * n,
		"ttl renewals of sessions said to have ended": 2 * n,
		"ttl sessions that had to expire in time":     n / 4,
		"watches batches":                             100 * n,
		"watches watches that were due":               n / 2,
	} {
		tests = append(tests, floor{name, counts[name], want})
	}
	slices.SortFunc(tests, func(a, b floor) int { return strings.Compare(a.name, b.name) })
	return below(tests)
}

// floor is how much of something there has to be.
type floor struct {
	name      string
	got, want int
}

// below returns the floors that were not reached.
func below(tests []floor) []string {
	var below []string
	for _, t := range tests {
		if t.got < t.want {
			below = append(below, fmt.Sprintf("%s: %d, want %d at least", t.name, t.got, t.want))
		}
	}
	return below
}
