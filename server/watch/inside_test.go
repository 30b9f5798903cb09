package watch_test

import (
	"fmt"
	"slices"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// A watch that resumes inside a revision goes on with the event behind the one it names: from the history of a store, and from
// the events in memory.
func TestAWatchResumesInsideARevision(t *testing.T) {
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "state"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if cerr := store.Close(); cerr != nil {
			t.Error(cerr)
		}
	}()
	if err = store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}}); err != nil {
		t.Fatal(err)
	}
	const keys = 4
	txn := &storev1.Txn{}
	for i := range keys {
		txn.ThenOps = append(txn.ThenOps, &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: fmt.Sprint("k", i)}}})
	}
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{{Kind: &storev1.Command_Txn{Txn: txn}}}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := store.Apply([]storage.Entry{{Index: 2, Term: 1, Data: data}})
	if err != nil || len(out.Events) != keys {
		t.Fatalf("got %d events of one revision, %v, want %d", len(out.Events), err, keys)
	}
	for _, told := range []bool{false, true} {
		h, err := watch.New(watch.Options{History: watch.FromStore(func() *storage.Store { return store })})
		if err != nil {
			t.Fatal(err)
		}
		if told {
			// The revision before, too: what is in memory begins behind the first revision that a hub hears of.
			h.Publish(storage.Outcome{Applied: storage.Applied{Revision: out.Applied.Revision - 1}})
			h.Publish(out)
			h.Step()
		}
		for seen := range keys {
			c, err := h.Cursor(watch.Request{
				Selectors: watch.Selectors{}.Normal(),
				After:     watch.Position{Revision: out.Applied.Revision, Index: uint32(seen)},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for more := true; more; {
				var b watch.Batch
				if b, more, err = c.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, e := range b.Events {
					got = append(got, e.GetKeyPut().GetKey())
				}
			}
			c.Close()
			for i := seen + 1; i < keys; i++ {
				want = append(want, fmt.Sprint("k", i))
			}
			if !slices.Equal(got, want) {
				t.Errorf("behind event %d, in memory %t: got %v, want %v", seen, told, got, want)
			}
		}
	}
}
