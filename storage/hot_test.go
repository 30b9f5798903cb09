package storage_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/table"
)

// TestHotRowsAreWhatTheDiskHolds applies random commands, many of which fail, and compares after each entry.
func TestHotRowsAreWhatTheDiskHolds(t *testing.T) {
	log, _ := randomLog(t, 1, 300)
	store := oldStore(t, vfs.NewMem(), "sm")
	most := 0
	for len(log) > 0 {
		n := min(1+len(log)%5, len(log))
		if _, err := store.Apply(log[:n]); err != nil {
			t.Fatal(err)
		}
		log = log[n:]
		rows, _, err := store.HotRows()
		if err != nil {
			t.Fatalf("after entry %d: %v", store.Applied().Index, err)
		}
		most = max(most, rows)
	}
	if most < 20 {
		t.Fatalf("got at most %d hot rows: too few to show anything", most)
	}
}

// TestHotRowsAreBounded reads and writes more than there is room for, twice.
func TestHotRowsAreBounded(t *testing.T) {
	needsNoRaceDetector(t)
	store := newStore(t, vfs.NewMem(), "sm")
	const keys, valueBytes = 4096, 12 << 10
	largest := 0
	for i := 0; i < 2*keys; {
		env := &storev1.Envelope{}
		for ; len(env.GetCommands()) < 64; i++ {
			env.Commands = append(env.Commands, &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
				Key: fmt.Sprint(i % keys), Value: bytes.Repeat([]byte{byte(i)}, valueBytes),
			}}})
		}
		data, err := storage.EncodeEnvelope(env)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = store.Apply([]storage.Entry{{Index: store.Applied().Index + 1, Term: 1, Data: data}}); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, store.HotBytes())
		if i%(keys/4) == 0 { // To compare all with the disk takes long.
			if _, _, err = store.HotRows(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if largest > table.HotBytesMax || largest < table.HotBytesMax/2 {
		t.Errorf("got %d bytes of hot rows at most, want between half of and all of %d", largest, table.HotBytesMax)
	}
}
