package layout

import (
	"encoding/binary"
	"fmt"
	"strconv"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// RowText returns a row as text. It refuses a row that this program does not know.
func RowText(row, value []byte) (string, error) {
	if r := RecordOf(row[0]); r != nil {
		if err := Decode(value, r); err != nil {
			return "", err
		}
		return RowName(row) + " " + FormatMessage(r), nil
	}
	switch row[0] {
	case RowObjects:
		n, _ := binary.Uvarint(value)
		return RowName(row) + " " + strconv.FormatUint(n, 10), nil
	case RowDelay:
		text, err := dumpDelayed(value)
		return RowName(row) + " " + text, err
	case RowKeyBrief:
		text, err := dumpBrief(value, &storev1.KeyRecord{})
		return RowName(row) + " " + text, err
	case RowPlaceBrief:
		text, err := dumpBrief(value, &storev1.WaiterRecord{})
		return RowName(row) + " " + text, err
	case RowBlocked, RowSweep, RowQueuePart, RowEndedIndex, RowUngranted, RowObject, RowWait, RowKeyed, RowTombstone,
		RowUnmoved, RowNodeID, RowInstance, RowBinding, RowTokenHash, RowQueryName:
		return fmt.Sprintf("%s %x", RowName(row), value), nil
	default:
		return "", fmt.Errorf("%w: row %x", ErrUnknownFormat, row)
	}
}

// dumpDelayed returns the value of a delayed hold's row as text.
func dumpDelayed(value []byte) (string, error) {
	d, err := CutDelayedRow(value)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%x", value[:DelayHeadBytes])
	if len(d.Record) == 0 {
		return text, nil
	}
	h := &storev1.HoldRecord{}
	if err = Decode(d.Record, h); err != nil {
		return "", err
	}
	return text + " " + FormatMessage(h), nil
}

// dumpBrief returns the value of a brief's row as text.
func dumpBrief(value []byte, r Record) (string, error) {
	b, err := CutBrief(value)
	if err != nil {
		return "", err
	}
	if err = Decode(b.Record, r); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d %s", b.RowBytes, b.ValueBytes, FormatMessage(r)), nil
}

// RecordOf returns an empty record of the kind that a row holds; nil for rows that hold something simpler.
func RecordOf(kind byte) Record {
	switch kind {
	case RowApplied:
		return &storev1.AppliedRecord{}
	case RowKey:
		return &storev1.KeyRecord{}
	case RowLock:
		return &storev1.LockHead{}
	case RowHold:
		return &storev1.HoldRecord{}
	case RowPlace:
		return &storev1.WaiterRecord{}
	case RowSession:
		return &storev1.SessionRecord{}
	case RowEnded:
		return &storev1.EndedSessionRecord{}
	case RowHistory:
		return &storev1.HistoryRecord{}
	case RowRequest, RowIdempotency:
		return &storev1.RequestRecord{}
	case RowWindow:
		return &storev1.RequestWindowRecord{}
	case RowLimits:
		return &storev1.LimitsRecord{}
	case RowMember:
		return &storev1.MemberRecord{}
	case RowRemoved:
		return &storev1.RemovedMemberRecord{}
	case RowFreeze:
		return &storev1.FreezeRecord{}
	case RowJoinToken:
		return &storev1.JoinTokenRecord{}
	case RowNode:
		return &storev1.NodeRecord{}
	case RowService:
		return &storev1.ServiceRecord{}
	case RowCheck:
		return &storev1.CheckRecord{}
	case RowNodeTally:
		return &storev1.NodeTally{}
	case RowEndMark:
		return &storev1.EndMarkRecord{}
	case RowQuery:
		return &storev1.QueryRecord{}
	default:
		return authRecordOf(kind)
	}
}

// authRecordOf returns an empty record of a row that says who may do what; nil for other rows.
func authRecordOf(kind byte) Record {
	switch kind {
	case RowAuth:
		return &storev1.AuthRecord{}
	case RowPolicy:
		return &storev1.PolicyRecord{}
	case RowToken:
		return &storev1.TokenRecord{}
	case RowAuthBinding:
		return &storev1.BindingRecord{}
	case RowProvider:
		return &storev1.ProviderRecord{}
	default:
		return nil
	}
}

// RowName returns what a row is and what it is about.
func RowName(row []byte) string {
	kind := string(row[:1])
	switch row[0] {
	case RowKey, RowLock, RowUngranted, RowBlocked, RowUnmoved, RowKeyBrief:
		if n, ok := CutNameRow(row); ok {
			return fmt.Sprintf("%s %d %q", kind, n.NS, n.Key)
		}
	case RowHold, RowPlace, RowQueuePart, RowDelay, RowWait, RowPlaceBrief:
		if n, number, ok := CutNumberedRow(row); ok {
			return fmt.Sprintf("%s %d %q %d", kind, n.NS, n.Key, number)
		}
	case RowSession, RowObjects, RowEndedIndex, RowQuery:
		if id, ok := CutSessionRow(row); ok {
			return kind + " " + id.String()
		}
	case RowObject:
		if o, ok := CutObjectRow(row); ok && o.Kind == ObjectQuery {
			return fmt.Sprintf("%s %s %c %s", kind, SessionID(row[1:17]), o.Kind, o.Query)
		} else if ok {
			return fmt.Sprintf("%s %s %c %d %q %q", kind, SessionID(row[1:17]), o.Kind, o.Name.NS, o.Name.Key, o.Owner)
		}
	case RowJoinToken:
		return fmt.Sprintf("%s %q", kind, row[1:])
	case RowNode, RowNodeTally, RowQueryName:
		return fmt.Sprintf("%s %q", kind, row[1:])
	case RowService, RowCheck:
		if node, id, ok := CutEntryRow(row); ok {
			return fmt.Sprintf("%s %q %q", kind, node, id)
		}
	case RowInstance:
		if service, node, id, ok := CutInstanceRow(row); ok {
			return fmt.Sprintf("%s %q %q %q", kind, service, node, id)
		}
	case RowBinding:
		if s, rest, ok := CutSubjectRow(row); ok && len(rest) == len(SessionID{}) {
			return fmt.Sprintf("%s %q %q %s", kind, s.Node, s.Check, SessionID(rest))
		}
	case RowEndMark:
		if s, rest, ok := CutSubjectRow(row); ok && len(rest) == 8 {
			return fmt.Sprintf("%s %q %q %d", kind, s.Node, s.Check, binary.BigEndian.Uint64(rest))
		}
	case RowHistory:
		if revision, index, ok := CutHistoryRow(row); ok {
			return fmt.Sprintf("%s %d.%d", kind, revision, index)
		}
	}
	return fmt.Sprintf("%s %x", kind, row[1:])
}
