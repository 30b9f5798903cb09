package main

import (
	"context"
	"fmt"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// handoverWaiters are the lengths of the queue at which hand-overs are measured.
var handoverWaiters = []int{10, 100, 1000}

// newHandoverCell passes one lock round a queue of so many: whoever gets it gives it back at once and queues again. One
// operation is one hand-over; its latency is the way through the whole queue.
func newHandoverCell(ctx context.Context, member *server, waiters int, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, o.conns)
	if err != nil {
		return nil, err
	}
	sessions, err := createSessions(ctx, conns, min(waiters, o.conns))
	if err != nil {
		return nil, err
	}
	return newQueueCell(ctx, conns, sessions, fmt.Sprintf("bench/handover/%d", waiters), waiters), nil
}

// newQueueCell passes a lock round so many waiters, and ends their sessions.
func newQueueCell(ctx context.Context, conns connections, sessions []string, key string, waiters int) *cell {
	return &cell{
		drivers: waiters,
		step: func(ctx context.Context, client int, r *recorder) error {
			locks := tenurev1.NewLockServiceClient(conns.of(client))
			session, owner := sessions[client%len(sessions)], fmt.Sprintf("w%d", client)
			return r.time(func() error { return takeTurn(ctx, locks, key, session, owner) })
		},
		close: func() error {
			if err := destroySessions(context.WithoutCancel(ctx), conns, sessions); err != nil {
				return err
			}
			return conns.close()
		},
	}
}

// takeTurn queues, waits for the lock, and gives it back.
func takeTurn(ctx context.Context, locks tenurev1.LockServiceClient, key, session, owner string) error {
	options := &tenurev1.CallOptions{Owner: owner}
	stream, err := locks.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: session, Options: options})
	if err != nil {
		return err
	}
	for {
		step, recvErr := stream.Recv()
		if recvErr != nil {
			return recvErr
		}
		if step.GetRejected() != nil {
			return fmt.Errorf("lock %q: the wait ended: %v", key, step.GetRejected())
		}
		if step.GetGranted() != nil {
			break
		}
	}
	released, err := locks.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: key, SessionId: session, Options: options})
	if err == nil && !released.GetReleased() {
		return fmt.Errorf("lock %q was not held", key)
	}
	return err
}
