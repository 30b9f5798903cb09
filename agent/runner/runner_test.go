package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	"github.com/tenure-io/tenure/agent/runner"
)

// prober answers as it is told, and remembers when it was asked.
type prober struct {
	mu     sync.Mutex
	begin  time.Time
	asked  []string
	status map[string]check.Status
	takes  map[string]time.Duration
	busy   map[string]bool
}

func newProber() *prober {
	return &prober{begin: time.Now(), status: map[string]check.Status{}, takes: map[string]time.Duration{}, busy: map[string]bool{}}
}

func (p *prober) Probe(ctx context.Context, kind check.Kind, timeout time.Duration) (check.Result, bool) {
	of := fmt.Sprint(kind)
	p.mu.Lock()
	if p.busy[of] {
		p.asked = append(p.asked, of+" overlaps")
	}
	p.busy[of] = true
	p.asked = append(p.asked, fmt.Sprintf("%s at %s", of, time.Since(p.begin)))
	takes, status := min(p.takes[of], timeout), p.status[of]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.busy[of] = false
		p.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return check.Result{}, false
	case <-time.After(takes):
		return check.Result{Status: status, Output: of}, true
	}
}

// taken returns what was asked since the last time.
func (p *prober) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// start runs a registry's checks in the background, and returns it.
func start(t *testing.T, p *prober, stored map[string]check.State, load func(*registry.Registry)) *registry.Registry {
	t.Helper()
	var run *runner.Runner
	held := registry.New(registry.Options{Node: "here", Changed: func(c registry.Change) {
		if run != nil {
			run.Changed(c)
		}
	}}, stored)
	load(held)
	held.Loaded()
	run = runner.New(runner.Options{Registry: held, Prober: p, Node: "here"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return held
}

func add(t *testing.T, r *registry.Registry, services []registry.Service, checks ...check.Definition) {
	t.Helper()
	if err := r.Add(registry.Addition{Content: registry.Content{Services: services, Checks: checks}}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func tcp(id, address string, interval time.Duration) check.Definition {
	return check.Definition{ID: id, Kind: check.TCP{Address: address}, Interval: interval, Timeout: time.Minute}
}

// pass lets the bubble's time go on.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func want(t *testing.T, p *prober, asked ...string) {
	t.Helper()
	if got := p.taken(); !slices.Equal(got, asked) {
		t.Errorf("asked: got %q, want %q", got, asked)
	}
}

func status(t *testing.T, r *registry.Registry, id string) check.Status {
	t.Helper()
	c, err := r.Check(id)
	if err != nil {
		t.Fatal(err)
	}
	return c.State.Status
}

func TestRunsByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber()
		p.status["{a:1}"] = check.Passing
		r := start(t, p, nil, func(r *registry.Registry) { add(t, r, nil, tcp("a", "a:1", 5*time.Second)) })
		want(t, p, "{a:1} at 0s")
		if got := status(t, r, "a"); got != check.Passing {
			t.Errorf("status: got %s, want passing", got)
		}
		pass(11 * time.Second)
		want(t, p, "{a:1} at 5s", "{a:1} at 10s")
		// A new check runs at once, and so does another definition.
		add(t, r, nil, tcp("b", "b:1", 10*time.Second))
		want(t, p, "{b:1} at 11s")
		add(t, r, nil, tcp("a", "a:2", 5*time.Second))
		want(t, p, "{a:2} at 11s")
		if _, err := r.RemoveCheck("b"); err != nil {
			t.Fatal(err)
		}
		pass(20 * time.Second)
		want(t, p, "{a:2} at 16s", "{a:2} at 21s", "{a:2} at 26s", "{a:2} at 31s")
	})
}

func TestRunsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber()
		p.takes["{a:1}"] = 12 * time.Second
		r := start(t, p, nil, func(r *registry.Registry) { add(t, r, nil, tcp("a", "a:1", 5*time.Second)) })
		pass(31 * time.Second)
		want(t, p, "{a:1} at 0s", "{a:1} at 15s", "{a:1} at 30s")
		// One that is replaced while it runs is stopped first, and has no result.
		again := tcp("a", "a:1", 5*time.Second)
		again.Notes = "changed"
		add(t, r, nil, again)
		want(t, p, "{a:1} at 31s")
		pass(12 * time.Second)
		if got := status(t, r, "a"); got != check.Critical {
			t.Errorf("status: got %s, want critical", got)
		}
	})
}

// After a restart every check has the state that it had, and its next run is some time within its interval.
func TestRestartIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber()
		stored := map[string]check.State{}
		var checks []check.Definition
		for i := range 100 {
			id := fmt.Sprintf("c%d", i)
			stored[id] = check.State{Status: check.Passing}
			checks = append(checks, tcp(id, fmt.Sprintf("a:%d", i+1), time.Minute))
		}
		r := start(t, p, stored, func(r *registry.Registry) { add(t, r, nil, checks...) })
		if n := len(p.taken()); n > 50 {
			t.Errorf("%d of 100 checks ran at once after a restart", n)
		}
		if got := status(t, r, "c1"); got != check.Passing {
			t.Errorf("status: got %s, want passing", got)
		}
		pass(time.Minute)
		pass(time.Minute)
		seen := map[string]bool{}
		for _, of := range p.taken() {
			var address string
			_, _ = fmt.Sscanf(of, "%s at", &address)
			seen[address] = true
		}
		if len(seen) != 100 {
			t.Errorf("%d of 100 checks ran within two intervals", len(seen))
		}
	})
}

func TestTTLsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber()
		ttl := check.Definition{ID: "t", ServiceID: "s", Kind: check.TTL{TTL: 10 * time.Second}, DeregisterCriticalAfter: time.Minute}
		r := start(t, p, nil, func(r *registry.Registry) { add(t, r, []registry.Service{{Name: "s"}}, ttl) })
		for range 5 {
			if err := r.Report("t", check.Result{Status: check.Passing}); err != nil {
				t.Fatal(err)
			}
			pass(9 * time.Second)
			if got := status(t, r, "t"); got != check.Passing {
				t.Fatalf("9 s after a report: got %s, want passing", got)
			}
		}
		pass(time.Second)
		if got := status(t, r, "t"); got != check.Critical {
			t.Errorf("10 s after the last report: got %s, want critical", got)
		}
		pass(time.Minute)
		if _, err := r.Check("t"); err == nil {
			t.Error("a minute later the check is still there")
		}
		want(t, p)
	})
}

func TestAliasOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber()
		p.status["{there s}"] = check.Warning
		r := start(t, p, nil, func(r *registry.Registry) {
			add(t, r, nil, check.Definition{ID: "a", Kind: check.Alias{Node: "there", Service: "s"}}, check.Definition{ID: "own", Kind: check.Alias{Node: "here"}})
		})
		pass(10 * time.Second)
		want(t, p, "{there s} at 0s", "{there s} at 10s")
		if got := status(t, r, "a"); got != check.Warning {
			t.Errorf("status: got %s, want warning", got)
		}
	})
}
