package main

import (
	"context"
	"errors"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// held remembers a hold, and tells when it ends.
func (c *call) held(name string, h *tenure.Held) value {
	c.keepAs(name, h)
	go func() {
		<-h.Lost()
		c.event("held.ended", name, value{"cause": string(h.Cause())})
	}()
	return heldValue(h)
}

func heldValue(h *tenure.Held) value {
	return value{"key": h.Key(), "token": h.Token(), "lock_index": h.LockIndex(), "sequencer": h.Sequencer().String()}
}

// lockOptions returns what the arguments ask for.
func (c *call) lockOptions() []tenure.LockOption {
	options := []tenure.LockOption{tenure.WithQueuedFunc(func(q tenure.Queued) {
		c.event("held.queued", c.As, value{"position": q.Position})
	})}
	if c.args.Owner != nil {
		options = append(options, tenure.WithOwner(*c.args.Owner))
	}
	if c.args.Value != nil {
		options = append(options, tenure.WithValue(c.args.value()))
	}
	return options
}

// lock returns the lock that the arguments describe.
func (c *call) lock() (*tenure.Lock, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	switch c.args.Mode {
	case "", "exclusive":
		return s.Lock(c.args.Key, c.lockOptions()...), nil
	case "shared":
		return s.ReadWriteLock(c.args.Key, c.lockOptions()...).Read(), nil
	case "semaphore":
		return s.Semaphore(c.args.Key, c.args.Limit, max(1, c.args.Permits), c.lockOptions()...), nil
	default:
		return nil, protocol("unknown mode %q", c.args.Mode)
	}
}

func acquire(ctx context.Context, c *call) (value, error) {
	l, err := c.lock()
	if err != nil {
		return nil, err
	}
	h, err := l.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return c.held(c.As, h), nil
}

func tryAcquire(ctx context.Context, c *call) (value, error) {
	l, err := c.lock()
	if err != nil {
		return nil, err
	}
	h, info, err := l.TryAcquire(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return value{"acquired": false, "holders": info.Holders, "waiters": info.Waiters, "delayed": info.Delayed}, nil
	}
	v := c.held(c.As, h)
	v["acquired"] = true
	return v, nil
}

func readLock(ctx context.Context, c *call) (value, error) {
	c.args.Mode = "shared"
	return acquire(ctx, c)
}

func writeLock(ctx context.Context, c *call) (value, error) {
	c.args.Mode = "exclusive"
	return acquire(ctx, c)
}

func acquireSemaphore(ctx context.Context, c *call) (value, error) {
	c.args.Mode = "semaphore"
	return acquire(ctx, c)
}

func lockInfo(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	info, err := client.GetLock(ctx, c.args.Key)
	if errors.Is(err, tenure.ErrLockNotFound) {
		info, err = &tenure.LockInfo{}, nil
	}
	if err != nil {
		return nil, err
	}
	holders := []value{}
	for _, h := range info.Holds {
		holders = append(holders, value{"session": h.SessionID, "owner": h.Owner, "token": h.Token})
	}
	return value{"holders": holders, "waiters": info.Waiters, "delayed": info.Delayed}, nil
}

func breakLock(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	n, err := client.BreakLock(ctx, c.args.Key, c.args.Reason)
	return value{"holds": n}, err
}

// heldOf returns the hold that a request is about: a leadership is one.
func heldOf(c *call, name string) (*tenure.Held, error) {
	if l, err := get[*tenure.Leadership](c, name); err == nil {
		return l.Held, nil
	}
	return get[*tenure.Held](c, name)
}

func heldInfo(_ context.Context, c *call) (value, error) {
	h, err := heldOf(c, c.On)
	if err != nil {
		return nil, err
	}
	v := heldValue(h)
	v["safe"], v["safe_for_ms"] = h.Safe(), h.SafeFor().Milliseconds()
	v["ended"], v["cause"] = h.Cause() != tenure.EndNone, string(h.Cause())
	return v, nil
}

func release(ctx context.Context, c *call) (value, error) {
	h, err := heldOf(c, c.On)
	if err != nil {
		return nil, err
	}
	if h.Cause() != tenure.EndNone {
		return value{"released": false}, nil
	}
	if err := h.Release(ctx); err != nil {
		return nil, err
	}
	return value{"released": true}, nil
}

func checkSequencer(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	q, err := tenure.ParseSequencer(c.args.Sequencer)
	if err != nil {
		return nil, err
	}
	holds, err := client.CheckSequencer(ctx, q)
	return value{"holds": holds}, err
}

func checkFence(_ context.Context, c *call) (value, error) {
	q, err := tenure.ParseSequencer(c.args.Sequencer)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	gate, ok := c.gates[c.args.Gate]
	if !ok {
		gate = tenure.NewFenceGate()
		c.gates[c.args.Gate] = gate
	}
	c.mu.Unlock()
	return value{}, gate.Check(q)
}

func campaign(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	proclaimed := c.args.value()
	c.args.Value = nil
	l, err := s.Election(c.args.Key).Campaign(ctx, proclaimed, c.lockOptions()...)
	if err != nil {
		return nil, err
	}
	v := c.held(c.As, l.Held)
	c.keep(l)
	return v, nil
}

func proclaim(ctx context.Context, c *call) (value, error) {
	l, err := get[*tenure.Leadership](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, l.Proclaim(ctx, c.args.value())
}

func resign(ctx context.Context, c *call) (value, error) {
	l, err := get[*tenure.Leadership](c, c.On)
	if err != nil {
		return nil, err
	}
	if c.args.ToSession == "" {
		err = l.Resign(ctx)
	} else {
		err = l.ResignTo(ctx, c.args.ToSession, c.args.ToOwner)
	}
	return value{"resigned": err == nil}, err
}

func leaderValue(l *tenure.Leader) any {
	if l == nil {
		return nil
	}
	return value{"value": string(l.Value), "session": l.SessionID, "token": l.Token}
}

func leader(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	l, err := client.GetLeader(ctx, c.args.Key)
	return value{"leader": leaderValue(l)}, err
}

func observe(_ context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	c.background(func(ctx context.Context) {
		for o, err := range client.Observe(ctx, c.args.Key) {
			if err != nil {
				return
			}
			c.event("observe.leader", c.As, value{"leader": leaderValue(o.Leader), "gap": o.Gap})
		}
	})
	return value{}, nil
}

func runElection(_ context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	c.background(func(ctx context.Context) {
		_ = s.Election(c.args.Key).Run(ctx, c.args.value(), func(ctx context.Context, l *tenure.Leadership) error {
			c.event("run.begun", c.As, value{"token": l.Token()})
			<-ctx.Done()
			c.event("run.ended", c.As, value{"token": l.Token()})
			return nil
		}) // The session's own events tell why it ends.
	})
	return value{}, nil
}
