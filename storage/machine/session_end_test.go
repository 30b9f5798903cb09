package machine_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/machine"
	"github.com/tenure-io/tenure/storage/table"
)

// silent drops what Pebble tells.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}

// The record of a session that commands share stays as it was read, also where the session is about to end.
func TestGatheringChangesNoSharedRecord(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if closeErr := db.Close(); closeErr != nil {
			t.Error(closeErr)
		}
	})
	id := layout.SessionID{1}
	value, err := layout.Encode(&storev1.SessionRecord{FormatVersion: layout.RecordFormat, Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	rows := table.NewOverlay(db, 0)
	rows.Set(layout.SessionRow(layout.RowSession, id), value)
	rows.Set(layout.SessionRow(layout.RowObjects, id), []byte{3})
	w := machine.NewWork(rows, layout.Applied{ClusterVersion: layout.Version3})
	shared, err := w.SessionRecord(id)
	if err != nil {
		t.Fatal(err)
	}
	before := proto.CloneOf(shared)
	if err = w.Gather(id); err != nil {
		t.Fatal(err)
	}
	again, err := w.SessionRecord(id)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(shared, before) || !proto.Equal(again, before) {
		t.Errorf("got %v and %v, want %v", shared, again, before)
	}
}
