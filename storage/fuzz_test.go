package storage_test

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/storage"
)

// FuzzApply gives a store bytes as the entry after a random log. It must not panic; what it does not know is an error,
// and a replica that gets the same in one batch agrees.
func FuzzApply(f *testing.F) {
	for seed := range uint64(8) {
		g := &generator{rng: newRNG(seed), term: 1}
		data, err := storage.EncodeEnvelope(g.someEnvelope())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, seed)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		log, live := randomLog(t, seed%4, 5)
		last, before := live.Applied(), dumpOf(t, live)
		fuzzed := storage.Entry{Index: last.Index + 1, Term: last.Term, Data: data}
		_, err := live.Apply([]storage.Entry{fuzzed})

		replica := oldStore(t, vfs.NewMem(), "replica")
		_, replicaErr := replica.Apply(append(log, fuzzed))
		if (err == nil) != (replicaErr == nil) {
			t.Fatalf("got %v and %v, want the same", err, replicaErr)
		}
		if err != nil {
			if !errors.Is(err, storage.ErrUnknownFormat) {
				t.Fatalf("got %v, want ErrUnknownFormat or none", err)
			}
			if got := dumpOf(t, live); got != before {
				t.Fatalf("got\n%s\nwant nothing written:\n%s", got, before)
			}
			return
		}
		if dumpOf(t, live) != dumpOf(t, replica) || live.Applied().Checksum != replica.Applied().Checksum {
			t.Fatal("replicas differ")
		}
	})
}
