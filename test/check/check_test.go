package check_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const second = int64(1e9)

// calm says that nothing was disturbed from the beginning on.
var calm = check.Options{CalmFrom: 1}

// good is a history in which nothing is wrong: two sessions, a lock that goes from one to the other, keys, a watch. One
// session expires.
func good() *check.History {
	hold := func(index, token uint64, session string) *check.Hold {
		return &check.Hold{Key: "x", LockIndex: index, Token: token, Session: session}
	}
	event := func(revision uint64, index, count uint32, at int64, e check.Event) *check.Event {
		e.Revision, e.Index, e.Count, e.At = revision, index, count, at
		return &e
	}
	all := ""
	return &check.History{
		Ops: []*check.Op{
			{ID: 1, Client: "a", Kind: check.KindCreate, Session: "s1", TTLMs: 5000, LockDelayMs: 1000, Call: 1, Return: 10, Outcome: check.OK, Revision: 1, Changed: true},
			{ID: 2, Client: "b", Kind: check.KindCreate, Session: "s2", TTLMs: 5000, Call: 11, Return: 20, Outcome: check.OK, Revision: 2, Changed: true},
			{ID: 3, Client: "a", Kind: check.KindAcquire, Key: "x", Session: "s1", Epoch: 1, Mode: "exclusive", Call: 21, Return: 30, Outcome: check.OK, Revision: 3, Changed: true, Hold: hold(1, 3, "s1")},
			{ID: 4, Client: "b", Kind: check.KindAcquire, Key: "x", Session: "s2", Epoch: 1, Mode: "exclusive", Queue: true, Call: 31, Return: 40, Outcome: check.OK, Revision: 4, Changed: true, Place: 4},
			{ID: 5, Client: "a", Kind: check.KindPut, Key: "g", Value: "v1", Guard: hold(1, 3, "s1"), Call: 41, Return: 50, Outcome: check.OK, Revision: 5, Changed: true},
			{ID: 6, Client: "c", Kind: check.KindPut, Key: "k", Value: "v2", Call: 51, Return: 60, Outcome: check.OK, Revision: 6, Changed: true},
			{ID: 7, Client: "c", Kind: check.KindGet, Key: "k", Call: 61, Return: 70, Outcome: check.OK, Revision: 6, Found: true, Read: "v2", ModRevision: 6},
			{ID: 8, Client: "c", Kind: check.KindPut, Key: "k", Value: "v3", IfRevision: new(uint64(6)), Call: 71, Return: 80, Outcome: check.OK, Revision: 7, Changed: true},
			{ID: 9, Client: "c", Kind: check.KindPut, Key: "k", Value: "v4", IfRevision: new(uint64(6)), Call: 81, Return: 90, Outcome: check.Refused, Reason: "compare_failed", Revision: 7, ModRevision: 7},
			{ID: 10, Client: "b", Kind: check.KindRenew, Session: "s2", Call: 5 * second, Return: 5*second + 9, Outcome: check.OK},
			{ID: 11, Client: "d", Kind: check.KindGetLock, Key: "x", Call: 5*second + 10, Return: 5*second + 20, Outcome: check.OK, Revision: 7, Holders: 1, Waiters: 1, Hold: hold(1, 3, "s1")},
			{ID: 12, Client: "a", Kind: check.KindPut, Key: "g", Value: "v5", Guard: hold(1, 3, "s1"), Call: 8 * second, Return: 8*second + 10, Outcome: check.Refused, Reason: "fencing_token_stale", Revision: 9},
			{ID: 13, Client: "c", Kind: check.KindDelete, Key: "k", Call: 8*second + 20, Return: 8*second + 30, Outcome: check.OK, Revision: 10, Changed: true, Done: true},
			{ID: 14, Client: "c", Kind: check.KindPut, Key: "k", Value: "v6", Call: 8*second + 40, Outcome: check.Unknown},
		},
		Events: []*check.Event{
			event(1, 0, 1, 5, check.Event{Kind: "session_begun", Session: "s1", TTLMs: 5000}),
			event(2, 0, 1, 15, check.Event{Kind: "session_begun", Session: "s2", TTLMs: 5000}),
			event(3, 0, 1, 25, check.Event{Kind: "lock_granted", Key: "x", LockIndex: 1, Token: 3, Session: "s1", Mode: "exclusive"}),
			event(4, 0, 1, 35, check.Event{Kind: "lock_queued", Key: "x", Place: 4, Session: "s2", Mode: "exclusive"}),
			event(5, 0, 1, 45, check.Event{Kind: "key_put", Key: "g", Value: "v1", Change: "put", CreateRevision: 5, Version: 1}),
			event(6, 0, 1, 55, check.Event{Kind: "key_put", Key: "k", Value: "v2", Change: "put", CreateRevision: 6, Version: 1}),
			event(7, 0, 1, 75, check.Event{Kind: "key_put", Key: "k", Value: "v3", Change: "put", CreateRevision: 6, Version: 2}),
			event(8, 0, 3, 6*second, check.Event{Kind: "session_ended", Session: "s1", Cause: "expired"}),
			event(8, 1, 3, 6*second, check.Event{Kind: "lock_lost", Key: "x", LockIndex: 1, Token: 3, Session: "s1", Mode: "exclusive", Cause: "session_expired"}),
			event(8, 2, 3, 6*second, check.Event{Kind: "lock_delay_begun", Key: "x", LockIndex: 1, Token: 3, DelayMs: 1000}),
			event(9, 0, 2, 7*second, check.Event{Kind: "lock_delay_ended", Key: "x", LockIndex: 1, Token: 3}),
			event(9, 1, 2, 7*second, check.Event{Kind: "lock_granted", Key: "x", LockIndex: 2, Token: 9, Session: "s2", Mode: "exclusive", Place: 4}),
			event(10, 0, 1, 8*second+25, check.Event{Kind: "key_deleted", Key: "k"}),
		},
		Watches: []*check.Watch{{
			ID: 1, Client: "w", KeyPrefix: &all, LockPrefix: &all, After: 4,
			Batches: []check.Batch{
				{Events: []check.Position{{Revision: 5}, {Revision: 6}}, Through: 6},
				{Events: []check.Position{{Revision: 7}, {Revision: 8, Index: 1}, {Revision: 8, Index: 2}}, Through: 8},
				{Events: []check.Position{{Revision: 9}, {Revision: 9, Index: 1}, {Revision: 10}}, Through: 10},
			},
		}},
		Beliefs: []*check.Belief{
			{Client: "a", Hold: *hold(1, 3, "s1"), From: 30, Until: 49 * second / 10},
			{Client: "b", Hold: *hold(2, 9, "s2"), From: 7 * second, Until: 9 * second},
		},
	}
}

