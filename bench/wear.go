package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What must not wear out: a lock that is handed over again and again, and one whose key goes each time that it is free.
const (
	wearHandover = "handover"
	wearIdleKey  = "idle-key"
)

var wearKinds = []string{wearHandover, wearIdleKey}

const (
	wearClients    = 10
	wornOperations = 100_000 // after which something counts as worn
)

// newWearCell measures a kind of operation where so many went before.
func (b *bench) newWearCell(ctx context.Context, kind string, before int) (*cell, error) {
	if before == 0 {
		return b.newFreshCell(ctx, kind)
	}
	return b.newWornCell(ctx, kind, before)
}

// newFreshCell measures members that were just started.
func (b *bench) newFreshCell(ctx context.Context, kind string) (*cell, error) {
	cluster, err := startCluster(ctx, b.dir, b.options)
	if err != nil {
		return nil, err
	}
	stop := func() error {
		var errs []error
		for _, s := range cluster {
			errs = append(errs, s.stop())
		}
		return errors.Join(errs...)
	}
	leader, err := leaderOf(ctx, cluster)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	c, err := newWearing(ctx, kind, leader, b.options)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	c.servers = cluster
	end := c.close
	c.close = func() error { return errors.Join(end(), stop()) }
	return c, nil
}

// newWornCell measures the members of the run. The operations that go before are done once.
func (b *bench) newWornCell(ctx context.Context, kind string, before int) (*cell, error) {
	c, err := newWearing(ctx, kind, b.member, b.options)
	if err != nil || b.worn[kind] {
		return c, err
	}
	b.say("%s-%s: %d operations first\n", workWear, kind, before)
	if err = wearOut(ctx, c, before); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if b.worn == nil {
		b.worn = make(map[string]bool)
	}
	b.worn[kind] = true
	return c, nil
}

// wearOut does so many operations of a cell that do not count.
func wearOut(ctx context.Context, c *cell, operations int) error {
	return inParallel(ctx, c.drivers, func(ctx context.Context, client int) error {
		r := &recorder{phase: new(atomic.Int32)}
		for range operations / c.drivers {
			if err := c.step(ctx, client, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// newWearing returns a cell of a kind whose locks have the same names each time.
func newWearing(ctx context.Context, kind string, member *server, o options) (*cell, error) {
	conns, err := dialAll(member.addresses.GRPC, min(wearClients, o.conns))
	if err != nil {
		return nil, err
	}
	sessions, err := createSessions(ctx, conns, wearClients)
	if err != nil {
		return nil, errors.Join(err, conns.close())
	}
	c := newQueueCell(ctx, conns, sessions, "bench/wear/handover", wearClients)
	if kind == wearIdleKey {
		c.step = func(ctx context.Context, client int, r *recorder) error {
			locks, key := tenurev1.NewLockServiceClient(conns.of(client)), fmt.Sprintf("bench/wear/idle/%d", client)
			return r.time(func() error { return useOnce(ctx, locks, key, sessions[client]) })
		}
	}
	return c, nil
}

// useOnce takes a lock that is free, and gives it back. Its key goes with it.
func useOnce(ctx context.Context, locks tenurev1.LockServiceClient, key, session string) error {
	acquired, err := locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: session})
	if err != nil {
		return err
	}
	if !acquired.GetAcquired() {
		return fmt.Errorf("lock %q is not free", key)
	}
	released, err := locks.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: key, SessionId: session})
	if err == nil && !released.GetReleased() {
		return fmt.Errorf("lock %q was not held", key)
	}
	return err
}
