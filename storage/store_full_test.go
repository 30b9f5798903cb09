package storage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	storeFull     = storev1.FailureReason_FAILURE_REASON_STORE_FULL
	compareFailed = storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED
)

// failingPuts is a transaction of so many puts with long keys that all fail.
func failingPuts(puts int) *storev1.Command {
	txn := &storev1.Txn{}
	for i := range puts {
		txn.ThenOps = append(txn.ThenOps, &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{
			Key: fmt.Sprintf("%01000d", i), IfRevision: proto.Uint64(1),
		}}})
	}
	return &storev1.Command{Kind: &storev1.Command_Txn{Txn: txn}}
}

// named returns a command under a request id of a session.
func named(session, sequence uint64, c *storev1.Command) *storev1.Command {
	c.RequestId, c.RequestDigest = request(session, sequence).GetRequestId(), request(session, sequence).GetRequestDigest()
	return c
}

// fill puts values until the store takes no more.
func (r *rig) fill(bytesMax uint64) {
	r.t.Helper()
	r.apply(forced(limitTo("store_bytes_max", bytesMax)))
	for i := 0; ; i++ {
		if _, reason := r.try(putCommand(fmt.Sprint("fill ", i), strings.Repeat("v", 4<<10))); reason == storeFull {
			return
		}
	}
}

// TestAFullStoreDoesNotGrowByWhatItRemembers fills a store, and makes requests with large failures under many sessions. From cluster version 3 on,
// none of them is remembered. Before, the store grew to a multiple of its limit.
func TestAFullStoreDoesNotGrowByWhatItRemembers(t *testing.T) {
	const sessions, requests, bytesMax = 20, 8, 2 << 20
	for version := uint32(1); version <= 3; version++ {
		r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "sm", version)}
		r.sessions(0, sessions)
		r.fill(bytesMax)
		want := compareFailed
		if version >= 3 {
			want = storeFull
		}
		for n := range uint64(requests) {
			for s := range uint64(sessions) {
				if _, got := r.try(named(s, n+1, failingPuts(60))); got != want {
					t.Fatalf("version %d: got %v, want %v", version, got, want)
				}
			}
		}
		if got, over := r.store.Applied().StoreBytes, version < 3; got > bytesMax != over {
			t.Errorf("version %d: got %d bytes, want more than %d: %v", version, got, bytesMax, over)
		}
		checkBytesOf(t, r.store)
		// What is not remembered is tried when there is room.
		r.apply(forced(limitTo("store_bytes_max", 100<<20)))
		if _, got := r.try(named(0, 1, failingPuts(60))); got != compareFailed {
			t.Errorf("version %d: got %v of a retry in a store with room, want COMPARE_FAILED", version, got)
		}
	}
}

// TestAFullStoreRemembersWhatGoesOn makes requests in a store that takes no growth, and in one that has reached even its limit. In the first, small
// failures are remembered as ever; in the second, only what frees space.
func TestAFullStoreRemembersWhatGoesOn(t *testing.T) {
	needsNoRaceDetector(t)
	const bytesMax = 2 << 20
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(1, 4)
	exclusive := storev1.LockMode_LOCK_MODE_EXCLUSIVE
	for i := range uint64(2) {
		lock := fmt.Sprint(strings.Repeat("l", 1000), i)
		r.apply(putCommand(fmt.Sprint("key ", i), "v"), acquireCommand(lock, 1, "", exclusive), acquireCommand(lock, 2, "", exclusive))
	}
	r.fill(bytesMax)
	sequence := uint64(0)
	for full, limit := range []uint64{bytesMax, bytesMax / 2} {
		r.apply(forced(limitTo("store_bytes_max", limit)))
		lock := fmt.Sprint(strings.Repeat("l", 1000), full)
		refused := storev1.FailureReason_FAILURE_REASON_UNSPECIFIED
		fails := compareFailed
		if full > 0 {
			refused, fails = storeFull, storeFull
		}
		for _, tc := range []struct {
			line string
			want storev1.FailureReason
		}{
			{"put a 1", storeFull},
			{"put a 1 if-revision=7", fails},
			{"txn | then put a 1 if-revision=7", fails},
			{"txn | if a version > 3 | then put a 1 | else get a", refused},
			{fmt.Sprintf("acquire %s session=s1", lock), refused}, // It is held.
			{"txn | if a version > 3 | then delete a | else get a", 0},
			{fmt.Sprint("delete missing", full), 0},
			{fmt.Sprintf("delete \"key %d\"", full), 0},
			{fmt.Sprintf("cancel %s session=s1", lock), 0}, // It tells the hold.
			{fmt.Sprintf("cancel %s session=s2", lock), 0},
			{fmt.Sprintf("release %s session=s1", lock), 0},
			{fmt.Sprintf("release %s session=s1", lock), 0}, // Nothing is there to release.
			{fmt.Sprintf("destroy s%d", 3+full), 0},
		} {
			sequence++
			c := named(1, sequence, parseCommand(t, tc.line))
			first, got := r.try(c)
			if got != tc.want {
				t.Errorf("%s at %d bytes of %d: got %v, want %v", tc.line, r.store.Applied().StoreBytes, limit, first, tc.want)
			}
			if second, _ := r.try(c); got != storeFull && !proto.Equal(first, second) {
				t.Errorf("%s again: got %v, want it remembered: %v", tc.line, second, first)
			}
		}
	}
}