// marked is a change of the catalog that ends s2, whose end is not carried out yet.
func marked(revision uint64, at int64) *check.Event {
	return &check.Event{Revision: revision, Count: 1, At: at, Kind: check.KindOfCatalog, Marked: []string{"s2"}}
}

// refuse adds a call of s2 that was refused at the end.
func refuse(h *check.History, kind check.Kind, epoch uint64, reason string) {
	h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: kind, Key: "k", Mode: "exclusive", Session: "s2", Epoch: epoch, Call: 9 * second, Return: 9*second + 5, Outcome: check.Refused, Reason: reason, Revision: 10})
}

func TestAGoodHistoryHasNoViolation(t *testing.T) {
	r := check.Run(good(), calm)
	for _, v := range r.Violations {
		t.Error(v)
	}
	for _, name := range []string{
		"linearizable keys", "linearizable lock operations", "replay revisions", "replay guards held", "replay stale guards refused",
		"locks grants", "locks beliefs", "ttl expired sessions", "ttl renewals", "watches events",
	} {
		if r.Counts[name] == 0 {
			t.Errorf("nothing counted as %q:\n%s", name, r)
		}
	}
}

// endsWith lets a key exist with a value, and go when s1 ends, which has this behavior.
func endsWith(h *check.History, key, value, behavior string) {
	h.Ops[0].Behavior = behavior
	h.Events[6] = &check.Event{Revision: 7, Count: 1, At: 75, Kind: "key_put", Key: key, Value: value, Change: "put", CreateRevision: 7, Version: 1}
	if key == "k" {
		h.Events[6].CreateRevision, h.Events[6].Version = 6, 2
	}
	for _, e := range h.Events[7:10] {
		e.Count = 4
	}
	gone := &check.Event{Revision: 8, Index: 3, Count: 4, At: 6 * second, Kind: "key_deleted", Key: key, Session: "s1"}
	h.Events = append(h.Events[:10:10], append([]*check.Event{gone}, h.Events[10:]...)...)
}

