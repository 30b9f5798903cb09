package table_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// rowsOnDisk returns a database in which two of three rows of a kind were written, and some of them deleted again.
func rowsOnDisk(t *testing.T, kinds []byte, numbers int) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), MemTableSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if closeErr := db.Close(); closeErr != nil {
			t.Error(closeErr)
		}
	})
	for n := range numbers {
		for _, kind := range kinds {
			row := layout.NumberRow(kind, uint64(n))
			if n%3 > 0 {
				err = errors.Join(err, db.Set(row, binary.BigEndian.AppendUint64(nil, uint64(n)), nil))
			}
			if n%5 == 0 {
				err = errors.Join(err, db.Delete(row, nil))
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// TestRunsAnswerAsPointReads looks rows of several kinds up, mostly in ascending order, with runs and without, and changes some on the
// way.
func TestRunsAnswerAsPointReads(t *testing.T) {
	kinds := []byte{layout.RowKey, layout.RowLock, layout.RowHold}
	db := rowsOnDisk(t, kinds, 4000)
	r := rand.New(rand.NewPCG(5, 6))
	runs := table.NewRuns(db)
	t.Cleanup(func() { _ = runs.End() }) // Of a test that fails.
	for range 20 {
		quick, plain := table.NewOverlay(db, 1<<40), table.NewOverlay(db, 1<<40)
		quick.Hot, quick.Voids, quick.Runs = table.NewHot(), table.NewVoids(), runs
		at := map[byte]uint64{}
		for range 2000 {
			kind := kinds[r.IntN(len(kinds))]
			at[kind] += uint64(r.IntN(5))
			if r.IntN(300) == 0 {
				at[kind] = uint64(r.IntN(4000))
			}
			row := layout.NumberRow(kind, at[kind])
			got, found, err := quick.Get(row)
			want, there, wantErr := plain.Get(row)
			if err != nil || wantErr != nil || found != there || string(got) != string(want) {
				t.Fatalf("row %x: got %x, %t, %v; want %x, %t, %v", row, got, found, err, want, there, wantErr)
			}
			switch r.IntN(8) {
			case 0:
				quick.Set(row, []byte{1})
				plain.Set(row, []byte{1})
			case 1:
				quick.Remove(row)
				plain.Remove(row)
			}
			if quick.Bytes != plain.Bytes {
				t.Fatalf("row %x: %d bytes are counted, want %d", row, quick.Bytes, plain.Bytes)
			}
		}
		if err := runs.End(); err != nil {
			t.Fatal(err)
		}
	}
}
