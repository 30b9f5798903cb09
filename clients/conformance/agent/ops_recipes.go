package main

import (
	"context"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// barrier returns the barrier of the client or session that a request is about.
func (c *call) barrier() (*tenure.Barrier, error) {
	if s, err := get[*tenure.Session](c, c.On); err == nil {
		return s.Barrier(c.args.Key), nil
	}
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	return client.Barrier(c.args.Key), nil
}

func setBarrier(ctx context.Context, c *call) (value, error) {
	b, err := c.barrier()
	if err != nil {
		return nil, err
	}
	return value{}, b.Set(ctx)
}

func removeBarrier(ctx context.Context, c *call) (value, error) {
	b, err := c.barrier()
	if err != nil {
		return nil, err
	}
	return value{}, b.Remove(ctx)
}

func waitBarrier(ctx context.Context, c *call) (value, error) {
	b, err := c.barrier()
	if err != nil {
		return nil, err
	}
	return value{}, b.Wait(ctx)
}

func enterBarrier(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	d := s.DoubleBarrier(c.args.Key, c.args.Count, c.args.Name)
	c.keep(d)
	return value{}, d.Enter(ctx)
}

func leaveBarrier(ctx context.Context, c *call) (value, error) {
	d, err := get[*tenure.DoubleBarrier](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, d.Leave(ctx)
}

func joinPresence(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	m, err := s.Client().Presence(c.args.Group).Join(ctx, s, c.args.Name, c.args.value())
	if err != nil {
		return nil, err
	}
	c.keep(m)
	return value{}, nil
}

func leavePresence(ctx context.Context, c *call) (value, error) {
	m, err := get[*tenure.Membership](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, m.Leave(ctx)
}

func presenceMembers(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		s, sessionErr := get[*tenure.Session](c, c.On)
		if sessionErr != nil {
			return nil, err
		}
		client = s.Client()
	}
	members, err := client.Presence(c.args.Group).Members(ctx)
	if err != nil {
		return nil, err
	}
	values := value{}
	for name, v := range members {
		values[name] = string(v)
	}
	return value{"members": values}, nil
}

func openCache(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	cache, err := client.OpenCache(ctx, c.args.Prefix)
	if err != nil {
		return nil, err
	}
	c.keep(cache)
	return value{}, nil
}

func cacheGet(_ context.Context, c *call) (value, error) {
	cache, err := get[*tenure.Cache](c, c.On)
	if err != nil {
		return nil, err
	}
	v := value{"found": false, "value": "", "revision": cache.Revision(), "stale_ms": cache.Stale().Milliseconds() + 1}
	if kv := cache.Get(c.args.Key); kv != nil {
		v["found"], v["value"], v["revision"] = true, string(kv.Value), kv.ModRevision
	}
	return v, nil
}

func cacheKeys(_ context.Context, c *call) (value, error) {
	cache, err := get[*tenure.Cache](c, c.On)
	if err != nil {
		return nil, err
	}
	keys := cache.Keys()
	if keys == nil {
		keys = []string{}
	}
	return value{"keys": keys}, nil
}
