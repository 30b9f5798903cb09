package watch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
)

// takes is a reader with a credit of batches.
type takes struct {
	reader

	mu      sync.Mutex // guards what follows, and the reader
	left    int
	more    chan struct{} // one slot
	offered int
	flushed int
	emitted int
	broken  error
}

func newTakes(s watch.Selectors, after uint64, credit int) *takes {
	return &takes{
		reader: reader{selectors: s, start: after, after: watch.Position{Revision: after, Index: watch.Whole}},
		left:   credit, more: make(chan struct{}, 1),
	}
}

func (r *takes) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *takes) Ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left > 0
}

func (r *takes) Await(ctx context.Context) error {
	for !r.Ready() {
		select {
		case <-r.more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *takes) Offer(b watch.Batch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == 0 {
		return false
	}
	r.left--
	r.offered++
	if b.Shared == nil {
		r.broken = errors.New("a batch is offered that others do not get")
	}
	r.broken = errors.Join(r.broken, r.check(b))
	return true
}

func (r *takes) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed = r.offered
}

func (r *takes) emit(b watch.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left--
	r.emitted++
	if r.flushed != r.offered {
		return fmt.Errorf("%d were flushed of %d that were offered before", r.flushed, r.offered)
	}
	return errors.Join(r.broken, r.check(b))
}

func (r *takes) watch(ctx context.Context, hub *watch.Hub, progress time.Duration) error {
	return hub.Watch(ctx, watch.Request{Selectors: r.selectors, After: r.after, Progress: progress, Taker: r}, r.emit)
}

// Watches that may not send anything have no batch made for them. Once they may, they get all that came in the meantime, as one.
func TestNoBatchIsMadeBeforeItMayBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t, watch.Options{})
		f.commit(put("a", ""))
		ctx, cancel := context.WithCancel(t.Context())
		readers := make([]*takes, 6)
		var wg sync.WaitGroup
		for i := range readers {
			readers[i] = newTakes(watch.Selectors{Keys: []string{"a"}}.Normal(), 1, 0)
			wg.Go(func() { _ = readers[i].watch(ctx, f.hub, 0) })
		}
		const events = 50
		for range events {
			f.commit(put("a", ""))
			synctest.Wait()
		}
		for i, r := range readers {
			if r.offered+r.emitted > 0 {
				t.Errorf("reader %d: got %d batches, %d of them offered, without credit", i, r.offered+r.emitted, r.offered)
			}
			r.give(1)
		}
		synctest.Wait()
		for i, r := range readers {
			if r.emitted != 1 || len(r.got) != events || r.broken != nil {
				t.Errorf("reader %d: got %d events in %d batches, %v, want %d in one", i, len(r.got), r.emitted, r.broken, events)
			}
			r.give(10)
		}
		synctest.Wait()
		for range 3 {
			f.commit(put("a", ""))
			synctest.Wait()
		}
		for i, r := range readers {
			if r.offered != 3 || r.flushed != 3 || r.emitted != 1 || len(r.got) != events+3 {
				t.Errorf("reader %d: got %d batches offered, %d flushed, %d emitted, %d events, want 3 offered and flushed, 1 emitted, %d events",
					i, r.offered, r.flushed, r.emitted, len(r.got), events+3)
			}
		}
		cancel()
		wg.Wait()
	})
}

// A watch that may not send anything still ends when history is forgotten before it begins.
func TestAWatchWithoutCreditLearnsThatHistoryIsForgotten(t *testing.T) {
	f := newFeed(t, watch.Options{})
	for range 10 {
		f.install(put("a", ""))
	}
	f.compact(5)
	r := newTakes(watch.Selectors{Keys: []string{"a"}}.Normal(), 1, 0)
	if err := r.watch(t.Context(), f.hub, 0); !errors.Is(err, watch.ErrCompacted) {
		t.Errorf("got %v, want %v", err, watch.ErrCompacted)
	}
}

