package compaction_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/compaction"
	"github.com/tenure-io/tenure/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a history of which only the sizes count.
type store struct {
	mu       sync.Mutex // guards what follows
	at       storage.Applied
	commands int
	windows  int // request windows of sessions that ended; one command drops one
	publish  func(storage.Outcome)
}

const (
	revisionBytes = 100
	// commandRevisions is how many revisions one command takes off the disk.
	commandRevisions = 50
)

func (s *store) applied() storage.Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *store) write(revisions uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at.Revision += revisions
	s.at.HistoryBytes += revisions * revisionBytes
	s.at.StoreBytes += revisions * revisionBytes
}

func (s *store) propose(_ context.Context, c *storev1.Command) (*storev1.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands++
	s.at.CompactedRevision = max(s.at.CompactedRevision, c.GetCompact().GetRevision())
	trimmed := min(s.at.CompactedRevision-s.at.TrimmedRevision, commandRevisions)
	s.at.TrimmedRevision += trimmed
	s.at.HistoryBytes -= trimmed * revisionBytes
	s.at.StoreBytes -= trimmed * revisionBytes
	s.windows = max(s.windows-1, 0)
	more := s.at.TrimmedRevision < s.at.CompactedRevision || s.windows > 0
	return &storev1.Result{Kind: &storev1.Result_Compact{Compact: &storev1.CompactResult{More: more}}}, nil
}

// lead runs the task beside script in fake time. The script waits for it to rest after each sleep.
func lead(t *testing.T, s *store, limits *storev1.Limits, script func()) {
	t.Helper()
	if limits.StoreBytesMax == nil {
		limits.StoreBytesMax = new(uint64(1 << 40))
	}
	synctest.Test(t, func(t *testing.T) {
		task := compaction.New(compaction.Options{
			Propose: s.propose,
			Applied: s.applied,
			Limits:  func() (*storev1.Limits, error) { return limits, nil },
		})
		s.publish = task.Publish
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- task.Lead(ctx, 1) }()
		synctest.Wait()
		script()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// pass lets fake time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestHistoryIsKeptAsLongAsTheLimitsSay(t *testing.T) {
	limits := func(revisions uint64, keep time.Duration, bytes uint64) *storev1.Limits {
		return &storev1.Limits{
			HistoryRevisions: &revisions, HistoryMs: new(keep.Milliseconds()), HistoryBytesMax: &bytes,
		}
	}
	tests := map[string]struct {
		limits   *storev1.Limits
		old, new uint64        // revisions written before and after the pause
		pause    time.Duration // between them
		want     uint64        // compacted revision in the end
	}{
		"nothing is forgotten while there are few revisions": {limits(1000, time.Minute, 1<<40), 500, 400, time.Hour, 0},
		"nothing is forgotten while all is young":            {limits(10, time.Hour, 1<<40), 500, 400, 10 * time.Minute, 0},
		"what is old and beyond the number is forgotten":     {limits(100, time.Minute, 1<<40), 500, 20, time.Hour, 420},
		"what is beyond the number but young stays":          {limits(100, time.Minute, 1<<40), 500, 400, time.Hour, 500},
		"too many bytes are forgotten though they are young": {limits(1000, time.Hour, 30_000), 500, 0, time.Minute, 238},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			s := &store{}
			lead(t, s, test.limits, func() {
				s.write(test.old)
				pass(test.pause)
				s.write(test.new)
				pass(30 * time.Second)
			})
			if s.at.CompactedRevision != test.want {
				t.Errorf("got history forgotten up to %d, want %d", s.at.CompactedRevision, test.want)
			}
			if s.at.TrimmedRevision != s.at.CompactedRevision {
				t.Errorf("revisions %d to %d are forgotten but still on disk", s.at.TrimmedRevision+1, s.at.CompactedRevision)
			}
		})
	}
}

func TestNothingIsProposedWhenNothingIsToBeForgotten(t *testing.T) {
	s := &store{}
	limits := &storev1.Limits{
		HistoryRevisions: new(uint64(100)), HistoryMs: new(int64(60_000)), HistoryBytesMax: new(uint64(1 << 30)),
	}
	lead(t, s, limits, func() {
		s.write(300)
		pass(time.Hour)
	})
	if s.at.CompactedRevision != 200 || s.commands != 4 {
		t.Errorf("got %d commands up to revision %d in an hour, want 4 up to 200", s.commands, s.at.CompactedRevision)
	}
}

func TestWhatACommandLeftIsForgottenByTheNext(t *testing.T) {
	s := &store{windows: 9}
	limits := &storev1.Limits{
		HistoryRevisions: new(uint64(100)), HistoryMs: new(int64(60_000)), HistoryBytesMax: new(uint64(1 << 30)),
	}
	lead(t, s, limits, func() {
		s.write(120)
		pass(5 * time.Minute)
	})
	if s.windows != 0 || s.commands != 9 {
		t.Errorf("got %d request windows left after %d commands, want none after 9", s.windows, s.commands)
	}
}

