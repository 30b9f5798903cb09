package machine

import (
	"google.golang.org/protobuf/encoding/protowire"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/history"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// verify checks what must hold after a command that was not refused. It is called only where invariants are enabled.
func (c *command) verify(before layout.Applied) error {
	verifyCounts(before, c.state)
	for i, e := range c.events {
		invariants.That(e.GetIndex() == uint32(i) && e.GetCount() == uint32(len(c.events)),
			"event %d of %d says that it is event %d of %d", i, len(c.events), e.GetIndex(), e.GetCount())
		invariants.That(e.GetRevision() == before.Revision+1,
			"an event has revision %d, the one before was %d", e.GetRevision(), before.Revision)
	}
	invariants.That(len(c.touched) == 0, "%d locks have waiters that were not looked at", len(c.touched))
	if err := c.verifyBriefs(); err != nil {
		return err
	}
	seen := map[layout.Name]bool{}
	for _, e := range c.events {
		if g := e.GetLockGranted(); g != nil {
			invariants.That(g.GetPlace() < e.GetRevision(), "place %d is granted in revision %d", g.GetPlace(), e.GetRevision())
		}
		key, ok := lockSubject(e)
		n := layout.Name{NS: e.GetNamespaceId(), Key: key}
		if !ok || seen[n] || len(seen) >= records.VerifiedMax {
			continue
		}
		seen[n] = true
		if err := records.VerifyLock(c.rows, n); err != nil {
			return err
		}
	}
	return nil
}

// verifyCounts checks the account of the state after a command against the one before.
func verifyCounts(before, now layout.Applied) {
	for what, n := range map[string]uint64{
		"live sessions": now.Sessions, "keys": now.Keys, "bytes of live keys": now.LiveBytes, "bytes of history": now.HistoryBytes,
		"bytes of ended request windows": now.TombstoneBytes, "bytes of idempotency keys": now.KeyedBytes,
		"locks with grants left": now.GrantsLeft,
	} {
		invariants.That(n < 1<<63, "the number of %s fell below zero: %d", what, int64(n))
	}
	invariants.That(now.Revision == before.Revision || now.Revision == before.Revision+1,
		"one command moved the revision from %d to %d", before.Revision, now.Revision)
	invariants.That(now.CompactedRevision >= before.CompactedRevision && now.CompactedRevision <= now.Revision,
		"compacted up to %d, before %d, of revision %d", now.CompactedRevision, before.CompactedRevision, now.Revision)
	invariants.That(now.TrimmedRevision >= before.TrimmedRevision && now.TrimmedRevision <= now.CompactedRevision,
		"trimmed up to %d, before %d, compacted up to %d", now.TrimmedRevision, before.TrimmedRevision, now.CompactedRevision)
	invariants.That(now.EndedSessions >= before.EndedSessions, "ended sessions went from %d to %d", before.EndedSessions, now.EndedSessions)
	invariants.That(now.EndedForgotten >= before.EndedForgotten && now.EndedForgotten <= now.EndedSessions,
		"%d of %d ended sessions are forgotten, before %d", now.EndedForgotten, now.EndedSessions, before.EndedForgotten)
	invariants.That(now.KeyedForgotten >= before.KeyedForgotten && now.KeyedForgotten <= now.KeyedRequests,
		"%d of %d idempotency keys are forgotten, before %d", now.KeyedForgotten, now.KeyedRequests, before.KeyedForgotten)
	invariants.That(now.ClusterVersion >= before.ClusterVersion, "the cluster version fell from %d to %d", before.ClusterVersion, now.ClusterVersion)
	invariants.That(now.ClusterID == before.ClusterID && now.HistoryID == before.HistoryID, "a command changed the names of the cluster")
}

// verifyBriefs checks the briefs of keys that a command wrote or deleted, and of places that it made, against their rows.
func (c *command) verifyBriefs() error {
	for _, e := range c.events[:min(len(c.events), records.VerifiedMax)] {
		n := layout.Name{NS: e.GetNamespaceId()}
		var err error
		switch kind := e.GetKind().(type) {
		case *storev1.Event_KeyPut:
			n.Key = kind.KeyPut.GetKey()
			err = c.verifyBrief(layout.NameRow(layout.RowKeyBrief, n), layout.NameRow(layout.RowKey, n), layout.KeyValueField)
		case *storev1.Event_KeyDeleted:
			n.Key = kind.KeyDeleted.GetKey()
			err = c.verifyBrief(layout.NameRow(layout.RowKeyBrief, n), layout.NameRow(layout.RowKey, n), layout.KeyValueField)
		case *storev1.Event_LockQueued:
			n.Key = kind.LockQueued.GetKey()
			at, row := layout.NumberedRow(layout.RowPlaceBrief, n, kind.LockQueued.GetPlace()), layout.NumberedRow(layout.RowPlace, n, kind.LockQueued.GetPlace())
			err = c.verifyBrief(at, row, records.WaiterValueField)
		case *storev1.Event_LockLeft:
			n.Key = kind.LockLeft.GetKey()
			at, row := layout.NumberedRow(layout.RowPlaceBrief, n, kind.LockLeft.GetPlace()), layout.NumberedRow(layout.RowPlace, n, kind.LockLeft.GetPlace())
			err = c.verifyBrief(at, row, records.WaiterValueField)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyBrief checks that a row with a large value that this command may have written has its brief, and that no other has one.
func (c *command) verifyBrief(at, row []byte, field protowire.Number) error {
	got, found, err := c.readBrief(at)
	if err != nil {
		return err
	}
	value, _, err := c.rows.Get(row)
	if err != nil {
		return err
	}
	want, err := layout.BriefOf(row, value, field)
	if err != nil {
		return err
	}
	large := c.state.ClusterVersion >= layout.Version2 && want.ValueBytes >= layout.BriefValueMin
	invariants.That(found == large, "the row %q with a value of %d bytes has a brief: %v", row, want.ValueBytes, found)
	invariants.That(!found || got.RowBytes == want.RowBytes && got.ValueBytes == want.ValueBytes && string(got.Record) == string(want.Record),
		"the brief of the row %q says %v, the row %v", row, got, want)
	return nil
}

// lockSubject returns the key of an event about a lock.
func lockSubject(e *storev1.Event) (string, bool) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_LockQueued:
		return kind.LockQueued.GetKey(), true
	case *storev1.Event_LockGranted:
		return kind.LockGranted.GetKey(), true
	case *storev1.Event_LockDelayBegun:
		return kind.LockDelayBegun.GetKey(), true
	default:
		return history.LockOf(e)
	}
}
