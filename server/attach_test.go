package server_test

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAttachTellsTheHighestRequest lets a process go on with its numbers after it lost its own count.
func TestAttachTellsTheHighestRequest(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	put := func(sequence, doneBelow uint64, ifRevision *uint64) error {
		_, err := m.Put(t.Context(), &tenurev1.PutRequest{
			Key: "k", IfRevision: ifRevision, Options: &tenurev1.CallOptions{Epoch: 1, RequestId: &tenurev1.RequestID{
				SessionId: id, Sequence: sequence, DoneBelow: doneBelow,
			}},
		})
		return err
	}
	highest := func(want uint64) {
		t.Helper()
		r, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id})
		if err != nil || r.GetMaxSequence() != want {
			t.Errorf("got %d, %v, want %d", r.GetMaxSequence(), err, want)
		}
	}
	highest(0)
	for _, sequence := range []uint64{1, 7, 3} {
		if err := put(sequence, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	highest(7)
	// A refused change was done, too: its answer is remembered.
	if err := put(9, 8, new(uint64(1<<40))); err == nil {
		t.Fatal("a put with a wrong revision is no error")
	}
	highest(9)
	if err := put(9, 9, nil); err == nil {
		t.Fatal("a used number is no error")
	}
	highest(9)
	taken, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: id, TakeOver: true, Options: &tenurev1.CallOptions{Epoch: 1},
	})
	if err != nil || taken.GetMaxSequence() != 0 {
		t.Errorf("under a new epoch: got %d, %v, want 0", taken.GetMaxSequence(), err)
	}
}
