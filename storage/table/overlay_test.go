package table_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// TestRollbackLeavesWhatWasThere writes rows, rolls back to marks, and makes some of it final, beside a map that does the same.
func TestRollbackLeavesWhatWasThere(t *testing.T) {
	const numbers = 40
	db := rowsOnDisk(t, []byte{layout.RowKey}, numbers)
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		o := table.NewOverlay(db, 1<<40)
		sum := table.NewChecksum(0, layout.Version2)
		final := map[uint64]string{}
		for n := range uint64(numbers) {
			if value, found, err := o.Get(layout.NumberRow(layout.RowKey, n)); err != nil {
				t.Fatal(err)
			} else if found {
				final[n] = string(value)
			}
		}
		type mark struct {
			at    int
			rows  map[uint64]string
			bytes uint64
		}
		for range 1 + r.IntN(3) {
			rows := maps.Clone(final)
			marks := []mark{{o.Mark(), maps.Clone(rows), o.Bytes}}
			for range r.IntN(100) {
				n := r.Uint64N(numbers)
				row := layout.NumberRow(layout.RowKey, n)
				switch r.IntN(4) {
				case 0, 1:
					value := string(make([]byte, 1+r.IntN(9)))
					o.Set(row, []byte(value))
					rows[n] = value
				case 2:
					o.Remove(row)
					delete(rows, n)
				case 3:
					marks = append(marks, mark{o.Mark(), maps.Clone(rows), o.Bytes})
				}
			}
			if r.IntN(3) == 0 {
				o.Seal(sum)
				final = rows
				continue
			}
			back := marks[r.IntN(len(marks))]
			o.RollbackTo(back.at)
			if o.Bytes != back.bytes || o.Mark() != back.at {
				t.Fatalf("%d bytes at %d are counted, want %d at %d", o.Bytes, o.Mark(), back.bytes, back.at)
			}
			for n := range uint64(numbers) {
				value, found, err := o.Get(layout.NumberRow(layout.RowKey, n))
				want, there := back.rows[n]
				if err != nil || found != there || string(value) != want {
					t.Fatalf("row %d: got %x, %t, %v; want %x, %t", n, value, found, err, want, there)
				}
			}
			o.Seal(sum)
			final = back.rows
		}
	}
}
