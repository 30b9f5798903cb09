package storage_test

import (
	"crypto/sha256"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// limitMemory lowers what is remembered of sessions that ended, and of calls with idempotency keys, to almost nothing.
func limitMemory() *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: &storev1.Limits{
		TombstoneBytesMax: new(uint64(1)), EndedSessionsMax: new(uint32(1)), IdempotencyKeysMax: new(uint32(1)),
	}, Force: true}}}
}

// request returns a request of a session.
func request(session, sequence uint64) *storev1.Command {
	digest := sha256.Sum256(nil)
	c := putCommand("k", "v")
	c.RequestDigest = digest[:]
	c.RequestId = &storev1.RequestID{SessionId: numberedID(session), Epoch: 1, Sequence: sequence}
	return c
}

// remembered opens sessions that make some requests each and end, and makes a call with a key for each.
func (r *rig) remembered(sessions, requests uint64) {
	r.t.Helper()
	r.sessions(0, sessions)
	digest := sha256.Sum256(nil)
	var commands []*storev1.Command
	for s := range sessions {
		for n := range requests {
			commands = append(commands, request(s, n+1))
		}
		c := putCommand("k", "v")
		c.RequestDigest, c.IdempotencyKey = digest[:], numberedID(s)
		commands = append(commands, c)
	}
	r.applyMany(commands)
	for s := range sessions {
		r.end(s)
	}
}

// end ends a session.
func (r *rig) end(session uint64) {
	r.t.Helper()
	r.apply(&storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: numberedID(session)},
	}}})
}

// TestForgettingTakesSteps lowers the limits of what is remembered. The first session that ends after that forgets no more than its
// share, and Compact goes on until nothing is above the limits.
func TestForgettingTakesSteps(t *testing.T) {
	needsNoRaceDetector(t)
	const sessions, requests, rowsMax = 1200, 3, 1024
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.remembered(sessions, requests)
	full := r.store.Applied()
	each := full.TombstoneBytes / (sessions * requests) // Bytes of a result.
	r.apply(limitMemory())
	r.sessions(sessions, 1)
	r.apply(request(sessions, 1))
	before := r.store.Applied()
	r.end(sessions)
	after := r.store.Applied()
	if forgotten := (before.TombstoneBytes - after.TombstoneBytes) / each; forgotten == 0 || forgotten > rowsMax {
		t.Errorf("the end of a session forgot %d results, want 1 to %d", forgotten, rowsMax)
	}
	if forgotten := after.EndedForgotten - before.EndedForgotten; forgotten == 0 || forgotten > rowsMax {
		t.Errorf("the end of a session forgot %d others, want 1 to %d", forgotten, rowsMax)
	}
	limits := limitMemory().GetSetLimits().GetLimits()
	steps := 0
	for more := after.Excess(limits); more; steps++ {
		before = r.store.Applied()
		more = r.compactTo(0)
		after = r.store.Applied()
		if forgotten := after.KeyedForgotten - before.KeyedForgotten; forgotten > rowsMax {
			t.Errorf("step %d: forgot %d calls with keys, want at most %d", steps, forgotten, rowsMax)
		}
		if forgotten := (before.TombstoneBytes - after.TombstoneBytes) / each; forgotten > rowsMax {
			t.Errorf("step %d: forgot %d results, want at most %d", steps, forgotten, rowsMax)
		}
		r.checkBytes()
	}
	if after.TombstoneBytes > 1 || after.EndedSessions-after.EndedForgotten > 1 || after.KeyedRequests-after.KeyedForgotten > 1 || steps < 2 {
		t.Errorf("got %d bytes of windows, %d ended sessions and %d calls with keys left after %d steps, want all but one forgotten in some",
			after.TombstoneBytes, after.EndedSessions-after.EndedForgotten, after.KeyedRequests-after.KeyedForgotten, steps)
	}
}

// TestAWindowIsForgottenInSteps ends a session with more requests than one command forgets. What is left of the window still answers;
// of what is gone nobody says that it was not applied.
func TestAWindowIsForgottenInSteps(t *testing.T) {
	const requests = 2000
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "data")}
	r.apply(&storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: &storev1.Limits{
		RequestWindowMax: new(uint32(requests)), TombstoneBytesMax: new(uint64(1)),
	}}}})
	r.remembered(1, requests)
	if left := r.store.Applied().TombstoneBytes; left == 0 {
		t.Fatal("the end of the session forgot all of its window, want some left")
	}
	if got := r.applyAny(request(0, requests)); got.GetFailure() != nil {
		t.Errorf("last request again: got %v, want its first answer", got)
	}
	if got := r.applyAny(request(0, 1)).GetFailure(); got.GetReason() != storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED || got.GetApplied() != 0 {
		t.Errorf("first request again: got %v, want SESSION_EXPIRED and nobody knows whether it was applied", got)
	}
	for r.compactTo(0) {
		r.checkBytes()
	}
	if a := r.store.Applied(); a.TombstoneBytes != 0 {
		t.Errorf("got %d bytes left, want none", a.TombstoneBytes)
	}
	r.checkBytes()
}

// applyAny applies a command, which may break a rule.
func (r *rig) applyAny(c *storev1.Command) *storev1.Result {
	r.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{c}})
	if err != nil {
		r.t.Fatal(err)
	}
	at := r.store.Applied()
	out, err := r.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Entries[0].Results[0]
}

// compactTo forgets history up to a revision, and reports whether a command left something.
func (r *rig) compactTo(revision uint64) (more bool) {
	r.t.Helper()
	_, results := r.apply(&storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: revision}}})
	return results[0].GetCompact().GetMore()
}