// A store whose key is overwritten again and again forgets as fast as is written: it never becomes full, and keeps as much of
// the history as there is space for.
func TestOverwritingGoesOnInASmallStore(t *testing.T) {
	for sentence, test := range map[string]struct {
		whole, other, history uint64
		least                 uint64 // bytes of history that stay
	}{
		"history has its part of the store":     {whole: 1 << 20, other: 100 << 10, history: 256 << 10, least: 200 << 10},
		"history has what else is left":         {whole: 1 << 20, other: 850 << 10, history: 256 << 10, least: 30 << 10},
		"a store full of keys keeps the newest": {whole: 1 << 20, other: 1000 << 10, history: 256 << 10, least: 13 << 10},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &store{}
			limits := &storev1.Limits{
				HistoryRevisions: new(uint64(1_000_000)), HistoryMs: new(int64(600_000)),
				HistoryBytesMax: &test.history, StoreBytesMax: &test.whole,
			}
			full, least := 0, uint64(math.MaxUint64)
			lead(t, s, limits, func() {
				s.at.StoreBytes = test.other
				for i := range 2_000 {
					s.write(10)
					s.publish(storage.Outcome{Applied: s.applied()})
					synctest.Wait() // No time passes.
					at := s.applied()
					if at.StoreBytes >= storage.GrowthBytesMax(limits) {
						full++
					}
					if i > 500 {
						least = min(least, at.HistoryBytes)
					}
				}
			})
			if most := storage.GrowthBytesMax(limits); full > 0 && test.other+(16<<10) < most {
				t.Errorf("the store was full after %d of 2 000 writes", full)
			}
			if least < test.least {
				t.Errorf("%d bytes of history were left, want %d at least", least, test.least)
			}
			if s.commands > 1_900 {
				t.Errorf("%d commands for 2 000 writes, want fewer", s.commands)
			}
		})
	}
}

// What is published to a member that does not lead has it do nothing.
func TestAFollowerCompactsNothing(t *testing.T) {
	s := &store{}
	limits := &storev1.Limits{
		HistoryRevisions: new(uint64(10)), HistoryMs: new(int64(1)), HistoryBytesMax: new(uint64(100)),
	}
	lead(t, s, limits, func() {})
	s.write(1_000)
	s.publish(storage.Outcome{Applied: s.applied()})
	if s.commands != 0 {
		t.Errorf("%d commands, want none", s.commands)
	}
}

// Limits that are lowered count at once: a store that they leave no room does not wait for the next look.
func TestLoweredLimitsCountAtOnce(t *testing.T) {
	s := &store{}
	limits := &storev1.Limits{
		HistoryRevisions: new(uint64(1_000_000)), HistoryMs: new(int64(600_000)), HistoryBytesMax: new(uint64(1 << 20)),
	}
	lead(t, s, limits, func() {
		s.write(1_000)
		s.publish(storage.Outcome{Applied: s.applied()})
		synctest.Wait()
		if s.commands != 0 {
			t.Errorf("%d commands before, want none", s.commands)
		}
		*limits.HistoryBytesMax = 10 << 10
		s.publish(storage.Outcome{Applied: s.applied(), LimitsChanged: true})
		synctest.Wait() // No time passes.
		if at := s.applied(); at.HistoryBytes > 10<<10 {
			t.Errorf("got %d bytes of history, want 10 240 at most", at.HistoryBytes)
		}
	})
}

func TestWhatIsAboveTheLimitsIsForgotten(t *testing.T) {
	for sentence, test := range map[string]struct {
		at   storage.Applied
		left int // of nine windows
	}{
		"nothing is above them":       {storage.Applied{ClusterVersion: 2, TombstoneBytes: 10}, 9},
		"windows of sessions":         {storage.Applied{ClusterVersion: 2, TombstoneBytes: 11}, 0},
		"records of ended sessions":   {storage.Applied{ClusterVersion: 2, EndedSessions: 7, EndedForgotten: 1}, 0},
		"calls with idempotency keys": {storage.Applied{ClusterVersion: 2, KeyedRequests: 7, KeyedForgotten: 1}, 0},
		"before version 2":            {storage.Applied{ClusterVersion: 1, TombstoneBytes: 11}, 9},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &store{windows: 9, at: test.at}
			limits := &storev1.Limits{
				HistoryRevisions: new(uint64(100)), HistoryMs: new(int64(60_000)), HistoryBytesMax: new(uint64(1 << 30)),
				StoreBytesMax: new(uint64(1 << 40)), TombstoneBytesMax: new(uint64(10)), EndedSessionsMax: new(uint32(5)),
				IdempotencyKeysMax: new(uint32(5)), IdempotencyBytesMax: new(uint64(10)),
			}
			lead(t, s, limits, func() {
				pass(15 * time.Second)
			})
			if s.windows != test.left {
				t.Errorf("got %d windows left after %d commands, want %d", s.windows, s.commands, test.left)
			}
		})
	}
}