// Watches of the same, with credit that comes and goes, each get every event once and in order, whether it is offered or not.
func TestWhatIsOfferedIsPartOfHistory(t *testing.T) {
	for name, o := range map[string]watch.Options{"all in memory": {}, "a ring that is too small": {RingEventsMax: 64}} {
		t.Run(name, func(t *testing.T) {
			const revisions = 3000
			f := newFeed(t, o)
			f.commit(put("a", ""))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wg sync.WaitGroup
			all := make([]*takes, 60)
			for i := range all {
				own := rand.New(rand.NewPCG(7, uint64(i/20))) // Three groups.
				all[i] = newTakes(randomSelectors(own), 1, i%3)
				progress := time.Duration(i%2) * time.Millisecond
				wg.Go(func() {
					for ctx.Err() == nil {
						// One that is cut goes on where it was.
						part, cut := context.WithTimeout(ctx, time.Duration(1+i)*time.Millisecond)
						if err := all[i].watch(part, f.hub, progress); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
							t.Errorf("reader %d: %v", i, err)
						}
						cut()
					}
				})
				wg.Go(func() {
					for own := rand.New(rand.NewPCG(8, uint64(i))); ctx.Err() == nil; {
						all[i].give(1 + own.IntN(5))
						<-time.After(time.Duration(own.IntN(2000)) * time.Microsecond)
					}
				})
			}
			random := rand.New(rand.NewPCG(9, 9))
			for n := range revisions {
				events := make([]*storev1.Event, 1+random.IntN(3))
				for k := range events {
					events[k] = randomEvent(random)
				}
				f.commit(events...)
				if n%20 == 0 {
					<-time.After(time.Millisecond)
				}
			}
			f.awaitAll(t, all)
			cancel()
			wg.Wait()
			offered := 0
			for i, r := range all {
				var want []*storev1.Event
				for _, e := range f.events {
					if e.GetRevision() > 1 && selects(r.selectors, e) {
						want = append(want, e)
					}
				}
				if len(r.got) != len(want) || r.broken != nil {
					t.Errorf("reader %d: got %d events, %v, want %d", i, len(r.got), r.broken, len(want))
				}
				offered += r.offered
			}
			if offered == 0 {
				t.Error("nothing was offered: the test shows nothing")
			}
		})
	}
}

// awaitAll waits until all have everything that was selected.
func (f *feed) awaitAll(t *testing.T, all []*takes) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		behind := 0
		for _, r := range all {
			last := uint64(0)
			for _, e := range f.events {
				if selects(r.selectors, e) {
					last = e.GetRevision()
				}
			}
			if r.reached.Load() < last {
				behind++
			}
		}
		if behind == 0 {
			return
		}
	}
	t.Error("some watches do not come on")
}

// BenchmarkOffer publishes events of one key that many watch with a Taker.
func BenchmarkOffer(b *testing.B) {
	const watchers = 10_000
	f := newFeed(b, watch.Options{})
	f.commit(put("k", ""))
	ctx, cancel := context.WithCancel(context.Background())
	c := &counts{}
	var wg sync.WaitGroup
	for range watchers {
		wg.Go(func() {
			_ = f.hub.Watch(ctx, watch.Request{
				Selectors: watch.Selectors{Keys: []string{"k"}}.Normal(), After: watch.Position{Revision: 1, Index: watch.Whole}, Taker: c,
			}, func(batch watch.Batch) error { c.n.Add(int64(len(batch.Events))); return nil })
		})
	}
	for f.hub.Watchers() < watchers {
		<-time.After(time.Millisecond)
	}
	b.ResetTimer()
	for n := range b.N {
		f.commit(put("k", "value"))
		for c.n.Load() < int64(n+1)*watchers {
			<-time.After(10 * time.Microsecond)
		}
	}
	b.StopTimer()
	cancel()
	wg.Wait()
}

// counts takes everything.
type counts struct{ n atomic.Int64 }

func (*counts) Ready() bool                 { return true }
func (*counts) Await(context.Context) error { return nil }
func (c *counts) Offer(b watch.Batch) bool  { c.n.Add(int64(len(b.Events))); return true }
func (*counts) Flush()                      {}
