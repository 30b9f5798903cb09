package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// errRow means that a row of a backup cannot be one of a store.
var errRow = errors.New("it cannot be what a store wrote")

// CheckRow refuses a row, or its value, that no store wrote.
func CheckRow(row, value []byte) error {
	if !rowNamed(row) {
		return fmt.Errorf("%w: its name", errRow)
	}
	r, record := layout.RecordOf(row[0]), value
	switch {
	case row[0] == layout.RowDelay && len(value) > layout.DelayHeadBytes:
		r, record = &storev1.HoldRecord{}, value[layout.DelayHeadBytes:]
	case row[0] == layout.RowKeyBrief && len(value) > layout.BriefHeadBytes:
		r, record = &storev1.KeyRecord{}, value[layout.BriefHeadBytes:]
	case row[0] == layout.RowPlaceBrief && len(value) > layout.BriefHeadBytes:
		r, record = &storev1.WaiterRecord{}, value[layout.BriefHeadBytes:]
	}
	switch {
	case r != nil:
		if err := layout.Decode(record, r); err != nil {
			return err
		}
		if !recordNamed(r) {
			return fmt.Errorf("%w: the session it names", errRow)
		}
	case !valueSized(row, value):
		return fmt.Errorf("%w: its %d bytes", errRow, len(value))
	}
	return nil
}

// rowNamed says whether a row is about something.
func rowNamed(row []byte) bool {
	const number, id = 8, len(layout.SessionID{})
	behind := len(row) - 1
	var ok bool
	switch row[0] {
	case layout.RowKey, layout.RowLock, layout.RowUngranted, layout.RowBlocked, layout.RowUnmoved, layout.RowKeyBrief:
		var n layout.Name
		n, ok = layout.CutNameRow(row)
		ok = ok && n.Key != ""
	case layout.RowHold, layout.RowPlace, layout.RowQueuePart, layout.RowDelay, layout.RowWait, layout.RowPlaceBrief:
		_, _, ok = layout.CutNumberedRow(row)
	case layout.RowSession, layout.RowObjects, layout.RowEndedIndex:
		ok = behind == id
	case layout.RowObject:
		_, ok = layout.CutObjectRow(row)
	case layout.RowEnded, layout.RowKeyed:
		ok = behind == number
	case layout.RowWindow:
		ok = behind == id+number
	case layout.RowRequest:
		ok = behind == id+2*number
	case layout.RowTombstone:
		_, _, ok = layout.CutTombstoneRow(row)
	case layout.RowPolicy, layout.RowAuthBinding, layout.RowProvider:
		ok = behind > 0
	case layout.RowTokenHash:
		ok = behind == sha256.Size
	case layout.RowToken:
		ok = behind == id
	case layout.RowIdempotency:
		_, _, ok = layout.CutEscaped(row[1:])
	case layout.RowLimits, layout.RowSweep, layout.RowAuth:
		ok = behind == 0
	default:
		ok = catalogNamed(row)
	}
	return ok
}

// catalogNamed is rowNamed for the rows of the catalog.
func catalogNamed(row []byte) bool {
	const number, id = 8, len(layout.SessionID{})
	ok := false
	switch row[0] {
	case layout.RowNode, layout.RowNodeTally:
		ok = len(row) > 1
	case layout.RowNodeID, layout.RowQuery:
		ok = len(row) == 1+id
	case layout.RowQueryName:
		ok = true // A query that every name runs has an empty one.
	case layout.RowService, layout.RowCheck:
		var node, entry string
		node, entry, ok = layout.CutEntryRow(row)
		ok = ok && node != "" && entry != ""
	case layout.RowInstance:
		var service, node, entry string
		service, node, entry, ok = layout.CutInstanceRow(row)
		ok = ok && service != "" && node != "" && entry != ""
	case layout.RowBinding, layout.RowEndMark:
		var s layout.Subject
		var rest []byte
		s, rest, ok = layout.CutSubjectRow(row)
		ok = ok && s.Node != "" && (row[0] == layout.RowBinding && len(rest) == id || row[0] == layout.RowEndMark && len(rest) == number)
	}
	return ok
}

// recordNamed says whether the ids of sessions in a record are ids.
func recordNamed(r layout.Record) bool {
	is := func(id []byte) bool { return len(id) == len(layout.SessionID{}) }
	perhaps := func(id []byte) bool { return len(id) == 0 || is(id) }
	switch r := r.(type) {
	case *storev1.HoldRecord:
		return is(r.GetSessionId())
	case *storev1.WaiterRecord:
		return is(r.GetSessionId())
	case *storev1.EndedSessionRecord:
		return is(r.GetSessionId())
	case *storev1.KeyRecord:
		return perhaps(r.GetBoundSessionId())
	case *storev1.LockHead:
		return perhaps(r.GetExclusiveSessionId())
	case *storev1.NodeRecord:
		return is(r.GetNode().GetNodeId())
	case *storev1.SessionRecord:
		return perhaps(r.GetNodeId())
	case *storev1.EndMarkRecord:
		return perhaps(r.GetAfterSessionId())
	case *storev1.QueryRecord:
		return perhaps(r.GetQuery().GetSessionId())
	default:
		return true
	}
}

// valueSized says whether the value of a row that is no record has the size of one.
func valueSized(row, value []byte) bool {
	switch row[0] {
	case layout.RowObjects:
		_, size := binary.Uvarint(value)
		return size == len(value) && size > 0
	case layout.RowEndedIndex:
		return len(value) == 8
	case layout.RowDelay:
		return len(value) == layout.DelayHeadBytes
	case layout.RowQueuePart:
		return len(value) == 16 || len(value) == 48 // The latter from version 2 on.
	case layout.RowWait:
		return len(value) == len(layout.SessionID{})+8
	case layout.RowObject:
		o, _ := layout.CutObjectRow(row)
		if o.Kind == layout.ObjectEphemeral || o.Kind == layout.ObjectQuery {
			return len(value) == 0
		}
		return len(value) == 8
	case layout.RowUngranted, layout.RowBlocked, layout.RowTombstone, layout.RowInstance, layout.RowBinding:
		return len(value) == 0
	case layout.RowNodeID:
		return len(value) > 0
	case layout.RowQueryName:
		_, _, ok := layout.CutQueryNameValue(value)
		return ok
	case layout.RowTokenHash:
		return len(value) == len(layout.SessionID{})
	case layout.RowUnmoved:
		return len(value) == 1
	case layout.RowKeyBrief, layout.RowPlaceBrief:
		return false // Its record was looked for before.
	default:
		return true
	}
}
