package watch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
)

// watching is one watch of key a, and what it was told.
type watching struct {
	got    chan watch.Batch
	cancel context.CancelFunc
	done   chan error
}

// follow watches key a from revision 1, with a mark of progress every second.
func follow(t *testing.T, f *feed, prove func() *watch.Proof) *watching {
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{got: make(chan watch.Batch, 4096), cancel: cancel, done: make(chan error, 1)}
	go func() {
		w.done <- f.hub.Watch(ctx, watch.Request{
			Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(),
			After:     watch.Position{Revision: 1, Index: watch.Whole}, Progress: time.Second, Prove: prove,
		}, func(b watch.Batch) error { w.got <- b; return nil })
	}()
	return w
}

func (w *watching) end(t *testing.T) {
	t.Helper()
	w.cancel()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestProgressComesAlsoBetweenEvents lets a key change ten times a second: every second or so a mark proves how far the watch
// came, and names the moment of its proof.
func TestProgressComesAlsoBetweenEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t, watch.Options{})
		f.commit(put("a", ""))
		w := follow(t, f, func() *watch.Proof {
			p := &watch.Proof{Done: make(chan struct{}), At: time.Now(), Revision: f.at()}
			close(p.Done)
			return p
		})
		began, marked, events := time.Now(), time.Now(), 0
		var marks int
		var through uint64
		for range 100 {
			<-time.After(100 * time.Millisecond)
			f.commit(put("a", ""))
			synctest.Wait()
			for len(w.got) > 0 {
				b := <-w.got
				events += len(b.Events)
				if b.Through < through || len(b.Events) > 0 && b.Through == through {
					t.Fatalf("got %d after %d", b.Through, through)
				}
				through = b.Through
				if len(b.Events) > 0 {
					continue
				}
				marks++
				if b.Behind || b.Proved.Before(marked) || time.Since(b.Proved) > 200*time.Millisecond {
					t.Errorf("%v after the beginning: got a mark with a proof of %v, the one before came at %v",
						time.Since(began), b.Proved.Sub(began), marked.Sub(began))
				}
				if gap := time.Since(marked); gap > 1200*time.Millisecond {
					t.Errorf("got a mark after %v, want one a second", gap)
				}
				marked = time.Now()
			}
		}
		if marks < 8 || marks > 10 || events != 100 {
			t.Errorf("got %d marks and %d events in 10 s, want one mark a second and every event", marks, events)
		}
		w.end(t)
	})
}

// TestEventsOfAMemberThatLagsProveNothing lets a member deliver old events while it cannot prove that they are the newest, or
// has not delivered what was there when it was asked: no mark comes until it has.
func TestEventsOfAMemberThatLagsProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t, watch.Options{})
		f.commit(put("a", ""))
		const newest = 40
		var asked []time.Time
		w := follow(t, f, func() *watch.Proof {
			p := &watch.Proof{Done: make(chan struct{}), At: time.Now(), Revision: newest}
			asked = append(asked, p.At)
			close(p.Done)
			return p
		})
		for revision := 2; revision <= newest; revision++ {
			<-time.After(300 * time.Millisecond)
			f.commit(put("a", ""))
			synctest.Wait()
			b := <-w.got
			if len(b.Events) != 1 || b.Through != uint64(revision) {
				t.Fatalf("got %+v, want the event of revision %d", b, revision)
			}
			if len(w.got) > 0 && revision < newest {
				t.Fatalf("at revision %d: got %+v, and the proof wants %d", revision, <-w.got, newest)
			}
		}
		for n := range 2 { // The first proof waited long, so the next is asked for at once.
			b := <-w.got
			if len(b.Events) > 0 || b.Through != newest || !b.Proved.Equal(asked[n]) || time.Since(b.Proved) > 0 != (n == 0) {
				t.Errorf("got %+v, want a mark of revision %d with the proof of %v", b, newest, asked[n])
			}
		}
		w.end(t)
	})
}

// TestAWatchThatCatchesUpIsHeardOfBetweenEvents lets a watch find an event now and then in a long search: that it comes on is
// told whenever nothing was sent for the interval, and never that it is there.
func TestAWatchThatCatchesUpIsHeardOfBetweenEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const newest = 100_000
		hub, err := watch.New(watch.Options{History: func(after watch.Position, visit func(*storev1.Event) bool) (uint64, error) {
			<-time.After(700 * time.Millisecond)
			for revision := after.Revision + 1; revision <= newest; revision++ {
				e := putAt(revision)
				if revision%40_000 == 0 {
					e = put("a", "")
					e.Revision, e.Count = revision, 1
				}
				if !visit(e) {
					break
				}
			}
			return newest, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		events, signs, last := 0, 0, time.Now()
		err = hub.Watch(t.Context(), watch.Request{
			Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(), After: watch.Position{Index: watch.Whole}, Progress: time.Second,
			Prove: func() *watch.Proof {
				p := &watch.Proof{Done: make(chan struct{}), At: time.Now(), Revision: newest}
				close(p.Done)
				return p
			},
		}, func(b watch.Batch) error {
			if gap := time.Since(last); gap > 2*time.Second {
				t.Errorf("nothing came for %v", gap)
			}
			last = time.Now()
			events += len(b.Events)
			switch {
			case b.Behind:
				signs++
			case len(b.Events) == 0 && b.Through != newest:
				t.Errorf("got a mark at %d, want none before %d", b.Through, newest)
			case len(b.Events) == 0:
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || events != 2 || signs < 3 {
			t.Errorf("got %v, %d events and %d signs of life, want 2 events and several signs", err, events, signs)
		}
	})
}
