// Package stores makes stores for tests of what stands above them.
package stores

import (
	"errors"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// With returns a store in memory that has applied commands. It is closed at the end of the test.
func With(t testing.TB, commands ...*storev1.Command) *storage.Store {
	t.Helper()
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// It waits for snapshots that are still open.
		if err := store.Close(); err != nil && !errors.Is(err, storage.ErrClosed) {
			t.Error(err)
		}
	})
	if err := store.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}}); err != nil {
		t.Fatal(err)
	}
	Apply(t, store, commands...)
	return store
}

// Apply has a store apply commands.
func Apply(t testing.TB, store *storage.Store, commands ...*storev1.Command) {
	t.Helper()
	for _, command := range commands {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{command}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = store.Apply([]storage.Entry{{Index: store.Applied().Index + 1, Term: 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
	}
}
