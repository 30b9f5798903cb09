package main

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// ops are the operations by name.
var ops = map[string]func(context.Context, *call) (value, error){
	"agent.close":          closeAll,
	"agent.leaks":          leaks,
	"agent.cancel":         cancelCall,
	"client.open":          openClient,
	"client.close":         closeClient,
	"client.info":          clientInfo,
	"session.open":         openSession,
	"session.export":       exportSession,
	"session.token":        sessionToken,
	"session.resume":       resumeSession,
	"session.holds":        sessionHolds,
	"session.info":         sessionInfo,
	"session.close":        closeSession,
	"session.lookup":       lookUpSession,
	"lock.acquire":         acquire,
	"lock.try":             tryAcquire,
	"lock.info":            lockInfo,
	"lock.break":           breakLock,
	"held.info":            heldInfo,
	"held.release":         release,
	"sequencer.check":      checkSequencer,
	"kv.get":               getKey,
	"kv.put":               putKey,
	"kv.delete":            deleteKey,
	"kv.list":              listKeys,
	"kv.delete_prefix":     deletePrefix,
	"kv.txn":               txn,
	"kv.loop":              loop,
	"watch.open":           openWatch,
	"watch.close":          closeAny,
	"election.campaign":    campaign,
	"election.proclaim":    proclaim,
	"election.resign":      resign,
	"election.leader":      leader,
	"election.observe":     observe,
	"election.run":         runElection,
	"rwlock.read":          readLock,
	"rwlock.write":         writeLock,
	"semaphore.acquire":    acquireSemaphore,
	"barrier.set":          setBarrier,
	"barrier.remove":       removeBarrier,
	"barrier.wait":         waitBarrier,
	"double_barrier.enter": enterBarrier,
	"double_barrier.leave": leaveBarrier,
	"presence.join":        joinPresence,
	"presence.leave":       leavePresence,
	"presence.members":     presenceMembers,
	"cache.open":           openCache,
	"cache.get":            cacheGet,
	"cache.keys":           cacheKeys,
	"fence.check":          checkFence,
	"machine.open":         openMachine,
	"machine.close":        closeMachine,
	"service.register":     registerService,
	"service.set":          setService,
	"service.close":        closeService,
	"services.open":        openServices,
	"services.get":         servicesGet,
	"query.create":         createQuery,
	"query.update":         updateQuery,
	"query.get":            getQuery,
	"query.list":           listQueries,
	"query.delete":         deleteQuery,
	"query.execute":        executeQuery,
	"query.explain":        explainQuery,
	"x.close":              closeAny,
}

func openClient(_ context.Context, c *call) (value, error) {
	c.mu.Lock()
	if !c.measured {
		c.measured, c.baseline = true, runtime.NumGoroutine()
	}
	c.mu.Unlock()
	client, err := tenure.Open(c.args.URI, tenure.WithUserAgent("tenure-go-conformance"))
	if err != nil {
		return nil, err
	}
	c.keep(client)
	c.mu.Lock()
	c.clients = append(c.clients, client)
	c.mu.Unlock()
	return value{"namespace": client.Namespace()}, nil
}

func closeClient(_ context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, client.Close()
}

func clientInfo(_ context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	members, current := client.Members()
	return value{"members": members, "count": len(members), "connected_to": current}, nil
}

func closeAll(_ context.Context, c *call) (value, error) {
	c.mu.Lock()
	clients := slices.Clone(c.clients)
	machines := c.machines
	c.clients, c.machines = nil, nil
	c.mu.Unlock()
	for _, machine := range machines {
		if err := machine.Close(); err != nil {
			return nil, err
		}
	}
	slices.Reverse(clients)
	for _, client := range clients {
		if err := client.Close(); err != nil {
			return nil, err
		}
	}
	return value{}, nil
}

// leaks counts goroutines beyond those before the first client. Two are this request's and its context's.
func leaks(ctx context.Context, c *call) (value, error) {
	c.mu.Lock()
	baseline := c.baseline
	c.mu.Unlock()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for {
		left := runtime.NumGoroutine() - baseline
		if left <= 0 {
			return value{"left": 0, "what": []string{}}, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timeout:
			var what strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&what, 1) // A strings.Builder takes everything.
			return value{"left": left, "what": []string{what.String()}}, nil
		}
	}
}

