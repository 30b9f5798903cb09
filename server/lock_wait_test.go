package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

func TestWaitEndsWithItsCause(t *testing.T) {
	m := start(t)
	holder := m.openSession(t, "holder")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: holder}).ended()
	queue := func(t *testing.T, wait time.Duration) (string, acquiring) {
		t.Helper()
		id := m.openSession(t, "waiter")
		a := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: id, Wait: durationpb.New(wait)})
		if a.next().GetQueued() == nil {
			t.Fatal("not queued")
		}
		return id, a
	}
	tests := map[string]struct {
		end  func(ctx context.Context, id string) error
		wait time.Duration
		want tenurev1.WaitEndCause
	}{
		"time runs out": {
			func(context.Context, string) error { return nil }, 50 * time.Millisecond,
			tenurev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT,
		},
		"the user cancels": {func(ctx context.Context, id string) error {
			r, err := m.CancelWait(ctx, &tenurev1.CancelWaitRequest{Key: "k", SessionId: id})
			if err == nil && !r.GetCancelled() {
				return fmt.Errorf("got %v, want cancelled", r)
			}
			return err
		}, 0, tenurev1.WaitEndCause_WAIT_END_CAUSE_CANCELLED},
		"the session ends": {func(ctx context.Context, id string) error {
			_, err := m.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: id})
			return err
		}, 0, tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED},
		"an operator breaks it": {func(ctx context.Context, id string) error {
			r, err := m.BreakLock(ctx, &tenurev1.BreakLockRequest{Key: "k", SessionId: id, Reason: "maintenance"})
			if err == nil && (r.GetPlaces() != 1 || r.GetHolds() != 0) {
				return fmt.Errorf("got %v, want one place", r)
			}
			return err
		}, 0, tenurev1.WaitEndCause_WAIT_END_CAUSE_BROKEN},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			id, a := queue(t, tc.wait)
			if err := tc.end(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			got := a.ended().GetRejected()
			if got.GetCause() != tc.want || got.GetLock().GetHolds()[0].GetSessionName() != "holder" {
				t.Errorf("got %v, want cause %v and who holds", got, tc.want)
			}
		})
	}
}

func TestTryWithWaitAnswersOnce(t *testing.T) {
	m := start(t)
	alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: alice}).ended()
	late, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: bob, Wait: seconds(0.05)})
	if err != nil || late.GetAcquired() || late.GetLock().GetHolders() != 1 || late.GetLock().GetWaiters() != 0 {
		t.Errorf("got %v, %v; want that the time ran out", late, err)
	}
	answers := make(chan *tenurev1.TryAcquireLockResponse, 1)
	go func() {
		r, failed := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: bob, Wait: seconds(30)})
		if failed != nil {
			t.Error(failed)
		}
		answers <- r
	}()
	m.awaitWaiters(t, "k", 1)
	m.release(t, "k", alice)
	if r := <-answers; !r.GetAcquired() || r.GetHold().GetSequencer().GetSessionId() != bob {
		t.Errorf("got %v, want bob's hold", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, failed := m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: alice, Wait: seconds(30)})
		gone <- failed
	}()
	m.awaitWaiters(t, "k", 1)
	cancel()
	if <-gone == nil {
		t.Error("a cancelled call succeeded")
	}
	m.awaitWaiters(t, "k", 0)
	_, err = m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: alice, Wait: seconds(61)})
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
}

func TestTryOfWhoQueuesAlreadyAnswersInItsOwnTime(t *testing.T) {
	m := start(t)
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "alice")}).ended()
	bob := m.openSession(t, "bob")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: bob})
	m.awaitWaiters(t, "k", 1)
	for name, wait := range map[string]*durationpb.Duration{"at once": nil, "after a wait": seconds(0.05)} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			got, err := m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: bob, Wait: wait})
			if err != nil || got.GetAcquired() || got.GetLock().GetHolders() != 1 || got.GetLock().GetWaiters() != 1 {
				t.Errorf("got %v, %v; want that alice holds it and bob's place stays", got, err)
			}
		})
	}
}

// TestTheLastTryThatEndsGivesThePlaceUp asks again for a lock, as a client does whose connection is half dead: the later call is told that it did not get
// the lock, and the earlier one breaks.
func TestTheLastTryThatEndsGivesThePlaceUp(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := start(t, func(c *server.Config) { c.Registry = registry })
	for name, earlierBreaksFirst := range map[string]bool{"the earlier breaks last": false, "the earlier breaks first": true} {
		t.Run(name, func(t *testing.T) {
			key := strings.ReplaceAll(name, " ", "-")
			alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
			m.acquire(t, &tenurev1.AcquireLockRequest{Key: key, SessionId: alice}).ended()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			earlier := make(chan error, 1)
			go func() {
				_, failed := m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: bob, Wait: seconds(60)})
				earlier <- failed
			}()
			m.awaitWaiters(t, key, 1)
			breaks := func() {
				cancel()
				if <-earlier == nil {
					t.Error("a cancelled call succeeded")
				}
			}
			wait := 0.05
			if earlierBreaksFirst {
				wait = 2
				again := make(chan struct{})
				go func() {
					defer close(again)
					awaitGauge(t, registry, "tenure_watch_watchers", 2)
					breaks()
				}()
				defer func() { <-again }()
			}
			got, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: key, SessionId: bob, Wait: seconds(wait)})
			if err != nil || got.GetAcquired() || got.GetLock().GetHolders() != 1 {
				t.Errorf("got %v, %v; want that alice holds it", got, err)
			}
			if !earlierBreaksFirst {
				m.awaitWaiters(t, key, 1) // The earlier call waits on.
				breaks()
			}
			m.awaitWaiters(t, key, 0)
			m.release(t, key, alice)
			if got, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: key}); err == nil && got.GetLock().GetHolders() > 0 {
				t.Errorf("got %v, want that nobody holds it", got)
			}
		})
	}
}

func TestAWaitOfAgesIsLong(t *testing.T) {
	m := start(t)
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "alice")}).ended()
	const ages = 315_576_000_000 // the longest Duration
	for name, wait := range map[string]int64{"years": 9_223_372_036, "as long as can be said": ages} {
		t.Run(name, func(t *testing.T) {
			bob := m.openSession(t, "bob")
			got := m.acquire(t, &tenurev1.AcquireLockRequest{
				Key: "k", SessionId: bob, Wait: &durationpb.Duration{Seconds: wait},
			})
			got.next()
			// The leader's timers look at the wait, and at one that is over.
			late, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{
				Key: "k", SessionId: m.openSession(t, "carol"), Wait: seconds(0.2),
			})
			if err != nil || late.GetAcquired() {
				t.Fatalf("got %v, %v; want that the time ran out", late, err)
			}
			r, err := m.CancelWait(t.Context(), &tenurev1.CancelWaitRequest{Key: "k", SessionId: bob})
			if err != nil || !r.GetCancelled() {
				t.Errorf("got %v, %v; want that bob waited still", r, err)
			}
		})
	}
}

// awaitWaiters waits until so many wait for a lock.
func (m *member) awaitWaiters(t *testing.T, key string, want uint32) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		r, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		if r.GetLock().GetWaiters() == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d wait, want %d", r.GetLock().GetWaiters(), want)
		}
	}
}
