package watch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
)

// reader is a watcher that stops and goes on at random, and remembers what it got.
type reader struct {
	selectors watch.Selectors
	start     uint64
	after     watch.Position
	got       []*storev1.Event
	cuts      int
	reached   atomic.Uint64 // revision up to which it has everything
}

// check fails if a batch breaks a promise that can be seen in it alone.
func (r *reader) check(b watch.Batch) error {
	if b.Through < r.after.Revision {
		return fmt.Errorf("batch goes back from %d to %d", r.after.Revision, b.Through)
	}
	for _, e := range b.Events {
		if e.GetRevision() > b.Through {
			return fmt.Errorf("event of revision %d in a batch through %d", e.GetRevision(), b.Through)
		}
		if e.GetRevision() < r.after.Revision || e.GetRevision() == r.after.Revision && e.GetIndex() <= r.after.Index {
			return fmt.Errorf("event %d.%d comes again or out of order after %v", e.GetRevision(), e.GetIndex(), r.after)
		}
		r.after = watch.Position{Revision: e.GetRevision(), Index: e.GetIndex()}
	}
	r.got = append(r.got, b.Events...)
	r.after = watch.Position{Revision: b.Through, Index: watch.Whole}
	r.reached.Store(b.Through)
	return nil
}

// run reads until it has everything up to end, with cuts in between.
func (r *reader) run(ctx context.Context, hub *watch.Hub, random *rand.Rand, end uint64) error {
	for r.after.Revision < end {
		batches := 1 + random.IntN(20)
		err := hub.Watch(ctx, watch.Request{Selectors: r.selectors, After: r.after, Progress: 5 * time.Millisecond},
			func(b watch.Batch) error {
				if err := r.check(b); err != nil {
					return err
				}
				if random.IntN(4) == 0 {
					<-time.After(time.Duration(random.IntN(3)) * time.Millisecond)
				}
				if batches--; batches == 0 || r.after.Revision >= end {
					return errCut
				}
				return nil
			})
		if !errors.Is(err, errCut) {
			return err
		}
		r.cuts++
	}
	return nil
}

func TestEveryWatchGetsItsPartOfHistory(t *testing.T) {
	const readers, revisions = 200, 4000
	tests := map[string]watch.Options{
		"all in memory":            {},
		"a ring that is too small": {RingEventsMax: 64, CatchUpReadersMax: 4},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			o.Registerer = registry
			f := newFeed(t, o)
			random := rand.New(rand.NewPCG(3, 4))
			for range 50 {
				f.commit(randomEvent(random))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
			defer cancel()
			var wg sync.WaitGroup
			all := make([]*reader, readers)
			for i := range all {
				own := rand.New(rand.NewPCG(5, uint64(i)))
				start := uint64(own.IntN(50))
				all[i] = &reader{
					selectors: randomSelectors(own), start: start,
					after: watch.Position{Revision: start, Index: watch.Whole},
				}
				switch i % 10 {
				case 0:
					all[i].selectors = watch.Selectors{}.Normal()
				case 2:
					all[i].selectors = all[i-1].selectors
				}
				wg.Go(func() {
					if err := all[i].run(ctx, f.hub, own, 50+revisions); err != nil {
						t.Errorf("reader %d: %v", i, err)
					}
				})
			}
			for n := range revisions {
				events := make([]*storev1.Event, 1+random.IntN(4))
				for k := range events {
					events[k] = randomEvent(random)
				}
				f.commit(events...)
				if n%100 == 0 { // Readers that lag get much in few batches, and are hardly ever cut.
					for i := 0; i < readers && !t.Failed(); i += 10 {
						waitFor(t, func() bool { return all[i].reached.Load() >= f.at() })
					}
				}
			}
			wg.Wait()
			total, cuts := 0, 0
			for i, r := range all {
				total += len(r.got)
				cuts += r.cuts
				compare(t, f, i, r)
			}
			if total < 50*revisions || cuts < 2*readers {
				t.Errorf("got %d events and %d cuts, want at least %d and %d", total, cuts, 50*revisions, 2*readers)
			}
		})
	}
}

// compare fails unless a reader got exactly the history that it selected.
func compare(t *testing.T, f *feed, i int, r *reader) {
	t.Helper()
	n := 0
	for _, e := range f.events {
		if e.GetRevision() <= r.start || !selects(r.selectors, e) {
			continue
		}
		if n >= len(r.got) || r.got[n] != e {
			t.Errorf("reader %d of %+v: event %d is not %d.%d of history", i, r.selectors, n, e.GetRevision(), e.GetIndex())
			return
		}
		n++
	}
	if n != len(r.got) {
		t.Errorf("reader %d: got %d events, want %d", i, len(r.got), n)
	}
}