func cancelCall(_ context.Context, c *call) (value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, ok := c.cancels[c.args.Request]
	if !ok {
		return nil, protocol("request %d does not run", c.args.Request)
	}
	cancel()
	return value{}, nil
}

// closer is a watch, an observer or a run.
type closer struct{ close func() }

func closeAny(_ context.Context, c *call) (value, error) {
	if cache, err := get[*tenure.Cache](c, c.On); err == nil {
		cache.Close()
		return value{}, nil
	}
	if list, err := get[*tenure.ServiceList](c, c.On); err == nil {
		list.Close()
		return value{}, nil
	}
	o, err := get[*closer](c, c.On)
	if err != nil {
		return nil, err
	}
	o.close()
	return value{}, nil
}

// background runs f until it is closed by name.
func (c *call) background(f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	c.keep(&closer{close: func() { cancel(); <-done }})
	go func() {
		defer close(done)
		f(ctx)
	}()
}

func listen(c *call) func(tenure.StateChange) {
	return func(change tenure.StateChange) {
		c.event("session.state", c.As, value{"state": change.State.String(), "cause": string(change.Cause)})
		if c.args.Listener == "blocks" {
			select {}
		}
	}
}

func openSession(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	options := []tenure.SessionOption{tenure.WithStateListener(listen(c))}
	if c.args.TTLMs != nil {
		options = append(options, tenure.WithTTL(time.Duration(*c.args.TTLMs)*time.Millisecond))
	}
	if c.args.LockDelayMs != nil {
		options = append(options, tenure.WithLockDelay(time.Duration(*c.args.LockDelayMs)*time.Millisecond))
	}
	if c.args.Behavior == "delete" {
		options = append(options, tenure.WithDeleteOnEnd())
	}
	if c.args.Name != "" {
		options = append(options, tenure.WithName(c.args.Name))
	}
	if c.args.Metadata != nil {
		options = append(options, tenure.WithMetadata(c.args.Metadata))
	}
	if c.args.Node != "" {
		options = append(options, tenure.WithNode(c.args.Node))
	}
	if len(c.args.Checks) > 0 {
		options = append(options, tenure.WithChecks(c.args.Checks...))
	}
	if c.args.DefaultCheck {
		options = append(options, tenure.WithDefaultCheck())
	}
	s, err := client.OpenSession(ctx, options...)
	if err != nil {
		return nil, err
	}
	c.keep(s)
	return sessionValue(s), nil
}

func sessionValue(s *tenure.Session) value {
	return value{"id": s.ID(), "ttl_ms": s.TTL().Milliseconds(), "epoch": s.Epoch()}
}

func exportSession(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	token, err := s.Export(ctx)
	return value{"token": token}, err
}

func sessionToken(_ context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{"token": s.Token()}, nil
}

func resumeSession(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	s, err := client.ResumeSession(ctx, c.args.Token, tenure.WithStateListener(listen(c)))
	if err != nil {
		return nil, err
	}
	c.keep(s)
	return sessionValue(s), nil
}

func sessionHolds(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	helds, err := s.Holds(ctx)
	if err != nil {
		return nil, err
	}
	holds := []value{}
	for _, h := range helds {
		holds = append(holds, value{"key": h.Key(), "owner": h.Owner(), "token": h.Token()})
		c.held(c.As+"."+h.Key(), h)
	}
	return value{"holds": holds}, nil
}

func sessionInfo(_ context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	v := sessionValue(s)
	state, cause := s.State()
	v["state"], v["cause"] = state.String(), string(cause)
	v["safe"], v["safe_for_ms"] = s.Safe(), s.SafeFor().Milliseconds()
	return v, nil
}

func closeSession(_ context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, s.Close()
}

func lookUpSession(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	info, err := client.LookUpSession(ctx, c.args.ID)
	if err != nil {
		return nil, err
	}
	return value{
		"id": info.ID, "live": info.Live, "name": info.Name, "epoch": info.Epoch, "holds": info.Holds, "end_cause": info.EndCause,
	}, nil
}