// What deletes a locked key with its session is no violation.
func TestKeysMayGoWithTheirSessions(t *testing.T) {
	for name, spoil := range map[string]func(h *check.History){
		"one that was locked": func(h *check.History) { endsWith(h, "x", "v3", check.BehaviorDelete) },
		"one that was bound": func(h *check.History) {
			endsWith(h, "e", "v3", "release")
			h.Events[6].Bound = "s1"
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := good()
			spoil(h)
			for _, v := range check.Run(h, check.Options{}).Violations {
				if strings.Contains(v.Text, "is deleted") || strings.Contains(v.Text, "is bound") {
					t.Error(v)
				}
			}
		})
	}
}

// Every case changes one thing of the good history; a checker must tell.
func TestBadHistoriesAreFound(t *testing.T) {
	op := func(h *check.History, id int) *check.Op { return h.Ops[id-1] }
	drop := func(h *check.History, i int) { h.Events = append(h.Events[:i:i], h.Events[i+1:]...) }
	tests := map[string]struct {
		spoil func(h *check.History)
		want  []string // each is part of some violation
	}{
		"a session that lives and is said to have ended": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "a", Kind: check.KindRenew, Session: "s1", Call: 5 * second, Return: 5*second + 9, Outcome: check.Refused, Reason: check.Missing})
			},
			[]string{"ttl: op 99 by a: session s1 was said to have ended, and lived"},
		},
		"a read of a value that was overwritten before": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "d", Kind: check.KindGet, Key: "k", Call: 85, Return: 95, Outcome: check.OK, Revision: 6, Found: true, Read: "v2", ModRevision: 6})
			},
			[]string{"linearizable: key k", "is older than op 8"},
		},
		"a comparison that succeeded against another revision": {
			func(h *check.History) { op(h, 8).IfRevision = new(uint64(5)) },
			[]string{"linearizable: key k", "demanded revision 5"},
		},
		"a comparison that failed although it holds": {
			func(h *check.History) { op(h, 9).IfRevision = new(uint64(7)) },
			[]string{"linearizable: key k", "was refused for 7"},
		},
		"an acknowledged write that is gone": {
			func(h *check.History) { op(h, 5).Value = "v9" },
			[]string{"is not there", "never written"},
		},
		"a refused write that was done": {
			func(h *check.History) { op(h, 9).Value = "v3" },
			[]string{"was refused (compare_failed), and its value"},
		},
		"a write that was done twice": {
			func(h *check.History) {
				h.Events = append(h.Events, &check.Event{Revision: 11, Count: 1, At: 9 * second, Kind: "key_put", Key: "k", Value: "v2", Change: "put", CreateRevision: 11, Version: 1})
			},
			[]string{"written 2 times"},
		},
		"a retry that was answered otherwise": {
			func(h *check.History) { op(h, 6).Differs = "6 and 7" },
			[]string{"a retry was answered differently"},
		},
		"a change that was applied before it was asked for": {
			func(h *check.History) { op(h, 6).Call, op(h, 6).Return = 56, 60 },
			[]string{"was called at 56 and applied at 55"},
		},
		"an answer with what nobody had applied": {
			func(h *check.History) { op(h, 13).Return = 8*second + 24 },
			[]string{"with what was applied at"},
		},
		"a revision that is missing": {
			func(h *check.History) { drop(h, 5) },
			[]string{"revision 7 follows 5"},
		},
		"a revision that is split": {
			func(h *check.History) { drop(h, 9) },
			[]string{"number 0 of 3"},
		},
		"a second holder": {
			func(h *check.History) {
				h.Events[3].Kind, h.Events[3].Place, h.Events[3].LockIndex, h.Events[3].Token = "lock_granted", 0, 2, 4
			},
			[]string{"is granted exclusive", "linearizable: lock x"},
		},
		"a grant past the queue": {
			func(h *check.History) { h.Events[11].Place = 0 },
			[]string{"past a queue of 1"},
		},
		"a waiter who is left when the lock is free": {
			func(h *check.History) { drop(h, 11); h.Events[10].Count = 1 },
			[]string{"waits on, and nothing stands against it"},
		},
		"a lock that was lost without its delay": {
			func(h *check.History) {
				h.Events = append(h.Events[:9:9], h.Events[11:]...)
				h.Events[7].Count, h.Events[8].Count, h.Events[9].Count, h.Events[9].Index = 2, 2, 1, 0
			},
			[]string{"without its lock-delay of 1000 ms"},
		},
		"a delay that is too short": {
			func(h *check.History) { h.Events[10].At, h.Events[11].At = 6*second+5e8, 6*second+5e8 },
			[]string{"ended after 500 ms, it is 1000 ms long"},
		},
		"an ended session that still waits": {
			func(h *check.History) { h.Events[7].Session = "s2"; h.Events[8].Session = "s1" },
			[]string{"session s2 ended, and still waits for x"},
		},
		"an ended session that still holds": {
			func(h *check.History) {
				h.Events = append(h.Events[:8:8], h.Events[12:]...)
				h.Events[7].Count, h.Events[8].Revision = 1, 9
			},
			[]string{"session s1 ended, and still holds x"},
		},
		"a guarded write after the hold had ended": {
			func(h *check.History) {
				o := op(h, 12)
				o.Outcome, o.Revision, o.Changed, o.Reason, o.Value = check.OK, 10, true, "", ""
			},
			[]string{"which had ended"},
		},
		"a guard that was refused although the hold stands": {
			func(h *check.History) { op(h, 12).Revision = 7 },
			[]string{"was refused, but hold 1 of x"},
		},
		"a write by an old epoch": {
			func(h *check.History) {
				h.Events = append(h.Events, &check.Event{Revision: 11, Count: 1, At: 9 * second, Kind: "session_taken_over", Session: "s2", Epoch: 2},
					&check.Event{Revision: 12, Count: 1, At: 9*second + 10, Kind: "key_put", Key: "o", Value: "v7", Change: "put", CreateRevision: 12, Version: 1})
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: check.KindPut, Key: "o", Value: "v7", Session: "s2", Epoch: 1, Call: 9*second + 5, Return: 9*second + 15, Outcome: check.OK, Revision: 12, Changed: true})
			},
			[]string{"was done for epoch 1 of session s2"},
		},
		"a try that says taken of a lock that is free": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: check.KindAcquire, Key: "y", Session: "s2", Mode: "exclusive", Call: 85, Return: 95, Outcome: check.OK, Revision: 7})
			},
			[]string{"the lock is taken, it is free"},
		},
		"a lock seen with another holder": {
			func(h *check.History) { op(h, 11).Hold = &check.Hold{Key: "x", LockIndex: 2, Token: 9, Session: "s2"} },
			[]string{"linearizable: lock x", "saw hold"},
		},
		"a token that goes back": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: check.KindAcquire, Key: "x", Session: "s2", Mode: "exclusive", Call: 7*second + 1, Return: 7*second + 9, Outcome: check.OK, Revision: 9, Changed: true, Hold: &check.Hold{Key: "x", LockIndex: 2, Token: 2, Session: "s2"}})
			},
			[]string{"locks: op 99", "was answered with hold"},
		},
		"two who believe to hold": {
			func(h *check.History) { h.Beliefs[0].Until = 7*second + 5 },
			[]string{"locks: x: a believes"},
		},
		"a session that ended too early": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "a", Kind: check.KindRenew, Session: "s1", Call: 2 * second, Return: 2*second + 5, Outcome: check.OK})
			},
			[]string{"4000 ms after a renew_session"},
		},
		"a session that ended too late": {
			func(h *check.History) { h.Events[7].At = 6*second + 11 },
			[]string{"ttl: op 1 by a: session s1 expired at 6000000011 (revision 8), 6000 ms after a create_session was answered"},
		},
		"a renewal after the end": {
			func(h *check.History) {
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "a", Kind: check.KindRenew, Session: "s1", Call: 6*second + 1, Return: 6*second + 5, Outcome: check.OK})
			},
			[]string{"and was renewed by a call"},
		},
		"a renewal after the end list had ended the session": {
			func(h *check.History) {
				h.Events = append(h.Events, marked(11, 9*second))
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: check.KindRenew, Session: "s2", Call: 9*second + 1, Return: 9*second + 5, Outcome: check.OK})
			},
			[]string{"ttl: op 99 by b: session s2 ended at 9000000000 (revision 11), and was renewed by a call"},
		},
		"a guarded write after the end list had ended the session": {
			func(h *check.History) {
				h.Events = append(h.Events, marked(11, 9*second),
					&check.Event{Revision: 12, Count: 1, At: 9*second + 10, Kind: "key_put", Key: "g", Value: "v7", Change: "put", CreateRevision: 5, Version: 2})
				h.Ops = append(h.Ops, &check.Op{ID: 99, Client: "b", Kind: check.KindPut, Key: "g", Value: "v7", Guard: &check.Hold{Key: "x", LockIndex: 2, Token: 9, Session: "s2"}, Call: 9*second + 5, Return: 9*second + 15, Outcome: check.OK, Revision: 12, Changed: true})
			},
			[]string{"was done under a hold of session s2, which had ended"},
		},
		"a call that was refused because its session is not found, which lives": {
			func(h *check.History) { refuse(h, check.KindPut, 0, "session_not_found") },
			[]string{"op 99 by b (put k at revision 10): was refused, but session s2 lives"},
		},
		"a call of the present epoch that was refused as of an old one": {
			func(h *check.History) { refuse(h, check.KindPut, 1, "session_superseded") },
			[]string{"was refused, but nobody took session s2 over from epoch 1"},
		},
		"a lock that was refused in a mode that goes with its use": {
			func(h *check.History) { refuse(h, check.KindAcquire, 1, "lock_mode_mismatch") },
			[]string{"was refused, but nothing stands against exclusive"},
		},
		"a guard that was refused and is none": {
			func(h *check.History) { refuse(h, check.KindPut, 1, "fencing_token_stale") },
			[]string{"was refused for a guard, and has none"},
		},
		"a comparison that failed and is none": {
			func(h *check.History) { refuse(h, check.KindPut, 1, "compare_failed") },
			[]string{"was refused for revision 0, and demanded none"},
		},
		"a request that was refused as another one": {
			func(h *check.History) { refuse(h, check.KindPut, 1, "request_id_reused") },
			[]string{"was refused: request_id_reused"},
		},
		"a session that was refused for an epoch": {
			func(h *check.History) { refuse(h, check.KindCreate, 0, "epoch_mismatch") },
			[]string{"was refused, but nobody else took session s2 over from epoch 0"},
		},
		"a takeover that was refused for another one, and is the only one": {
			func(h *check.History) { refuse(h, check.KindTakeOver, 1, "epoch_mismatch") },
			[]string{"was refused, but nobody else took session s2 over from epoch 1"},
		},
		"a delay that is not its session's": {
			func(h *check.History) { h.Events[9].DelayMs = 400 },
			[]string{"the delay of hold 1 of x is 400 ms long, its session's is 1000 ms"},
		},
		"a lock whose numbers begin again while it is in use": {
			func(h *check.History) { h.Events[11].LockIndex = 1 },
			[]string{"x is granted as number 1, want 2"},
		},
		"an event that a watch missed": {
			func(h *check.History) { h.Watches[0].Batches[1].Events = h.Watches[0].Batches[1].Events[1:] },
			[]string{"event 7.0 is missing"},
		},
		"an event that came twice": {
			func(h *check.History) {
				b := &h.Watches[0].Batches[1]
				b.Events = append([]check.Position{{Revision: 6}}, b.Events...)
			},
			[]string{"event 6.0 does not belong there, or comes twice"},
		},
		"a revision that a watch saw in two": {
			func(h *check.History) {
				b := h.Watches[0].Batches
				b[2].Events = append(b[1].Events[2:], b[2].Events...)
				b[1].Events = b[1].Events[:2]
			},
			[]string{"event 8.2 is missing"},
		},
		"a version that jumps": {
			func(h *check.History) { h.Events[6].Version = 3 },
			[]string{"put as version 3, created at 6, want version 2"},
		},
		"a key that is bound to a session that has ended": {
			func(h *check.History) {
				h.Events = append(h.Events, &check.Event{Revision: 11, Count: 1, At: 9 * second, Kind: "key_put", Key: "e", Value: "v7", Change: "put", CreateRevision: 11, Version: 1, Bound: "s1"})
			},
			[]string{"key e is bound to session s1, which does not live"},
		},
		"a key that loses its binding": {
			func(h *check.History) { h.Events[5].Bound = "s2" },
			[]string{`key k was bound to session "s2", and a put binds it to ""`},
		},
		"a key that goes with a session that lives": {
			func(h *check.History) { h.Events[12].Session = "s2" },
			[]string{"key k is deleted, and session s2 did not end"},
		},
		"a key that goes with a session that had nothing to do with it": {
			func(h *check.History) { endsWith(h, "k", "v3", "") },
			[]string{"key k is deleted, and session s1 had neither bound nor locked it"},
		},
		"a locked key that goes with a session that leaves its keys": {
			func(h *check.History) { endsWith(h, "x", "v9", "release") },
			[]string{"key x is deleted, and the end of session s1 leaves the keys that it had locked"},
		},
		"a key that nobody deleted": {
			func(h *check.History) { op(h, 13).Key = "other" },
			[]string{"key k is deleted, and nobody deleted it"},
		},
		"a key that only a lock is said to have made, and that has a value": {
			func(h *check.History) { h.Events[12].Unused = true },
			[]string{"key k is deleted, and not only its lock had made it"},
		},
		"a key that goes with the last use of a lock that is in use": {
			func(h *check.History) {
				h.Events[5] = &check.Event{Revision: 6, Count: 1, At: 55, Kind: "key_put", Key: "x", Change: "put", CreateRevision: 6, Version: 1}
				h.Events[6] = &check.Event{Revision: 7, Count: 1, At: 75, Kind: "key_deleted", Key: "x", Unused: true}
			},
			[]string{"key x is deleted, and its lock is in use"},
		},
		"an event that a watch never delivered": {
			func(h *check.History) {
				h.Watches[0].Batches, h.Watches[0].DueBefore = h.Watches[0].Batches[:2], 8*second
			},
			[]string{"watches: watch 1 of w: event 9.0 was applied at 7000000000, and not delivered"},
		},
		"progress before the events": {
			func(h *check.History) { h.Watches[0].Batches[0].Through = 7 },
			[]string{"event 7.0 is missing"},
		},
		"progress beyond all events": {
			func(h *check.History) { h.Watches[0].Batches[2].Through = 12 },
			[]string{"the newest is 10"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := good()
			tt.spoil(h)
			r := check.Run(h, calm)
			for _, want := range tt.want {
				if !strings.Contains(r.String(), want) {
					t.Errorf("nobody says %q:\n%s", want, r)
				}
			}
			if len(r.Violations) == 0 {
				t.Error("no violation")
			}
		})
	}
}

