package server_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// holdMany has a session acquire a lock so often, as SHARED, each time for another owner.
func (m *member) holdMany(t *testing.T, key, session string, holds int) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(32)
	for i := range holds {
		g.Go(func() error {
			got, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{
				Key: key, SessionId: session, Mode: tenurev1.LockMode_LOCK_MODE_SHARED,
				Options: &tenurev1.CallOptions{Owner: fmt.Sprint(i)},
			})
			if err == nil && !got.GetAcquired() {
				err = fmt.Errorf("hold %d: got %v, want it granted", i, got)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestABreakOfManyHoldsGoesOn breaks a lock with more holders than one call takes it from. What is granted meanwhile stays.
func TestABreakOfManyHoldsGoesOn(t *testing.T) {
	const holds, most = 1030, 1024
	m := start(t)
	id := m.openSession(t, "stuck")
	m.holdMany(t, "k", id, holds)
	request := &tenurev1.BreakLockRequest{
		Key: "k", Reason: "host is gone", Options: &tenurev1.CallOptions{IdempotencyKey: []byte("0123456789abcdef")},
	}
	first, err := m.BreakLock(t.Context(), request)
	if err != nil || first.GetHolds() != most || first.GetRemaining() != holds-most || first.GetBreakToken() == "" {
		t.Fatalf("got %v, %v; want %d holds broken and %d remaining", first, err, most, holds-most)
	}
	again, err := m.BreakLock(t.Context(), request)
	if err != nil || again.GetBreakToken() != first.GetBreakToken() || again.GetHolds() != most {
		t.Fatalf("the same call again: got %v, %v; want the first answer", again, err)
	}
	m.holdMany(t, "k", m.openSession(t, "late"), 1)
	for what, r := range map[string]*tenurev1.BreakLockRequest{
		"a token of another key":    {Key: "l", Reason: "host is gone", BreakToken: first.GetBreakToken()},
		"a token of another reason": {Key: "k", Reason: "no reason", BreakToken: first.GetBreakToken()},
		"a token that is none":      {Key: "k", Reason: "host is gone", BreakToken: "x"},
	} {
		if _, err = m.BreakLock(t.Context(), r); err == nil {
			t.Errorf("%s was taken", what)
			continue
		}
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	}
	rest, err := m.BreakLock(t.Context(), &tenurev1.BreakLockRequest{
		Key: "k", Reason: "host is gone", BreakToken: first.GetBreakToken(),
	})
	if err != nil || rest.GetHolds() != holds-most || rest.GetRemaining() != 0 || rest.GetBreakToken() != "" {
		t.Fatalf("got %v, %v; want the other %d holds broken and none remaining", rest, err, holds-most)
	}
	lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "k"})
	if err != nil || lock.GetLock().GetHolders() != 1 {
		t.Errorf("got %v, %v; want the one hold that was granted since", lock, err)
	}
}
