package table_test

import (
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// countedDisk counts the rows that are read one by one.
type countedDisk struct {
	pebble.Reader

	reads int
}

func (d *countedDisk) Get(row []byte) ([]byte, io.Closer, error) {
	d.reads++
	return d.Reader.Get(row)
}

// TestAMissingRowThatIsKnownIsNotRead tells an overlay of rows that are not there: neither a read nor a write looks for them on disk. What the
// overlay itself has of a row is not hidden by that.
func TestAMissingRowThatIsKnownIsNotRead(t *testing.T) {
	if invariants.Enabled {
		t.Skip("invariants look on disk")
	}
	disk := &countedDisk{Reader: rowsOnDisk(t, []byte{layout.RowKey}, 10)}
	o := table.NewOverlay(disk, 1<<20)
	o.Hot = table.NewHot()
	missing, written, pending := layout.NumberRow(layout.RowKey, 20), layout.NumberRow(layout.RowKey, 21), layout.NumberRow(layout.RowKey, 7)
	o.KnowMissing(missing)
	o.KnowMissing(written)
	if _, found, err := o.Get(missing); found || err != nil {
		t.Errorf("a missing row: found %t, %v", found, err)
	}
	o.Set(written, []byte("value"))
	if value, found, err := o.Get(written); !found || string(value) != "value" || err != nil {
		t.Errorf("a row that was written since: %q, found %t, %v", value, found, err)
	}
	if want := uint64(1<<20 + len(written) + len("value")); o.Bytes != want {
		t.Errorf("%d bytes are counted, want %d", o.Bytes, want)
	}
	if disk.reads != 0 {
		t.Errorf("%d rows were read, want none", disk.reads)
	}
	o.Remove(pending)
	o.KnowMissing(pending)
	o.Rollback()
	if _, found, err := o.Get(pending); !found || err != nil {
		t.Errorf("a row on disk, after its deletion was taken back: found %t, %v", found, err)
	}
}
