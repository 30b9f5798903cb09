package server_test

import (
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// TestAWaitThatIsFarEndsWithWhatIsKnown asks again for a place that is gone, when history does not tell why any more.
func TestAWaitThatIsFarEndsWithWhatIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		end     func(m *member, holder, id string) error
		cause   tenurev1.WaitEndCause
		reason  string
		holders uint32
	}{
		"the session ended": {
			end: func(m *member, _, id string) error {
				_, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id})
				return err
			},
			cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED, holders: 1,
		},
		"an operator ended the session": {
			end: func(m *member, _, id string) error {
				_, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id, Force: true, Reason: "stuck"})
				return err
			},
			cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED, reason: "stuck", holders: 1,
		},
		"the lock was granted and broken": {
			end: func(m *member, holder, id string) error {
				_, err := m.ReleaseLock(t.Context(), &tenurev1.ReleaseLockRequest{Key: "k", SessionId: holder})
				if err == nil {
					_, err = m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{Key: "k", SessionId: id, Reason: "stuck"})
				}
				return err
			},
			reason: "granted, and lost again",
		},
		"the wait was cancelled, which nothing tells": {
			end: func(m *member, _, id string) error {
				_, err := m.CancelWait(t.Context(), &tenurev1.CancelWaitRequest{Key: "k", SessionId: id})
				return err
			},
			reason: "the place is gone", holders: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := storage.NewMemFS()
			onFS := func(c *server.Config) { c.FS = fs }
			m := start(t, onFS)
			holder, id := m.openSession(t, "holder"), m.openSession(t, "waits")
			m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: holder}).ended()
			request := &tenurev1.AcquireLockRequest{Key: "k", SessionId: id, Options: &tenurev1.CallOptions{
				Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1},
			}}
			if m.acquire(t, request).next().GetQueued() == nil {
				t.Fatal("not queued")
			}
			now, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "other"})
			if err != nil {
				t.Fatal(err)
			}
			if err = tc.end(m, holder, id); err != nil {
				t.Fatal(err)
			}
			// What is remembered of an ended session's requests goes when the revision of its end is forgotten.
			_, err = m.Compact(t.Context(), &tenurev1.CompactRequest{Revision: now.GetHeader().GetRevision()})
			if err != nil {
				t.Fatal(err)
			}
			// What the member still had in memory goes with it.
			m.stop()
			if err = m.wait(); err != nil {
				t.Fatal(err)
			}
			m = start(t, onFS)
			got := m.acquire(t, request).ended().GetRejected()
			if got == nil || got.GetCause() != tc.cause || got.GetLock().GetHolders() != tc.holders ||
				!strings.Contains(got.GetReason(), tc.reason) || (got.GetReason() == "") != (tc.reason == "") {
				t.Errorf("got %v, want cause %v, reason %q and %d that hold", got, tc.cause, tc.reason, tc.holders)
			}
		})
	}
}
