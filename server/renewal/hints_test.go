package renewal

import (
	"sync"
	"testing"

	"github.com/tenure-io/tenure/storage"
)

// TestManyStreamsComeAndGo is for the race detector: of several streams that renew a session, the one that came last is kept.
func TestManyStreamsComeAndGo(t *testing.T) {
	h := NewHinter()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			own, shared := storage.SessionID{1, byte(n)}, storage.SessionID{2}
			for range 50 {
				k := &keeper{}
				h.add(own, k)
				h.add(shared, k)
				if h.keeperOf(own[:]) != k {
					t.Error("the stream that renewed the session is not known")
				}
				h.remove(k, own, shared)
			}
		})
	}
	all.Wait()
	if len(h.keepers) != 0 || h.known.Load() != 0 {
		t.Errorf("%d streams are known, and %d are kept, after all have gone", h.known.Load(), len(h.keepers))
	}
}
