package machine

import (
	"bytes"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/requests"
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

// compactBounds returns how many events, and how many bytes of them, a Compact takes off the disk.
func (c memoryVerbs) compactBounds(m *storev1.Compact) (events int, size uint64) {
	events, size = compactEventsMax, compactBytesMax
	if c.state.ClusterVersion < layout.Version2 {
		events, size = compactEventsMax1, math.MaxUint64
	}
	if asked := int(m.GetEventsMax()); asked > 0 {
		events = min(events, asked)
	}
	return events, size
}

// compact forgets history at or below a revision. All of it is forgotten at once; how much of it leaves the disk with
// this command is bounded, and the rest goes with the next ones, which may name the same revision.
func (c memoryVerbs) compact(m *storev1.Compact) (*storev1.Result, error) {
	if m.GetRevision() > c.state.Revision {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REVISION_FUTURE,
			storev1.FailureDetail_FAILURE_DETAIL_REVISION_AHEAD, m.GetRevision(), c.state.Revision)
		f.Failure.Actual = c.state.Revision
		return nil, f
	}
	if m.GetRevision() < c.state.CompactedRevision {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REVISION_COMPACTED,
			storev1.FailureDetail_FAILURE_DETAIL_REVISION_FORGOTTEN, m.GetRevision(), c.state.CompactedRevision)
		f.Failure.Actual = c.state.CompactedRevision
		return nil, f
	}
	c.state.CompactedRevision = m.GetRevision()
	old, more, err := c.oldEvents(c.compactBounds(m))
	if err != nil {
		return nil, err
	}
	for _, t := range old {
		c.rows.RemoveSized(t.row, t.size)
		c.state.HistoryBytes -= t.size
		if err = c.forgetLock(t.event); err != nil {
			return nil, err
		}
		c.state.TrimmedRevision = t.event.GetRevision() - 1
	}
	if !more {
		c.state.TrimmedRevision = c.state.CompactedRevision
	}
	excess, err := c.compactMemory()
	if err != nil {
		return nil, err
	}
	return &storev1.Result{Kind: &storev1.Result_Compact{Compact: &storev1.CompactResult{
		CompactedRevision: c.state.CompactedRevision,
		More:              more || excess,
	}}}, nil
}

// oldEvents returns the first forgotten events that are still on disk, until they are so many or so large, and whether there
// are more.
func (c memoryVerbs) oldEvents(most int, bytesMax uint64) (old []trimmed, more bool, err error) {
	from := layout.HistoryRow(c.state.TrimmedRevision+1, 0)
	to := layout.HistoryRow(c.state.CompactedRevision+1, 0)
	if bytes.Compare(from, to) >= 0 {
		return nil, false, nil
	}
	read := uint64(0)
	err = c.rows.Scan(from, to, func(row, value []byte) (bool, error) {
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
func (c memoryVerbs) forgetLock(e *storev1.Event) error {
	key, ok := lockOf(e)
	if !ok {
		return nil
	}
	n := layout.Name{NS: e.GetNamespaceId(), Key: key}
	head, err := records.LockHead(c.rows, n)
	if err != nil || head == nil {
		return err
	}
	if !records.IsIdle(head) || head.GetModRevision() > c.state.CompactedRevision {
		return nil
	}
	exists, err := c.rows.View(layout.NameRow(layout.RowKey, n), func([]byte) error { return nil })
	if err != nil || exists {
		return err
	}
	c.rows.Remove(layout.NameRow(layout.RowLock, n))
	return nil
}

// lockOf returns the key of an event behind which a lock may have nothing left.
func lockOf(e *storev1.Event) (string, bool) {
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

// compactMemory forgets request windows that were over when history was forgotten last, and what is above the limits. It reports
// whether it left some.
func (c memoryVerbs) compactMemory() (more bool, err error) {
	if c.state.ClusterVersion < layout.Version2 {
		_, more, err = c.keeper.DropTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), requests.TombstonesDroppedMax1)
		return more, err
	}
	windows := requests.ForgetStint()
	parts := []func() (bool, error){
		func() (bool, error) {
			return c.keeper.ForgetTombstones(layout.NumberRow(layout.RowTombstone, c.state.CompactedRevision+1), 0, windows)
		},
		func() (bool, error) { return c.keeper.ForgetTombstonesAbove(windows) },
		func() (bool, error) { return c.sessions.forgetEnded(requests.ForgetStint()) },
		func() (bool, error) { return c.keeper.ForgetKeyed(requests.ForgetStint()) },
	}
	for _, part := range parts {
		left, err := part()
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}
