package history

import (
	"bytes"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
)

const (
	// compactEventsMax is how many events one Compact takes off the disk, whatever it asks for; compactEventsMax1 was it under
	// version 1.
	compactEventsMax  = 4096
	compactEventsMax1 = 10_000
	// compactBytesMax is how many bytes of events one Compact reads before it leaves the rest, but for the last event. Version 1
	// had no bound.
	compactBytesMax = 16 << 20
)

// trimmed is an event that Compact takes off the disk.
type trimmed struct {
	row   []byte
	size  uint64
	event *storev1.Event // nothing of a KeyPut, whose value may be large, but its revision
}

// bounds returns how many events, and how many bytes of them, a Compact takes off the disk.
func (l Log) bounds(m *storev1.Compact) (events int, size uint64) {
	events, size = compactEventsMax, compactBytesMax
	if l.State.ClusterVersion < layout.Version2 {
		events, size = compactEventsMax1, math.MaxUint64
	}
	if asked := int(m.GetEventsMax()); asked > 0 {
		events = min(events, asked)
	}
	return events, size
}

// Compact forgets history at or below a revision. All of it is forgotten at once; how much of it leaves the disk with this command is
// bounded, and more reports whether some is left for the next ones, which may name the same revision.
func (l Log) Compact(m *storev1.Compact) (more bool, err error) {
	if m.GetRevision() > l.State.Revision {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REVISION_FUTURE,
			storev1.FailureDetail_FAILURE_DETAIL_REVISION_AHEAD, m.GetRevision(), l.State.Revision)
		f.Failure.Actual = l.State.Revision
		return false, f
	}
	if m.GetRevision() < l.State.CompactedRevision {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REVISION_COMPACTED,
			storev1.FailureDetail_FAILURE_DETAIL_REVISION_FORGOTTEN, m.GetRevision(), l.State.CompactedRevision)
		f.Failure.Actual = l.State.CompactedRevision
		return false, f
	}
	l.State.CompactedRevision = m.GetRevision()
	old, more, err := l.oldEvents(l.bounds(m))
	if err != nil {
		return false, err
	}
	for _, t := range old {
		l.Rows.RemoveSized(t.row, t.size)
		l.State.HistoryBytes -= t.size
		if err = l.forgetLock(t.event); err != nil {
			return false, err
		}
		l.State.TrimmedRevision = t.event.GetRevision() - 1
	}
	if !more {
		l.State.TrimmedRevision = l.State.CompactedRevision
	}
	return more, nil
}

// oldEvents returns the first forgotten events that are still on disk, until they are so many or so large, and whether there
// are more.
func (l Log) oldEvents(most int, bytesMax uint64) (old []trimmed, more bool, err error) {
	from := layout.HistoryRow(l.State.TrimmedRevision+1, 0)
	to := layout.HistoryRow(l.State.CompactedRevision+1, 0)
	if bytes.Compare(from, to) >= 0 {
		return nil, false, nil
	}
	read := uint64(0)
	err = l.Rows.Scan(from, to, func(row, value []byte) (bool, error) {
		if len(old) >= most || read >= bytesMax {
			more = true
			return false, nil
		}
		event, eventErr := decodeTrimmed(value)
		if eventErr != nil {
			return false, fmt.Errorf("history: %w", eventErr)
		}
		size := uint64(len(row) + len(value))
		read += size
		old = append(old, trimmed{row: bytes.Clone(row), size: size, event: event})
		return true, nil
	})
	return old, more, err
}

// The numbers of the fields that lead to a KeyPut in a record of history.
const (
	historyEventField = 2
	eventKeyPutField  = 8
)

// decodeTrimmed reads the event of a record of history without its KeyPut.
func decodeTrimmed(value []byte) (*storev1.Event, error) {
	outer, inner, err := layout.WithoutField(value, historyEventField)
	if err != nil {
		return nil, err
	}
	if err = layout.Decode(outer, &storev1.HistoryRecord{}); err != nil {
		return nil, err
	}
	short, _, err := layout.WithoutField(inner, eventKeyPutField)
	if err != nil {
		return nil, err
	}
	e := &storev1.Event{}
	if err = proto.Unmarshal(short, e); err != nil {
		return nil, fmt.Errorf("%w: event: %w", layout.ErrCorrupt, err)
	}
	return e, nil
}

// forgetLock forgets the lock that an event is about, if nothing is left of it and its last change is forgotten too.
func (l Log) forgetLock(e *storev1.Event) error {
	key, ok := LockOf(e)
	if !ok {
		return nil
	}
	n := layout.Name{NS: e.GetNamespaceId(), Key: key}
	head, err := records.LockHead(l.Rows, n)
	if err != nil || head == nil {
		return err
	}
	if !records.IsIdle(head) || head.GetModRevision() > l.State.CompactedRevision {
		return nil
	}
	exists, err := l.Rows.View(layout.NameRow(layout.RowKey, n), func([]byte) error { return nil })
	if err != nil || exists {
		return err
	}
	l.Rows.Remove(layout.NameRow(layout.RowLock, n))
	return nil
}

// LockOf returns the key of an event behind which a lock may have nothing left.
func LockOf(e *storev1.Event) (string, bool) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyDeleted:
		return kind.KeyDeleted.GetKey(), true
	case *storev1.Event_LockLeft:
		return kind.LockLeft.GetKey(), true
	case *storev1.Event_LockReleased:
		return kind.LockReleased.GetKey(), true
	case *storev1.Event_LockLost:
		return kind.LockLost.GetKey(), true
	case *storev1.Event_LockDelayEnded:
		return kind.LockDelayEnded.GetKey(), true
	default:
		return "", false
	}
}
