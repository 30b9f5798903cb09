package pool_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Sessions are bound to machines and their checks, under writes. Agents are restarted one after another, half of them without a word, one of
// them with new ports; then members; then all members stand still. No session ends, and no machine is missed. At last a machine loses its agent's
// directory: sessions that are bound to its checks end, and no other one.
func TestRestartsEndNoSession(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := startPool(ctx, t, 3, scale(4, 13))
	sessions := scale(51, 1002)
	bound := slices.Concat(
		p.bind(ctx, sessions/3, p.machines, nil),
		p.bind(ctx, sessions/3, p.machines, &tenurev1.SessionChecks{NodeChecks: []string{liveness}, ServiceChecks: []string{ownCheck, "job"}}))
	alone := p.bind(ctx, sessions/3, p.machines, &tenurev1.SessionChecks{})
	stop := p.load(ctx)
	began := time.Now()

	late := p.restartAgents(ctx)
	for _, m := range p.Members {
		if m == p.Members[0] {
			m.Kill()
		} else if err := m.Stop(); err != nil {
			t.Error(err)
		}
		wait(ctx, rand.N(scale(time.Second, missedAfter)))
		m.Restart(ctx)
	}
	p.stopMembers(ctx, scale(5*time.Second, 30*time.Second))
	t.Logf("%d writes in %v", stop(), time.Since(began))

	// What is missed is missed within a quarter of a minute, and the leader asks about machines that it does not see only after a while.
	wait(ctx, scale(2*time.Second, 2*time.Minute))
	ended, missed := p.ends(ctx)
	missed = slices.DeleteFunc(missed, func(node string) bool { return late[node] })
	wrongly := slices.DeleteFunc(slices.Clone(ended), func(id string) bool { return late[p.bound[id]] })
	if len(wrongly) > 0 || len(missed) > 0 {
		t.Fatalf("%d sessions have ended of machines that were away for long, and %d others; machines were missed: %v",
			len(ended)-len(wrongly), len(wrongly), missed)
	}

	lost := p.machines[len(p.machines)-1]
	lost.Kill()
	lost.Wipe()
	seen := p.watch(ctx, p.mark(ctx))
	lost.Restart(ctx)
	_, after := seen.awaitFrom(t, 0, turnsCritical(lost.name, liveness))
	seen.awaitFrom(t, after, passes(lost.name, liveness))
	before := ended
	ended, _ = p.ends(ctx)
	want := slices.DeleteFunc(slices.Clone(bound), func(id string) bool { return p.bound[id] != lost.name })
	for _, id := range ended {
		if !slices.Contains(before, id) && !slices.Contains(want, id) {
			t.Errorf("session %s of %s has ended, which is bound to no check of %s", id, p.bound[id], lost.name)
		}
	}
	for _, id := range want {
		if !slices.Contains(ended, id) {
			t.Errorf("session %s has not ended, whose checks are gone", id)
		}
	}
	for _, id := range alone {
		if slices.Contains(ended, id) {
			t.Errorf("session %s has ended, which is bound to no check", id)
		}
	}
	t.Logf("%d sessions are bound to checks of the machine that lost its directory, and ended", len(want))
}

// While the only member of a cluster is away, no machine is missed.
func TestTheOnlyMemberMissesNoMachineWhileItIsAway(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := startPool(ctx, t, 1, 2)
	p.bind(ctx, 10, p.machines, nil)
	p.stopMembers(ctx, scale(5*time.Second, 30*time.Second))
	wait(ctx, scale(2*time.Second, 2*time.Minute))
	if ended, missed := p.ends(ctx); len(ended)+len(missed) > 0 {
		t.Errorf("%d sessions have ended, and machines were missed: %v", len(ended), missed)
	}
}

// restartAgents restarts all agents, and returns the machines that were away for too long.
func (p *pool) restartAgents(ctx context.Context) (late map[string]bool) {
	p.t.Helper()
	late = map[string]bool{}
	for i, m := range p.machines {
		ended := time.Now()
		if i%2 == 0 {
			m.Kill()
		} else if err := m.Stop(); err != nil {
			p.t.Error(err)
		}
		if i == 2 {
			m.link = p.net.Link(ctx) // It takes part in gossip at another address, too.
		}
		if p.comesBack(ctx, m, ended) {
			late[m.name] = true
		}
	}
	p.t.Logf("%d agents restarted; the longest away was so for %v", len(p.machines), p.longest)
	return late
}

// stopMembers kills all members at once, and starts them later.
func (p *pool) stopMembers(ctx context.Context, away time.Duration) {
	for _, m := range p.Members {
		m.Kill()
	}
	wait(ctx, away)
	for _, m := range p.Members {
		m.Launch(ctx)
	}
	for _, m := range p.Members {
		m.Await(ctx)
	}
}

// load writes through all members until it is stopped, which returns how many writes were acknowledged.
func (p *pool) load(ctx context.Context) (stop func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	var acknowledged atomic.Int64
	for _, m := range p.Members {
		conn := m.Dial()
		writing.Go(func() { acknowledged.Add(write(ctx, conn, "load/"+m.Name())) })
	}
	stop = func() int64 {
		cancel()
		writing.Wait()
		return acknowledged.Load()
	}
	p.t.Cleanup(func() { stop() })
	return stop
}

// write puts a key, again and again, and returns how often that was acknowledged.
func write(ctx context.Context, conn *grpc.ClientConn, key string) (acknowledged int64) {
	defer func() { _ = conn.Close() }()
	kv := tenurev1.NewKVServiceClient(conn)
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := kv.Put(call, &tenurev1.PutRequest{Key: key}); err == nil {
			acknowledged++
		}
		cancel()
		wait(ctx, 5*time.Millisecond)
	}
	return acknowledged
}
