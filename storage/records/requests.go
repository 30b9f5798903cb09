package records

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// MaxSequence returns the highest number of a request that was applied under an epoch of a session; zero if there was
// none, or if the epoch's window is forgotten.
func (r *SessionReader) MaxSequence(id layout.SessionID, epoch uint64) (uint64, error) {
	value, ok, err := r.rows.Get(layout.WindowRow(id, epoch))
	if err != nil || !ok {
		return 0, err
	}
	head := &storev1.RequestWindowRecord{}
	if err = layout.Decode(value, head); err != nil {
		return 0, fmt.Errorf("request window of session %s: %w", id, err)
	}
	// What lies below the mark was done and has no row any more; the client may have used any of these numbers.
	var highest uint64
	if mark := head.GetDoneBelow(); mark > 0 {
		highest = mark - 1
	}
	// A window is bounded, so all its rows may be walked over.
	from := layout.RequestRow(id, epoch, head.GetDoneBelow())
	err = r.rows.Scan(from, layout.RowsEnd(from[:len(from)-8]), func(row, _ []byte) (bool, error) {
		highest = max(highest, binary.BigEndian.Uint64(row[len(row)-8:]))
		return true, nil
	})
	return highest, err
}
