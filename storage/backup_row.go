package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// errRow means that a row of a backup cannot be one of a store.
var errRow = errors.New("it cannot be what a store wrote")

// checkRow refuses a row, or its value, that no store wrote.
func checkRow(row, value []byte) error {
	if !rowNamed(row) {
		return fmt.Errorf("%w: its name", errRow)
	}
	r, record := recordOf(row[0]), value
	if row[0] == rowDelay && len(value) > delayHeadBytes {
		r, record = &storev1.HoldRecord{}, value[delayHeadBytes:]
	}
	switch {
	case r != nil:
		if err := decode(record, r); err != nil {
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
	const number, id = 8, len(SessionID{})
	behind := len(row) - 1
	ok := false
	switch row[0] {
	case rowKey, rowLock, rowUngranted, rowBlocked, rowUnmoved:
		var n name
		n, ok = cutNameRow(row)
		ok = ok && n.key != ""
	case rowHold, rowPlace, rowQueuePart, rowDelay, rowWait:
		_, _, ok = cutNumberedRow(row)
	case rowSession, rowObjects, rowEndedIndex:
		ok = behind == id
	case rowObject:
		_, ok = cutObjectRow(row)
	case rowEnded, rowKeyed:
		ok = behind == number
	case rowWindow:
		ok = behind == id+number
	case rowRequest:
		ok = behind == id+2*number
	case rowTombstone:
		_, _, ok = cutTombstoneRow(row)
	case rowIdempotency:
		_, _, ok = cutEscaped(row[1:])
	case rowLimits, rowSweep:
		ok = behind == 0
	}
	return ok
}

// recordNamed says whether the ids of sessions in a record are ids.
func recordNamed(r record) bool {
	is := func(id []byte) bool { return len(id) == len(SessionID{}) }
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
	default:
		return true
	}
}

// valueSized says whether the value of a row that is no record has the size of one.
func valueSized(row, value []byte) bool {
	switch row[0] {
	case rowObjects:
		_, size := binary.Uvarint(value)
		return size == len(value) && size > 0
	case rowEndedIndex:
		return len(value) == 8
	case rowDelay:
		return len(value) == delayHeadBytes
	case rowQueuePart:
		return len(value) == 16
	case rowWait:
		return len(value) == len(SessionID{})+8
	case rowObject:
		o, _ := cutObjectRow(row)
		return o.kind == objectEphemeral && len(value) == 0 || o.kind != objectEphemeral && len(value) == 8
	case rowUngranted, rowBlocked, rowTombstone:
		return len(value) == 0
	case rowUnmoved:
		return len(value) == 1
	default:
		return true
	}
}