func TestHistoriesAreWrittenAndRead(t *testing.T) {
	want := good()
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := check.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := check.Read(strings.NewReader(`{"op":1}`)); err == nil {
		t.Error("what is no history is read as one")
	}
}

// lateHistory has so many puts whose clients gave up, each of which takes effect much later, behind puts with a known outcome.
func lateHistory(puts int) *check.History {
	h := &check.History{}
	var at int64
	op := func(o check.Op) *check.Op {
		o.ID, o.Client, o.Key, o.Call, o.Return = len(h.Ops)+1, "c", "k", at+1, at+2
		at += 3
		h.Ops = append(h.Ops, &o)
		return &o
	}
	for i := range puts {
		op(check.Op{Kind: check.KindPut, Value: fmt.Sprint("late", i), Outcome: check.Unknown}).Return = 0
	}
	for i := range puts {
		known, late := uint64(10*i+1), uint64(10*i+2)
		op(check.Op{Kind: check.KindPut, Value: fmt.Sprint("known", i), Outcome: check.OK, Revision: known})
		op(check.Op{Kind: check.KindGet, Outcome: check.OK, Found: true, Read: fmt.Sprint("known", i), ModRevision: known})
		op(check.Op{Kind: check.KindGet, Outcome: check.OK, Found: true, Read: fmt.Sprint("late", i), ModRevision: late})
	}
	return h
}

