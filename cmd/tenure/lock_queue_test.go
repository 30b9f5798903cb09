package main

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestQueueIsKeptOverBreaks shows that a wait whose stream breaks goes on with the same session, and tells of its place.
func TestQueueIsKeptOverBreaks(t *testing.T) {
	queued := &tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Queued{Queued: &tenurev1.LockQueuedStep{
		Place: &tenurev1.Place{Position: 2}, Lock: &tenurev1.Lock{Waiters: 3},
	}}}
	moved := &tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Moved{
		Moved: &tenurev1.LockMovedStep{Position: 1},
	}}
	granted := &tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Granted{
		Granted: &tenurev1.Hold{Sequencer: &tenurev1.Sequencer{FencingToken: 30}},
	}}
	calls := 0
	member := &fakeMember{
		acquire: func(r *tenurev1.AcquireLockRequest, s grpc.ServerStreamingServer[tenurev1.AcquireLockResponse]) error {
			calls++
			if r.GetSessionId() != "s" || r.GetOptions().GetEpoch() != 1 || len(r.GetOptions().GetSessionSecret()) == 0 {
				return refusal(codes.PermissionDenied, "SESSION_SECRET_WRONG", "no")
			}
			answers := [][]*tenurev1.AcquireLockResponse{{queued, moved}, {}, {moved, granted}}[calls-1]
			for _, answer := range answers {
				if err := s.Send(answer); err != nil {
					return err
				}
			}
			if calls == 3 {
				return nil
			}
			return refusal(codes.Unavailable, "STOPPING", "no")
		},
	}
	var said []string
	q := &lockQueue{
		members: membersAt(t, member.serve(t)), session: &ownSession{id: "s", secret: []byte("x"), epoch: 1},
		want: &tenurev1.AcquireLockRequest{Key: "k"}, what: "it", timeout: scriptPatience,
		note: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
	}
	hold, err := q.take(t.Context(), nil, nil)
	if err != nil || hold.GetFencingToken() != 30 || calls != 3 {
		t.Fatalf("got %v, %v after %d calls; want the hold after 3", hold, err, calls)
	}
	want := []string{
		"Waiting for it: position 3 of 3", "Waiting for it: position 2", "Waiting for it: cannot ask for it (refused)",
		"Waiting for it: position 2",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}

// TestRejectedWaits shows what becomes of a wait that the cluster ends.
func TestRejectedWaits(t *testing.T) {
	tests := map[string]struct {
		step *tenurev1.LockRejectedStep
		code int
	}{
		"a time-out is a lock not had":   {&tenurev1.LockRejectedStep{Cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT}, exitNotHad},
		"an operator's break is refusal": {&tenurev1.LockRejectedStep{Cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_BROKEN}, exitRefused},
		"the session's end is refusal":   {&tenurev1.LockRejectedStep{Cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED}, exitRefused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			member := &fakeMember{
				acquire: func(_ *tenurev1.AcquireLockRequest, s grpc.ServerStreamingServer[tenurev1.AcquireLockResponse]) error {
					return s.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Rejected{Rejected: test.step}})
				},
			}
			q := &lockQueue{
				members: membersAt(t, member.serve(t)), session: &ownSession{id: "s"},
				want: &tenurev1.AcquireLockRequest{Key: "k"}, what: "it", timeout: scriptPatience,
				note: func(string, ...any) {},
			}
			_, err := q.take(t.Context(), nil, nil)
			if got := exitCode(&environment{started: true}, explain(scriptPatience, err)); got != test.code {
				t.Errorf("got exit code %d (%v), want %d", got, err, test.code)
			}
		})
	}
}