// TestAReleaseThatFindsNothingIsAnsweredInAFullStore releases a lock that others hold, in a store that takes no growth: the answer shows as many of
// their holds as an answer does, with texts as long as they may be.
func TestAReleaseThatFindsNothingIsAnsweredInAFullStore(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(1, 12)
	lock := strings.Repeat("l", 1024)
	for i := range uint64(10) {
		r.apply(acquireCommand(lock, 1+i, strings.Repeat("o", 256), storev1.LockMode_LOCK_MODE_SHARED))
	}
	r.fill(2 << 20)
	result, reason := r.try(named(12, 1, releaseCommand(&storev1.HoldState{Key: lock, SessionId: numberedID(12)})))
	if reason != 0 || len(result.GetReleaseLock().GetLock().GetHolds()) < 8 {
		t.Errorf("got %v with %d holds, want the answer", reason, len(result.GetReleaseLock().GetLock().GetHolds()))
	}
}

// TestALargeResultOfAFullStoreIsRefusedWhole deletes keys in a transaction that also reads much, in a full store: nothing is deleted, unless that
// makes room.
func TestALargeResultOfAFullStoreIsRefusedWhole(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.sessions(1, 1)
	r.applyMany([]*storev1.Command{putCommand("read", strings.Repeat("v", 48<<10)), putCommand("small", "v"), putCommand("large", strings.Repeat("v", 400<<10))})
	r.fill(2 << 20)
	for r.compactTo(r.store.Applied().Revision) {
		continue
	}
	r.fill(2 << 20)
	before := withoutKinds(dumpOf(t, r.store), "az")
	if _, got := r.try(named(1, 1, parseCommand(t, "txn | then delete small | then get read"))); got != storeFull {
		t.Errorf("got %v, want STORE_FULL", got)
	}
	if got := withoutKinds(dumpOf(t, r.store), "az"); !slices.Equal(got, before) {
		t.Errorf("got %d rows, want the %d from before, unchanged", len(got), len(before))
	}
	if result, _ := r.try(named(1, 2, parseCommand(t, "txn | then delete large | then get read"))); result.GetFailure() != nil {
		t.Errorf("got %v, want that what makes room goes on", result.GetFailure())
	}
}

// TestAFailureNamesTheFirstOperationsThatFit fails with all operations that a transaction may have, and with long keys: from cluster version 3 on the
// failure is bounded, names the first of them, and says how many more there are.
func TestAFailureNamesTheFirstOperationsThatFit(t *testing.T) {
	for version := uint32(1); version <= 3; version++ {
		for _, puts := range []int{1, 20, 128} {
			r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "sm", version)}
			r.sessions(1, 1)
			result, reason := r.try(named(1, 1, failingPuts(puts)))
			f := result.GetFailure()
			most, size := 64<<10, proto.Size(f)
			if reason != compareFailed || version >= 3 && size > most || len(f.GetOperations())+int(f.GetOperationsLeftOut()) != puts {
				t.Errorf("version %d, %d operations: got %d bytes, %d operations and %d left out", version, puts, size,
					len(f.GetOperations()), f.GetOperationsLeftOut())
			}
			if whole := version < 3 || puts < 128; whole != (f.GetOperationsLeftOut() == 0) || !whole && size < most-4<<10 {
				t.Errorf("version %d, %d operations: got %d left out of %d bytes, want none: %v", version, puts, f.GetOperationsLeftOut(), size, whole)
			}
			for i, op := range f.GetOperations() {
				if op.GetPosition() != uint32(i) {
					t.Errorf("version %d: operation %d is at %d", version, op.GetPosition(), i)
				}
			}
			if again, _ := r.try(named(1, 1, failingPuts(puts))); !proto.Equal(again, result) {
				t.Errorf("version %d, %d operations: a retry got another result", version, puts)
			}
			if storage.FailureText(f) == "" {
				t.Errorf("version %d: no text", version)
			}
		}
	}
}
