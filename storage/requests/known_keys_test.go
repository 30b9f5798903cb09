package requests_test

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/table"
)

// countedDisk counts the rows that are read one by one.
type countedDisk struct {
	*pebble.DB

	reads int
}

func (d *countedDisk) Get(row []byte) ([]byte, io.Closer, error) {
	d.reads++
	return d.DB.Get(row)
}

// keepsFew says that so many keyed calls are remembered.
type keepsFew uint32

func (k keepsFew) Limits() (*storev1.Limits, error) {
	return &storev1.Limits{IdempotencyKeysMax: new(uint32(k)), IdempotencyBytesMax: new(uint64(1 << 30))}, nil
}

func (keepsFew) ActsAs(*storev1.SessionRef) error { return nil }

// keyedStore makes calls with idempotency keys, and commits after each.
type keyedStore struct {
	t     *testing.T
	disk  *countedDisk
	state layout.Applied
	keys  *requests.KnownKeys
	limit keepsFew
	odd   []int // calls whose keys end with another letter than all others, and so have one weak hash of their own
}

// newKeyedStore returns one that keeps so many calls.
func newKeyedStore(t *testing.T, kept int) *keyedStore {
	t.Helper()
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if closeErr := db.Close(); closeErr != nil {
			t.Error(closeErr)
		}
	})
	return &keyedStore{
		t: t, disk: &countedDisk{DB: db}, state: layout.Applied{ClusterVersion: layout.Version3},
		keys: requests.NewKnownKeys(kept), limit: keepsFew(kept),
	}
}

// keeper returns what a command of its own asks.
func (s *keyedStore) keeper() *requests.Keeper {
	return &requests.Keeper{
		Rows: table.NewOverlay(s.disk, s.state.StoreBytes), State: &s.state, Sum: table.NewChecksum(s.state.Checksum, s.state.ClusterVersion),
		Keys: s.keys, Command: s.limit,
	}
}

// commit ends a command.
func (s *keyedStore) commit(k *requests.Keeper) {
	s.t.Helper()
	k.Rows.Seal(k.Sum)
	s.state.StoreBytes = k.Rows.Bytes
	batch := s.disk.NewBatch()
	err := k.Rows.WriteTo(batch)
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// recall returns what is remembered of a call, and where its result is kept.
func (s *keyedStore) recall(k *requests.Keeper, call int) (*storev1.Result, requests.Slot) {
	s.t.Helper()
	key := fmt.Appendf(nil, "sixteen bytes and %d", call)
	if slices.Contains(s.odd, call) {
		key = append(key, 'x')
	}
	slot, err := requests.SlotOf(&storev1.Command{
		IdempotencyKey: key, Principal: "token:x", RequestDigest: make([]byte, 32),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := slot.Recall(k)
	if err != nil {
		s.t.Fatal(err)
	}
	return result, slot
}

// reads makes the calls from one on and below another, and returns how many rows were read one by one.
func (s *keyedStore) reads(from, below int) int {
	s.t.Helper()
	before := s.disk.reads
	for call := from; call < below; call++ {
		k := s.keeper()
		result, slot := s.recall(k, call)
		if result != nil {
			s.t.Fatalf("call %d: got %v, want that it is new", call, result)
		}
		if err := slot.Remember(k, &storev1.Result{Revision: uint64(call)}); err != nil {
			s.t.Fatal(err)
		}
		s.commit(k)
	}
	return s.disk.reads - before
}

// check compares what is remembered of each call so far.
func (s *keyedStore) check(calls, kept int) {
	s.t.Helper()
	for call := range calls {
		result, _ := s.recall(s.keeper(), call)
		if want := call >= calls-kept; want != (result != nil) || want && result.GetRevision() != uint64(call) {
			s.t.Fatalf("of %d calls, of which %d are remembered, number %d has %v", calls, kept, call, result)
		}
	}
}

// TestKeysWithOneHash makes calls with keys of which many have the same hash. Which are remembered is as with any other hash, also after a
// restart, and after a forgetting that was taken back.
func TestKeysWithOneHash(t *testing.T) {
	const kept = 150
	s := newKeyedStore(t, kept)
	calls := 0
	for range 4 {
		s.keys = requests.NewKnownKeys(kept)
		s.keys.WeakHash()
		for range 3 {
			s.reads(calls, calls+70)
			calls += 70
			s.check(calls, min(calls, kept))
		}
		before := s.state
		k := s.keeper()
		k.Command = keepsFew(1)
		if _, err := k.ForgetKeyed(requests.ForgetStint()); err != nil || s.state.KeyedRequests-s.state.KeyedForgotten != 1 {
			t.Fatalf("%d calls are left, %v", s.state.KeyedRequests-s.state.KeyedForgotten, err)
		}
		k.Rows.Rollback()
		s.state = before
		s.check(calls, kept)
	}
}

// TestAKeyThatIsNotLearnedHasNotTheSizeOfAnother forgets keys after a restart before they are learned. A key that came since has the hash of one
// of them, and a larger result: what is counted for them is the same as for a store that knows no keys.
func TestAKeyThatIsNotLearnedHasNotTheSizeOfAnother(t *testing.T) {
	const kept = 4000
	forgotten := func(restarted func() *requests.KnownKeys) layout.Applied {
		s := newKeyedStore(t, 2*kept)
		s.keys, s.odd = nil, []int{3000, kept}
		s.reads(0, kept)
		s.keys = restarted()
		k := s.keeper()
		_, slot := s.recall(k, kept)
		if err := slot.Remember(k, &storev1.Result{Revision: 1 << 60, Failure: &storev1.Failure{Detail: 1, Actual: 1 << 60}}); err != nil {
			t.Fatal(err)
		}
		s.commit(k)
		k = s.keeper()
		k.Command = keepsFew(1)
		if _, err := k.ForgetKeyed(&table.Stint{Rows: 3 * kept / 2, Bytes: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		s.commit(k)
		return s.state
	}
	got := forgotten(func() *requests.KnownKeys {
		keys := requests.NewKnownKeys(2 * kept)
		keys.WeakHash()
		return keys
	})
	want := forgotten(func() *requests.KnownKeys { return nil })
	if got.KeyedForgotten == 0 || got.KeyedForgotten != want.KeyedForgotten || got.KeyedBytes != want.KeyedBytes || got.StoreBytes != want.StoreBytes {
		t.Errorf("%d keys are forgotten; %d bytes of keys are left, and %d in all, want %d and %d",
			got.KeyedForgotten, got.KeyedBytes, got.StoreBytes, want.KeyedBytes, want.StoreBytes)
	}
}

// TestANewKeyReadsNoRow makes calls with keys, each of which has an older one forgotten. None reads a row by itself. After a restart, those that
// forget a key of before read its row, and nothing else.
func TestANewKeyReadsNoRow(t *testing.T) {
	if invariants.Enabled {
		t.Skip("invariants look on disk")
	}
	const kept = 3000
	s := newKeyedStore(t, kept)
	s.reads(0, kept)
	if got := s.reads(kept, 2*kept); got != 0 {
		t.Errorf("%d new keys read %d rows, want none", kept, got)
	}
	s.keys = requests.NewKnownKeys(kept)
	const learning = 10 // Calls that are made before the older keys are known.
	s.reads(2*kept, 2*kept+learning)
	if got := s.reads(2*kept+learning, 3*kept); got != kept-learning {
		t.Errorf("after a restart, %d new keys read %d rows, want those of the keys that they had forgotten", kept-learning, got)
	}
	if got := s.reads(3*kept, 4*kept); got != 0 {
		t.Errorf("%d more keys read %d rows, want none", kept, got)
	}
}