func TestSleepingWatchIsNotWokenForWhatItDidNotSelect(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newSteppedFeed(t, watch.Options{Registerer: registry})
	f.commit(put("mine", "0"))
	f.hub.Step()
	got := make(chan watch.Batch, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.hub.Watch(ctx, watch.Request{
			Selectors: watch.Selectors{Keys: []string{"mine"}}.Normal(),
			After:     watch.Position{Index: watch.Whole},
		}, func(b watch.Batch) error { got <- b; return nil })
	}()
	receive(t, got) // Now it has a place in the ring.
	// More than the ring holds: a sleeping watcher must not fall out of it by what it did not select.
	const unrelated = 1 << 19
	for i := range unrelated / 1024 {
		events := make([]*storev1.Event, 1024)
		for k := range events {
			events[k] = put(fmt.Sprintf("other/%d", i), "")
		}
		f.commit(events...)
		f.hub.Step() // One that lags by more than the ring holds wakes everybody.
	}
	f.commit(put("mine", "1"))
	f.hub.Step()
	b := receive(t, got)
	if len(b.Events) != 1 || b.Events[0].GetKeyPut().GetKey() != "mine" || b.Through != f.at() {
		t.Errorf("got %d events through %d, want 1 through %d", len(b.Events), b.Through, f.at())
	}
	if wakes := gauge(t, registry, "tenure_watch_wakes_total"); wakes != 1 {
		t.Errorf("got %v wakes, want 1", wakes)
	}
	if reads := gauge(t, registry, "tenure_watch_catch_up_reads_total"); reads > 1 {
		t.Errorf("got %v reads of history, want at most the one at the start", reads)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestWatcherThatStandsStillDelaysNobodyAndGetsEverything(t *testing.T) {
	f := newFeed(t, watch.Options{RingEventsMax: 128})
	f.commit(put("k", ""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := watch.Request{Selectors: watch.Selectors{}.Normal(), After: watch.Position{Revision: 1, Index: watch.Whole}}
	release := make(chan struct{})
	var slow, fast atomic.Int64
	var wg sync.WaitGroup
	const revisions = 5000
	wg.Go(func() {
		first := true
		_ = f.hub.Watch(ctx, all, func(b watch.Batch) error {
			if first {
				first = false
				<-release
			}
			slow.Add(int64(len(b.Events)))
			if b.Through == revisions+1 {
				return errCut
			}
			return nil
		})
	})
	wg.Go(func() {
		_ = f.hub.Watch(ctx, all, func(b watch.Batch) error {
			fast.Add(int64(len(b.Events)))
			if b.Through == revisions+1 {
				return errCut
			}
			return nil
		})
	})
	for i := range revisions {
		f.commit(put(fmt.Sprint(i), "v"))
	}
	waitFor(t, func() bool { return fast.Load() == revisions })
	if n := slow.Load(); n != 0 {
		t.Errorf("reader that stands still: got %d events", n)
	}
	close(release)
	wg.Wait()
	if n := slow.Load(); n != revisions {
		t.Errorf("got %d events after standing still, want %d", n, revisions)
	}
}

func TestWatcherThatCompactionPassedEndsWithItsError(t *testing.T) {
	f := newFeed(t, watch.Options{RingEventsMax: 16})
	f.commit(put("k", ""))
	release := make(chan struct{})
	stands := make(chan struct{})
	done := make(chan error, 1)
	var through uint64
	go func() {
		done <- f.hub.Watch(t.Context(), watch.Request{
			Selectors: watch.Selectors{}.Normal(), After: watch.Position{Revision: 1, Index: watch.Whole},
		}, func(b watch.Batch) error {
			if through == 0 {
				close(stands)
				<-release
			}
			through = b.Through
			return nil
		})
	}()
	f.commit(put("k", ""))
	<-stands
	for range 1000 {
		f.commit(put("k", ""))
	}
	f.compact(900)
	close(release)
	if err := <-done; !errors.Is(err, watch.ErrCompacted) {
		t.Errorf("got %v, want %v", err, watch.ErrCompacted)
	}
}

func TestWhatASnapshotBroughtIsNotMissed(t *testing.T) {
	f := newFeed(t, watch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	batches, ended := make(chan watch.Batch), make(chan error, 1)
	go func() {
		request := watch.Request{Selectors: watch.Selectors{}.Normal(), After: watch.Position{Index: watch.Whole}}
		ended <- f.hub.Watch(ctx, request, func(b watch.Batch) error {
			select {
			case batches <- b:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	var got []string
	read := func(n int) {
		for len(got) < n {
			for _, e := range receive(t, batches).Events {
				got = append(got, e.GetKeyPut().GetKey())
			}
		}
	}
	f.commit(put("a", "1"))
	f.commit(put("b", "1"))
	read(2)
	f.install(put("c", "1"))
	f.install(put("d", "1"))
	f.commit(put("e", "1"))
	f.commit(put("f", "1"))
	read(6)
	if text := strings.Join(got, ""); text != "abcdef" {
		t.Errorf("got the keys %q, want abcdef", text)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch: got %v, want that it was cancelled", err)
	}
}

func TestProgressOnlyAfterEverythingBefore(t *testing.T) {
	f := newFeed(t, watch.Options{})
	f.commit(put("a", ""))
	got := make(chan watch.Batch, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.hub.Watch(ctx, watch.Request{
			Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(),
			After:     watch.Position{Revision: 1, Index: watch.Whole}, Progress: time.Millisecond,
		}, func(b watch.Batch) error {
			select {
			case got <- b:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	f.commit(put("b", ""))
	for {
		b := receive(t, got)
		if len(b.Events) > 0 {
			t.Fatalf("got events %v, want none", b.Events)
		}
		if b.Through == 2 {
			break
		}
	}
	f.commit(put("a", ""), put("b", ""))
	f.commit(put("b", ""))
	seen := false
	for b := receive(t, got); b.Through < 4; b = receive(t, got) {
		seen = seen || len(b.Events) > 0
		if b.Through >= 3 && !seen {
			t.Fatalf("got progress through %d before the event of revision 3", b.Through)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestMembersOfAGroupShareTheirBatches(t *testing.T) {
	f := newSteppedFeed(t, watch.Options{})
	f.commit(put("a", ""))
	f.hub.Step()
	const members = 50
	built := atomic.Int64{}
	placed, ready := make(chan struct{}, members), make(chan struct{}, members)
	var wg sync.WaitGroup
	for range members {
		wg.Go(func() {
			err := f.hub.Watch(t.Context(), watch.Request{
				Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(),
				After:     watch.Position{Index: watch.Whole},
			}, func(b watch.Batch) error {
				if b.Through == 1 {
					placed <- struct{}{} // Now it has a place in the ring.
					return nil
				}
				if b.Shared == nil {
					return errors.New("batch is not shared")
				}
				// Nobody lets go before all have it, so that it lives for all.
				if _, err := b.Shared.Value(0, func() (any, error) { return built.Add(1), nil }); err != nil {
					return err
				}
				ready <- struct{}{}
				waitFor(t, func() bool { return len(ready) == members })
				return errCut
			})
			if !errors.Is(err, errCut) {
				t.Error(err)
			}
		})
	}
	waitFor(t, func() bool { return len(placed) == members })
	f.commit(put("a", "1"))
	f.hub.Step()
	wg.Wait()
	if n := built.Load(); n != 1 {
		t.Errorf("got the batch built %d times for %d members, want once", n, members)
	}
}

func TestALargeRevisionIsOneBatch(t *testing.T) {
	for name, o := range map[string]watch.Options{"in memory": {}, "from history": {RingEventsMax: 4}} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(t, o)
			f.commit(put("a", ""))
			events := make([]*storev1.Event, 10_000)
			for i := range events {
				events[i] = put(fmt.Sprint("a/", i), strings.Repeat("x", 500))
			}
			f.commit(events...)
			f.commit(put("a", ""))
			err := f.hub.Watch(t.Context(), watch.Request{
				Selectors: watch.Selectors{Prefixes: []string{"a/"}}.Normal(),
				After:     watch.Position{Revision: 1, Index: watch.Whole},
			}, func(b watch.Batch) error {
				if len(b.Events) != len(events) {
					return fmt.Errorf("got %d events, want %d", len(b.Events), len(events))
				}
				return errCut
			})
			if !errors.Is(err, errCut) {
				t.Error(err)
			}
		})
	}
}

func TestTooManyWatchesAreRefused(t *testing.T) {
	f := newFeed(t, watch.Options{WatchersMax: 1})
	f.commit(put("a", ""))
	in := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	request := watch.Request{Selectors: watch.Selectors{}.Normal(), After: watch.Position{Index: watch.Whole}}
	go func() {
		once := sync.OnceFunc(func() { close(in) })
		done <- f.hub.Watch(ctx, request, func(watch.Batch) error { once(); return nil })
	}()
	<-in
	if err := f.hub.Watch(ctx, request, func(watch.Batch) error { return nil }); !errors.Is(err, watch.ErrTooMany) {
		t.Errorf("got %v, want %v", err, watch.ErrTooMany)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func receive(t *testing.T, c <-chan watch.Batch) watch.Batch {
	t.Helper()
	select {
	case b := <-c:
		return b
	case <-time.After(patience):
		t.Fatal("nothing came")
		return watch.Batch{}
	}
}

func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !ready() {
		select {
		case <-deadline:
			t.Error("it does not happen")
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func gauge(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
