package main

import (
	"context"
	"fmt"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// sessionTTL is long enough that no session of a run expires unless it is renewed.
const sessionTTL = 24 * time.Hour

// createSessions opens n sessions and returns their ids.
func createSessions(ctx context.Context, conns connections, n int) ([]string, error) {
	return createDelayingSessions(ctx, conns, n, nil)
}

// createDelayingSessions is createSessions with a lock-delay; nil is the service's own.
func createDelayingSessions(ctx context.Context, conns connections, n int, delay *durationpb.Duration) ([]string, error) {
	ids := make([]string, n)
	err := inParallel(ctx, n, func(ctx context.Context, i int) error {
		response, err := tenurev1.NewSessionServiceClient(conns.of(i)).CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Ttl: durationpb.New(sessionTTL), LockDelay: delay,
		})
		ids[i] = response.GetSessionId()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create sessions: %w", err)
	}
	return ids, nil
}

// destroySessions ends sessions cleanly.
func destroySessions(ctx context.Context, conns connections, ids []string) error {
	return endSessions(ctx, conns, ids, endCleanly)
}

// sessionEnd says what becomes of what a session holds when it ends.
type sessionEnd bool

const (
	endCleanly   sessionEnd = true  // it is free
	endDelayedly sessionEnd = false // its lock-delay begins
)

func endSessions(ctx context.Context, conns connections, ids []string, end sessionEnd) error {
	err := inParallel(ctx, len(ids), func(ctx context.Context, i int) error {
		_, err := tenurev1.NewSessionServiceClient(conns.of(i)).DestroySession(ctx, &tenurev1.DestroySessionRequest{
			SessionId: ids[i], Clean: bool(end),
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("destroy sessions: %w", err)
	}
	return nil
}

// newLockCell acquires and releases locks: one session and one key for each client, so nobody waits. An acquire and its
// release are one operation.
func newLockCell(ctx context.Context, member *server, clients int, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(clients, o.conns))
	if err != nil {
		return nil, err
	}
	sessions, err := createSessions(ctx, conns, clients)
	if err != nil {
		return nil, err
	}
	return &cell{
		drivers: clients,
		step: func(ctx context.Context, client int, r *recorder) error {
			keys := tenurev1.NewKVServiceClient(conns.of(client))
			key, session := fmt.Sprintf("bench/lock/%d", client), sessions[client]
			return r.time(func() error { return lockCycle(ctx, keys, key, session) })
		},
		close: func() error {
			if err := destroySessions(context.WithoutCancel(ctx), conns, sessions); err != nil {
				return err
			}
			return conns.close()
		},
	}, nil
}

func lockCycle(ctx context.Context, keys tenurev1.KVServiceClient, key, session string) error {
	acquired, err := keys.Put(ctx, &tenurev1.PutRequest{Key: key, Acquire: session})
	if err != nil {
		return err
	}
	if !acquired.GetAcquired() {
		return fmt.Errorf("lock %q is not free", key)
	}
	released, err := keys.Put(ctx, &tenurev1.PutRequest{Key: key, Release: session})
	if err == nil && !released.GetReleased() {
		return fmt.Errorf("lock %q was not held", key)
	}
	return err
}
