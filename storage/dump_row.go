package storage

import (
	"encoding/binary"
	"fmt"
	"strconv"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// dumpRow returns a row as text. It refuses a row that this program does not know.
func dumpRow(row, value []byte) (string, error) {
	if r := recordOf(row[0]); r != nil {
		if err := layout.Decode(value, r); err != nil {
			return "", err
		}
		return dumpName(row) + " " + layout.FormatMessage(r), nil
	}
	switch row[0] {
	case layout.RowObjects:
		n, _ := binary.Uvarint(value)
		return dumpName(row) + " " + strconv.FormatUint(n, 10), nil
	case layout.RowDelay:
		text, err := dumpDelayed(value)
		return dumpName(row) + " " + text, err
	case layout.RowBlocked, layout.RowSweep, layout.RowQueuePart, layout.RowEndedIndex, layout.RowUngranted, layout.RowObject, layout.RowWait, layout.RowKeyed, layout.RowTombstone,
		layout.RowUnmoved:
		return fmt.Sprintf("%s %x", dumpName(row), value), nil
	default:
		return "", fmt.Errorf("%w: row %x", ErrUnknownFormat, row)
	}
}

// dumpDelayed returns the value of a delayed hold's row as text.
func dumpDelayed(value []byte) (string, error) {
	d, err := cutDelayedRow(value)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%x", value[:delayHeadBytes])
	if len(d.record) == 0 {
		return text, nil
	}
	h := &storev1.HoldRecord{}
	if err = layout.Decode(d.record, h); err != nil {
		return "", err
	}
	return text + " " + layout.FormatMessage(h), nil
}

// recordOf returns an empty record of the kind that a row holds; nil for rows that hold something simpler.
func recordOf(kind byte) layout.Record {
	switch kind {
	case layout.RowApplied:
		return &storev1.AppliedRecord{}
	case layout.RowKey:
		return &storev1.KeyRecord{}
	case layout.RowLock:
		return &storev1.LockHead{}
	case layout.RowHold:
		return &storev1.HoldRecord{}
	case layout.RowPlace:
		return &storev1.WaiterRecord{}
	case layout.RowSession:
		return &storev1.SessionRecord{}
	case layout.RowEnded:
		return &storev1.EndedSessionRecord{}
	case layout.RowHistory:
		return &storev1.HistoryRecord{}
	case layout.RowRequest, layout.RowIdempotency:
		return &storev1.RequestRecord{}
	case layout.RowWindow:
		return &storev1.RequestWindowRecord{}
	case layout.RowLimits:
		return &storev1.LimitsRecord{}
	case layout.RowMember:
		return &storev1.MemberRecord{}
	case layout.RowRemoved:
		return &storev1.RemovedMemberRecord{}
	case layout.RowFreeze:
		return &storev1.FreezeRecord{}
	case layout.RowJoinToken:
		return &storev1.JoinTokenRecord{}
	default:
		return nil
	}
}

// dumpName returns what a row is and what it is about.
func dumpName(row []byte) string {
	kind := string(row[:1])
	switch row[0] {
	case layout.RowKey, layout.RowLock, layout.RowUngranted, layout.RowBlocked, layout.RowUnmoved:
		if n, ok := layout.CutNameRow(row); ok {
			return fmt.Sprintf("%s %d %q", kind, n.NS, n.Key)
		}
	case layout.RowHold, layout.RowPlace, layout.RowQueuePart, layout.RowDelay, layout.RowWait:
		if n, number, ok := layout.CutNumberedRow(row); ok {
			return fmt.Sprintf("%s %d %q %d", kind, n.NS, n.Key, number)
		}
	case layout.RowSession, layout.RowObjects, layout.RowEndedIndex:
		if id, ok := layout.CutSessionRow(row); ok {
			return kind + " " + id.String()
		}
	case layout.RowObject:
		if o, ok := layout.CutObjectRow(row); ok {
			return fmt.Sprintf("%s %s %c %d %q %q", kind, SessionID(row[1:17]), o.Kind, o.Name.NS, o.Name.Key, o.Owner)
		}
	case layout.RowJoinToken:
		return fmt.Sprintf("%s %q", kind, row[1:])
	case layout.RowHistory:
		if revision, index, ok := layout.CutHistoryRow(row); ok {
			return fmt.Sprintf("%s %d.%d", kind, revision, index)
		}
	}
	return fmt.Sprintf("%s %x", kind, row[1:])
}
