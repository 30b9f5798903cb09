package storage_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/encoding/prototext"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

var (
	modelSeeds    = flag.Uint64("model.seeds", 4, "how many random runs TestModel makes")
	modelFirst    = flag.Uint64("model.first", 0, "seed of the first run")
	modelCommands = flag.Int("model.commands", 4000, "how many commands a random run has")
)

// TestModel gives random commands to a store and to the model, and demands the same answers and the same state. A soak
// is: go test ./storage -run TestModel -model.seeds 10 -model.commands 100000 -timeout 1h.
func TestModel(t *testing.T) {
	needsNoRaceDetector(t)
	for seed := *modelFirst; seed < *modelFirst+*modelSeeds; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { runModel(t, seed, *modelCommands) })
	}
}

func runModel(t *testing.T, seed uint64, commands int) {
	store := oldStore(t, vfs.NewMem(), "sm")
	g := newGenerator(t, seed, store)
	m := newModel()
	answers := map[string]int{}
	stride := 5 // A soak looks at the whole state less often.
	if commands > 10_000 {
		stride = 50
	}
	for i := range commands {
		if g.oneIn(100) {
			g.term++
			m.term++
		}
		cmd := g.command()
		if c := cmd.GetCompact(); c != nil {
			c.EventsMax = 0 // The model forgets locks with their last event, not in steps.
		}
		want := m.apply(cmd)
		out, err := store.Apply([]storage.Entry{g.entry(uint64(i+2), []*storev1.Command{cmd})})
		if err != nil {
			t.Fatalf("command %d %s: %v", i, prototext.Format(cmd), err)
		}
		result := out.Entries[0].Results[0]
		if got := answer(result); got != want {
			t.Fatalf("command %d %s: got answer %q, want %q", i, prototext.Format(cmd), got, want)
		}
		g.answered(cmd, result)
		answers[kindOf(cmd, result)]++
		if cmd.GetBreakLock().GetFrom() != nil {
			answers["a break goes on"]++
		}
		if i%stride == 0 || i > commands-50 {
			if got, want := stateOf(t, store), m.state(); got != want {
				t.Fatalf("after command %d %s: got state\n%swant\n%s", i, prototext.Format(cmd), got, want)
			}
		}
		if i%4 == 0 {
			g.forget()
		}
	}
	checkFloors(t, commands, answers)
}

// checkFloors fails a run in which some verb never succeeded or some rule was never broken.
func checkFloors(t *testing.T, commands int, answers map[string]int) {
	t.Helper()
	if commands < 4000 {
		return
	}
	for _, what := range []string{
		"CreateSession ok", "DestroySession ok", "ExpireSessions ok", "TakeOverSession ok", "Put ok", "Delete ok", "DeletePrefix ok",
		"Txn ok", "AcquireLock ok", "CancelWait ok", "EndWaits ok", "ReleaseLock ok", "Resign ok", "BreakLock ok", "EndDelays ok",
		"Compact ok", "SetLimits ok", "REQUEST_ID_REUSED", "SESSION_EXPIRED", "SESSION_SUPERSEDED", "LOCK_MODE_MISMATCH",
		"REVISION_COMPACTED", "FENCING_TOKEN_STALE", "TERM_MISMATCH", "COMPARE_FAILED", "LOCK_HELD", "LOCK_NOT_HELD", "INVALID_COMMAND", "LIMIT_IN_USE",
		"KEY_NOT_FOUND",
		"a break goes on",
	} {
		if answers[what] == 0 {
			t.Errorf("%s never happened; got %v", what, answers)
		}
	}
}

