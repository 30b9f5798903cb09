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

// TestProgressNeedsProof lets a store be cut off: no progress is told while nobody proves that it is current, and what is
// told then shows what the proof has shown.
func TestProgressNeedsProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t, watch.Options{})
		f.commit(put("a", ""))
		got := make(chan watch.Batch, 1)
		asked := make(chan *watch.Proof, 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- f.hub.Watch(ctx, watch.Request{
				Selectors: watch.Selectors{Keys: []string{"a"}}.Normal(),
				After:     watch.Position{Revision: 1, Index: watch.Whole}, Progress: 3 * time.Second,
				Prove: func() *watch.Proof {
					p := &watch.Proof{Done: make(chan struct{})}
					asked <- p
					return p
				},
			}, func(b watch.Batch) error { got <- b; return nil })
		}()
		silent := func(what string) {
			t.Helper()
			synctest.Wait()
			select {
			case b := <-got:
				t.Fatalf("%s: got %v, want nothing", what, b)
			default:
			}
		}
		began := time.Now()
		proof := <-asked
		if after := time.Since(began); after != 3*time.Second {
			t.Errorf("asked after %v, want 3s", after)
		}
		silent("without proof")
		proof.Err = errors.New("cut off")
		close(proof.Done)
		silent("refused proof")
		if proof = <-asked; time.Since(began) != 4*time.Second {
			t.Errorf("asked again after %v, want 4s", time.Since(began))
		}
		proof.Revision = 2
		close(proof.Done)
		silent("what the proof showed is not there")
		f.commit(put("b", ""))
		if b := <-got; len(b.Events) != 0 || b.Through != 2 {
			t.Errorf("got %v, want progress through 2", b)
		}
		proof = <-asked
		proof.Revision = 3
		close(proof.Done)
		silent("what the proof showed is not there")
		f.commit(put("a", ""))
		if b := <-got; len(b.Events) != 1 || b.Through != 3 {
			t.Errorf("got %v, want the event of revision 3", b)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// TestALongSearchIsHeardOf lets a watch look through history that has nothing for it, and takes its time: how far it came is
// told meanwhile, as no proof of anything.
func TestALongSearchIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const newest = 100_000
		hub, err := watch.New(watch.Options{History: func(after watch.Position, visit func(*storev1.Event) bool) (uint64, error) {
			<-time.After(time.Second)
			for revision := after.Revision + 1; revision <= newest && visit(putAt(revision)); revision++ {
			}
			return newest, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		var got []watch.Batch
		began := time.Now()
		err = hub.Watch(t.Context(), watch.Request{
			Selectors: watch.Selectors{Keys: []string{"other"}}.Normal(), After: watch.Position{Index: watch.Whole}, Progress: 3 * time.Second,
		}, func(b watch.Batch) error {
			got = append(got, b)
			if !b.Behind {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || len(got) < 3 {
			t.Fatalf("got %v after %v with %d batches, want several", err, time.Since(began), len(got))
		}
		for i, b := range got {
			last := i == len(got)-1
			if len(b.Events) > 0 || b.Behind == last || last != (b.Through == newest) || i > 0 && b.Through <= got[i-1].Through {
				t.Errorf("batch %d of %d: got %+v", i, len(got), b)
			}
		}
	})
}

var errEnough = errors.New("enough")
