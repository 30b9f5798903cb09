package storage

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Dump writes all that must be equal on every member that applied the same entries, one row a line, as text. It is for
// people and tests; nothing reads it back.
func (s *Store) Dump(w io.Writer) error {
	r := s.NewReader()
	err := r.Dump(w)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Dump is Store's, of the snapshot.
func (r *Reader) Dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := r.rows.scan([]byte{0}, nil, func(row, value []byte) (bool, error) {
		line, err := dumpRow(row, value)
		if err != nil {
			return false, err
		}
		_, err = out.WriteString(line + "\n")
		return true, err
	})
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// dumpRow returns a row as text. It refuses a row that this program does not know.
func dumpRow(row, value []byte) (string, error) {
	if r := recordOf(row[0]); r != nil {
		if err := decode(value, r); err != nil {
			return "", err
		}
		return dumpName(row) + " " + formatMessage(r), nil
	}
	switch row[0] {
	case rowObjects:
		n, _ := binary.Uvarint(value)
		return dumpName(row) + " " + strconv.FormatUint(n, 10), nil
	case rowDelay:
		text, err := dumpDelayed(value)
		return dumpName(row) + " " + text, err
	case rowBlocked, rowSweep, rowQueuePart, rowEndedIndex, rowUngranted, rowObject, rowWait, rowKeyed, rowTombstone,
		rowUnmoved:
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
	if err = decode(d.record, h); err != nil {
		return "", err
	}
	return text + " " + formatMessage(h), nil
}

// recordOf returns an empty record of the kind that a row holds; nil for rows that hold something simpler.
func recordOf(kind byte) record {
	switch kind {
	case rowApplied:
		return &storev1.AppliedRecord{}
	case rowKey:
		return &storev1.KeyRecord{}
	case rowLock:
		return &storev1.LockHead{}
	case rowHold:
		return &storev1.HoldRecord{}
	case rowPlace:
		return &storev1.WaiterRecord{}
	case rowSession:
		return &storev1.SessionRecord{}
	case rowEnded:
		return &storev1.EndedSessionRecord{}
	case rowHistory:
		return &storev1.HistoryRecord{}
	case rowRequest, rowIdempotency:
		return &storev1.RequestRecord{}
	case rowWindow:
		return &storev1.RequestWindowRecord{}
	case rowLimits:
		return &storev1.LimitsRecord{}
	case rowMember:
		return &storev1.MemberRecord{}
	case rowRemoved:
		return &storev1.RemovedMemberRecord{}
	case rowFreeze:
		return &storev1.FreezeRecord{}
	case rowJoinToken:
		return &storev1.JoinTokenRecord{}
	default:
		return nil
	}
}

// dumpName returns what a row is and what it is about.
func dumpName(row []byte) string {
	kind := string(row[:1])
	switch row[0] {
	case rowKey, rowLock, rowUngranted, rowBlocked, rowUnmoved:
		if n, ok := cutNameRow(row); ok {
			return fmt.Sprintf("%s %d %q", kind, n.ns, n.key)
		}
	case rowHold, rowPlace, rowQueuePart, rowDelay, rowWait:
		if n, number, ok := cutNumberedRow(row); ok {
			return fmt.Sprintf("%s %d %q %d", kind, n.ns, n.key, number)
		}
	case rowSession, rowObjects, rowEndedIndex:
		if id, ok := cutSessionRow(row); ok {
			return kind + " " + id.String()
		}
	case rowObject:
		if o, ok := cutObjectRow(row); ok {
			return fmt.Sprintf("%s %s %c %d %q %q", kind, SessionID(row[1:17]), o.kind, o.name.ns, o.name.key, o.owner)
		}
	case rowJoinToken:
		return fmt.Sprintf("%s %q", kind, row[1:])
	case rowHistory:
		if revision, index, ok := cutHistoryRow(row); ok {
			return fmt.Sprintf("%s %d.%d", kind, revision, index)
		}
	}
	return fmt.Sprintf("%s %x", kind, row[1:])
}