func kindOf(cmd *storev1.Command, r *storev1.Result) string {
	if f := r.GetFailure(); f != nil {
		return strings.TrimPrefix(f.GetReason().String(), "FAILURE_REASON_")
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", cmd.GetKind()), "*storev1.Command_") + " ok"
}

// answer says what a result says, as the model does.
func answer(r *storev1.Result) string {
	if f := r.GetFailure(); f != nil {
		return strings.TrimPrefix(f.GetReason().String(), "FAILURE_REASON_")
	}
	what := ""
	switch k := r.GetKind().(type) {
	case *storev1.Result_EndSessions:
		what = fmt.Sprint(len(k.EndSessions.GetEndedSessionIds()))
	case *storev1.Result_TakeOverSession:
		what = fmt.Sprint(k.TakeOverSession.GetEpoch())
	case *storev1.Result_Put:
		switch {
		case k.Put.GetHold() != nil:
			what = fmt.Sprintf("true %d %d", k.Put.GetHold().GetLockIndex(), k.Put.GetHold().GetFencingToken())
		case k.Put.GetVerbSucceeded():
			what = "true"
		case k.Put.GetLock() != nil:
			what = "false"
		default:
			what = "put"
		}
	case *storev1.Result_Delete:
		what = fmt.Sprint(k.Delete.GetDeleted())
	case *storev1.Result_Txn:
		what = fmt.Sprint(k.Txn.GetSucceeded(), len(k.Txn.GetResults()))
	case *storev1.Result_AcquireLock:
		what = "refused"
		if h := k.AcquireLock.GetHold(); h != nil {
			what = fmt.Sprintf("held %d %d", h.GetLockIndex(), h.GetFencingToken())
		} else if p := k.AcquireLock.GetPlace(); p != nil {
			what = fmt.Sprintf("waits %d", p.GetPlace())
		}
	case *storev1.Result_ReleaseLock:
		what = fmt.Sprint(k.ReleaseLock.GetReleased())
	case *storev1.Result_CancelWait:
		what = fmt.Sprint(k.CancelWait.GetCancelled(), k.CancelWait.GetHold() != nil)
	case *storev1.Result_BreakLock:
		what = fmt.Sprint(k.BreakLock.GetHolds(), k.BreakLock.GetPlaces(), k.BreakLock.GetRemaining())
	}
	return fmt.Sprintf("%d %t %s", r.GetRevision(), r.GetChanged(), what)
}

// state returns the model's state as text.
func (m *model) state() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		k := m.keys[key]
		holder := ""
		for _, h := range m.lock(key).holds {
			if h.mode == storev1.LockMode_LOCK_MODE_EXCLUSIVE && !h.delayed {
				holder = h.session
			}
		}
		fmt.Fprintf(&b, "key %q %q %d %d %d %d %x %d %x\n", key, k.value, k.flags, k.create, k.mod, k.version, k.bound, m.lock(key).index, holder)
	}
	for _, key := range slices.Sorted(maps.Keys(m.locks)) {
		l := m.locks[key]
		fmt.Fprintf(&b, "lock %q %d\n", key, l.index)
		for _, h := range l.holds {
			fmt.Fprintf(&b, "  hold %x %q %s %d %d %d %t\n", h.session, h.owner, h.mode, h.permits, h.index, h.token, h.delayed)
		}
		for _, w := range l.queue {
			fmt.Fprintf(&b, "  wait %d %x %q %s %d\n", w.place, w.session, w.owner, w.mode, w.permits)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.sessions)) {
		fmt.Fprintf(&b, "session %x %d %d\n", id, m.sessions[id].epoch, m.objects(id))
	}
	return b.String()
}

// stateOf returns the same of a store.
func stateOf(t *testing.T, s *storage.Store) string {
	t.Helper()
	r := s.NewReader()
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	checkBytes(t, r)
	var b strings.Builder
	keys, _, err := r.List(storage.ListQuery{})
	must(err)
	for _, k := range keys {
		fmt.Fprintf(&b, "key %q %q %d %d %d %d %x %d %x\n", k.GetKey(), k.GetValue(), k.GetFlags(), k.GetCreateRevision(), k.GetModRevision(),
			k.GetVersion(), k.GetBoundSessionId(), k.GetLockIndex(), k.GetSessionId())
	}
	locks, _, err := r.Locks("", "", 0)
	must(err)
	for _, l := range locks {
		fmt.Fprintf(&b, "lock %q %d\n", l.State.GetKey(), l.State.GetLockIndex())
		holds, holdsErr := allHolds(r, l.State.GetKey())
		must(holdsErr)
		for _, h := range holds {
			fmt.Fprintf(&b, "  hold %x %q %s %d %d %d %t\n", h.GetSessionId(), h.GetOwner(), h.GetMode(), h.GetPermits(), h.GetLockIndex(),
				h.GetFencingToken(), h.GetDelayed())
		}
		waiters, _, waitersErr := r.Waiters(l.State.GetKey(), 0, 0)
		must(waitersErr)
		for i, w := range waiters {
			before, positionErr := r.Position(w.Key, w.Place)
			must(positionErr)
			if before != i {
				t.Fatalf("place %d of %q: got position %d, want %d", w.Place, w.Key, before, i)
			}
			fmt.Fprintf(&b, "  wait %d %x %q %s %d\n", w.Place, w.Record.GetSessionId(), w.Record.GetOwner(), w.Record.GetMode(), w.Record.GetPermits())
		}
	}
	sessions, _, err := r.Sessions(storage.SessionID{}, 0)
	must(err)
	for _, e := range sessions {
		s, _, sessionErr := r.Session(e.ID)
		must(sessionErr)
		fmt.Fprintf(&b, "session %x %d %d\n", e.ID[:], s.GetEpoch(), s.GetObjects())
	}
	return b.String()
}

// allHolds returns the holds of a lock, valid and delayed, by lock_index.
func allHolds(r *storage.Reader, key string) ([]*storev1.HoldState, error) {
	valid, _, err := r.Holds(key, 0, 0)
	delayed, _, delayedErr := r.DelayedHolds(key, 0, 0)
	holds := slices.Concat(valid, delayed)
	slices.SortFunc(holds, func(a, b *storev1.HoldState) int { return cmp.Compare(a.GetLockIndex(), b.GetLockIndex()) })
	return holds, errors.Join(err, delayedErr)
}

// checkBytes demands that the bytes of all rows are as many as the store says.
func checkBytes(t *testing.T, r *storage.Reader) {
	t.Helper()
	got, err := r.Usage()
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.CountBytes()
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != want {
		t.Fatalf("got %d bytes in the account, want the %d of all rows", got.Bytes, want)
	}
}
