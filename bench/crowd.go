package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	crowdClients = 16
	crowdFew     = 10
	crowdMany    = 10_000
	crowdObjects = 2_000       // of one session of a crowd
	crowdDelay   = time.Minute // the longest lock-delay
)

// What is done beside a crowd.
const (
	crowdTry   = "try"   // a try that is refused
	crowdQueue = "queue" // joins the queue, and leaves it
)

// Kinds of crowds.
const (
	crowdWaiters = "waiters"
	crowdHolders = "holders"
	crowdDelayed = "delayed"
	crowdLocks   = "locks"
)

// crowdWorkloads returns the names of all cells of crowds: what is done, and beside what.
func crowdWorkloads() []string {
	var names []string
	for _, action := range []string{crowdTry, crowdQueue} {
		for _, kind := range []string{crowdWaiters, crowdHolders, crowdDelayed, crowdLocks} {
			names = append(names, crowdWorkload(action, kind))
		}
	}
	return names
}

func crowdWorkload(action, kind string) string { return workCrowd + "-" + action + "-" + kind }

// crowd is a lock that is not free, and what stands beside.
type crowd struct {
	conns    connections
	key      string
	sessions []string // of the crowd
	clients  []string // sessions of those that are measured; the first one has a hold that stays
}

// newCrowdCell does something beside so many others.
func newCrowdCell(ctx context.Context, member *server, workload, key string, n int, o options) (_ *cell, err error) {
	conns, err := dialAll(member.addresses.GRPC, min(crowdClients, o.conns))
	if err != nil {
		return nil, err
	}
	c := &crowd{conns: conns, key: key}
	clean := context.WithoutCancel(ctx)
	end := func() error {
		return errors.Join(destroySessions(clean, conns, c.sessions), destroySessions(clean, conns, c.clients), conns.close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, end())
		}
	}()
	if c.clients, err = createSessions(ctx, conns, crowdClients); err != nil {
		return nil, err
	}
	for _, action := range []string{crowdTry, crowdQueue} {
		for kind, build := range map[string]func(context.Context, int) error{
			crowdWaiters: c.addWaiters, crowdHolders: c.addHolders, crowdDelayed: c.addDelayed, crowdLocks: c.addLocks,
		} {
			if workload != crowdWorkload(action, kind) {
				continue
			}
			if err = build(ctx, n); err != nil {
				return nil, err
			}
			step := c.try
			if action == crowdQueue {
				step = c.queue
			}
			return &cell{drivers: crowdClients, step: step, close: end}, nil
		}
	}
	return nil, fmt.Errorf("unknown workload %q", workload)
}

func (c *crowd) locks(client int) tenurev1.LockServiceClient {
	return tenurev1.NewLockServiceClient(c.conns.of(client))
}

// try is refused.
func (c *crowd) try(ctx context.Context, client int, r *recorder) error {
	return r.time(func() error {
		answer, err := c.locks(client).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
			Key: c.key, SessionId: c.clients[client], Options: &tenurev1.CallOptions{Owner: "try"},
		})
		if err == nil && answer.GetAcquired() {
			return fmt.Errorf("lock %q was free", c.key)
		}
		return err
	})
}

// queue waits for the lock until it has a place, and gives that up.
func (c *crowd) queue(ctx context.Context, client int, r *recorder) error {
	return r.time(func() error {
		if err := c.join(ctx, client, c.clients[client], "queue"); err != nil {
			return err
		}
		answer, err := c.locks(client).CancelWait(ctx, &tenurev1.CancelWaitRequest{
			Key: c.key, SessionId: c.clients[client], Options: &tenurev1.CallOptions{Owner: "queue"},
		})
		if err == nil && !answer.GetCancelled() {
			return fmt.Errorf("lock %q: no place to give up", c.key)
		}
		return err
	})
}

// join takes a place in the queue. It stays when the stream ends.
func (c *crowd) join(ctx context.Context, client int, session, owner string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.locks(client).AcquireLock(ctx, &tenurev1.AcquireLockRequest{
		Key: c.key, SessionId: session, Options: &tenurev1.CallOptions{Owner: owner},
	})
	if err != nil {
		return err
	}
	step, err := stream.Recv()
	if err == nil && step.GetQueued() == nil {
		return fmt.Errorf("lock %q: got %v, want a place", c.key, step)
	}
	return err
}

// hold takes a lock that is free for it.
func (c *crowd) hold(ctx context.Context, client int, key, session, owner string, mode tenurev1.LockMode) error {
	answer, err := c.locks(client).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
		Key: key, SessionId: session, Mode: mode, Options: &tenurev1.CallOptions{Owner: owner},
	})
	if err == nil && !answer.GetAcquired() {
		return fmt.Errorf("lock %q is not free", key)
	}
	return err
}

// stay gives the first client a hold that stays.
func (c *crowd) stay(ctx context.Context) error {
	return c.hold(ctx, 0, c.key, c.clients[0], "stays", tenurev1.LockMode_LOCK_MODE_SHARED)
}

// each opens the sessions of n things, and calls add for each of them.
func (c *crowd) each(ctx context.Context, n int, add func(ctx context.Context, i int, session, owner string) error) (err error) {
	delay := durationpb.New(crowdDelay)
	if c.sessions, err = createDelayingSessions(ctx, c.conns, (n+crowdObjects-1)/crowdObjects, delay); err != nil {
		return err
	}
	return inParallel(ctx, n, func(ctx context.Context, i int) error {
		return add(ctx, i, c.sessions[i/crowdObjects], fmt.Sprint(i))
	})
}

func (c *crowd) addWaiters(ctx context.Context, n int) error {
	if err := c.stay(ctx); err != nil {
		return err
	}
	return c.each(ctx, n, c.join)
}

func (c *crowd) addHolders(ctx context.Context, n int) error {
	return c.each(ctx, n, func(ctx context.Context, i int, session, owner string) error {
		return c.hold(ctx, i, c.key, session, owner, tenurev1.LockMode_LOCK_MODE_SHARED)
	})
}

// addDelayed leaves delayed holds before one that is valid.
func (c *crowd) addDelayed(ctx context.Context, n int) error {
	if err := c.addHolders(ctx, n); err != nil {
		return err
	}
	if err := c.stay(ctx); err != nil {
		return err
	}
	lost := c.sessions
	c.sessions = nil
	return endSessions(ctx, c.conns, lost, endDelayedly)
}

func (c *crowd) addLocks(ctx context.Context, n int) error {
	if err := c.stay(ctx); err != nil {
		return err
	}
	return c.each(ctx, n, func(ctx context.Context, i int, session, owner string) error {
		return c.hold(ctx, i, c.key+"/"+owner, session, owner, tenurev1.LockMode_LOCK_MODE_EXCLUSIVE)
	})
}