func notLinearizable(h *check.History) (found []check.Violation) {
	for _, v := range check.Run(h, check.Options{}).Violations {
		if v.Checker == "linearizable" {
			found = append(found, v)
		}
	}
	return found
}

// The search ends, however many puts take effect after their clients gave up.
func TestPutsThatTakeEffectLateAreInOrder(t *testing.T) {
	for _, v := range notLinearizable(lateHistory(40)) {
		t.Error(v)
	}
}

func TestPutsThatTakeEffectLateCannotHideAStaleRead(t *testing.T) {
	last := func(h *check.History) *check.Op { return h.Ops[len(h.Ops)-1] }
	for name, spoil := range map[string]func(h *check.History){
		"a put that took effect is not read any more": func(h *check.History) {
			stale := *last(h)
			stale.Read, stale.ModRevision = "known39", 391
			stale.Call, stale.Return = stale.Return+1, stale.Return+2
			h.Ops = append(h.Ops, &stale)
		},
		"a put is read before it is called": func(h *check.History) {
			h.Ops[0].Call = last(h).Return + 1
		},
		"a put takes effect twice": func(h *check.History) {
			again := *last(h)
			again.ModRevision++
			again.Call, again.Return = again.Return+1, again.Return+2
			h.Ops = append(h.Ops[39:40:40], h.Ops[len(h.Ops)-3:]...)
			h.Ops = append(h.Ops, &again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := lateHistory(40)
			spoil(h)
			if found := notLinearizable(h); len(found) != 1 || !strings.Contains(found[0].Text, "explains the answers") {
				t.Errorf("got %v", found)
			}
		})
	}
}
