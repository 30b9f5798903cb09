package conformance_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/clients/conformance/driver"
	"github.com/tenure-io/tenure/test/rig"
)

// faults happen one after another until the time is over.
type faults struct {
	cluster *driver.Cluster
	agents  []*driver.Agent
	beliefs *beliefs

	pauses, partitions, blackouts, leaderKills atomic.Int64
	resuming                                   sync.WaitGroup
	// network is held by whoever holds back what is sent, so that nobody else heals it.
	network sync.Mutex
}

func (f *faults) run(ctx context.Context, t *testing.T) {
	t.Helper()
	defer func() {
		f.resuming.Wait()
		f.eachProxy((*rig.Proxy).Heal)
	}()
	for round := 0; ctx.Err() == nil; round++ {
		switch round % 4 {
		case 0:
			f.pauseHolder(ctx, false)
		case 2:
			f.pauseHolder(ctx, true)
		case 1:
			f.partition(ctx)
		case 3:
			if round > 4 && f.leaderKills.Load() > 0 && rand.IntN(2) == 0 {
				f.cluster.Proxies[rand.IntN(len(f.cluster.Proxies))].Cut()
				break
			}
			leader := f.cluster.Rig.Leader(t.Context())
			leader.Kill()
			rest(ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
			leader.Restart(t.Context())
			f.leaderKills.Add(1)
		}
		rest(ctx, time.Duration(300+rand.IntN(700))*time.Millisecond)
	}
}

// partition cuts all clients off from one member, which they then leave, or every second time from all, for longer than a lease: whoever holds
// a lock loses it, and what was sent meanwhile arrives late.
func (f *faults) partition(ctx context.Context) {
	f.network.Lock()
	defer f.network.Unlock()
	way := []string{"in", "out", "both"}[rand.IntN(3)]
	if f.partitions.Add(1)%2 == 0 {
		p := f.cluster.Proxies[rand.IntN(len(f.cluster.Proxies))]
		p.Block(way)
		rest(ctx, time.Duration(500+rand.IntN(2500))*time.Millisecond)
		p.Heal()
		return
	}
	f.blackouts.Add(1)
	f.eachProxy(func(p *rig.Proxy) { p.Block(way) })
	rest(ctx, lease+500*time.Millisecond)
	f.eachProxy((*rig.Proxy).Heal)
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// darkness is how long nobody hears anything when a process wakes up in the dark: less than what makes a lease run out by itself.
const darkness = 300 * time.Millisecond

// pauseHolder stops a process that holds a lock for longer than its lease, behind the back of the next fault. In the dark, what was told meanwhile
// is lost, and nothing is told when it wakes up: then it has its own clock only.
func (f *faults) pauseHolder(ctx context.Context, dark bool) {
	f.beliefs.mu.Lock()
	chosen := rand.IntN(len(f.agents))
	for i := range f.beliefs.holding {
		chosen = i
		break
	}
	f.beliefs.mu.Unlock()
	a := f.agents[chosen]
	if err := a.Signal(syscall.SIGSTOP); err != nil {
		return
	}
	f.pauses.Add(1)
	if dark {
		f.eachProxy((*rig.Proxy).Cut)
	}
	f.resuming.Go(func() {
		rest(ctx, lease+time.Duration(500+rand.IntN(2500))*time.Millisecond)
		if dark {
			f.network.Lock()
			defer f.network.Unlock()
			f.eachProxy(func(p *rig.Proxy) { p.Block("both") })
			defer f.eachProxy((*rig.Proxy).Heal)
		}
		_ = a.Signal(syscall.SIGCONT) // If it ended, its loop tells.
		if dark {
			rest(ctx, darkness)
		}
	})
}

func (f *faults) eachProxy(do func(*rig.Proxy)) {
	for _, p := range f.cluster.Proxies {
		do(p)
	}
}
