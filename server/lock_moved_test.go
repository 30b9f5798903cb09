package server_test

import (
	"fmt"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A waiter is told each time that it has moved, also long after it was looked for first.
func TestAWaiterIsToldOfEachMove(t *testing.T) {
	m := startMember(t)
	holder := m.openSession(t, "holder")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: holder}).ended()
	const before = 3
	for i := range before {
		m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, fmt.Sprint("before ", i))}).next()
	}
	last := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "last")})
	if p := last.next().GetQueued().GetPlace(); p.GetPosition() != before {
		t.Fatalf("got %v, want the place behind %d", p, before)
	}
	for want := uint32(before); want > 0; {
		lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		m.release(t, "k", lock.GetLock().GetHolds()[0].GetSequencer().GetSessionId())
		want--
		if moved := last.next().GetMoved(); moved == nil || moved.GetPosition() != want {
			t.Fatalf("got %v, want that it moved to %d", moved, want)
		}
	}
}
