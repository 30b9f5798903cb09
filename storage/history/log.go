package history

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// Log is the history of a state, for a command under way.
type Log struct {
	Rows  *table.Overlay
	State *layout.Applied
}

// Append keeps an event, which has its revision and index.
func (l Log) Append(e *storev1.Event) error {
	value, err := layout.Encode(&storev1.HistoryRecord{FormatVersion: layout.RecordFormat, Event: e})
	if err != nil {
		return err
	}
	row := layout.HistoryRow(e.GetRevision(), e.GetIndex())
	l.State.HistoryBytes += uint64(len(row) + len(value))
	l.Rows.Insert(row, value)
	return nil
}
