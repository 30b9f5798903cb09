package antientropy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// agent is a registry that is kept in a catalog.
type agent struct {
	*registry.Registry
	t     *testing.T
	sync  *antientropy.Syncer
	boot  uint64
	saved int
	logs  *observer.ObservedLogs
}

// start begins an agent, and waits until it has nothing to do.
func start(t *testing.T, c *catalog, boot uint64, fill func(*agent)) *agent {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	a := &agent{t: t, boot: boot, logs: logs}
	a.Registry = registry.New(registry.Options{Node: "n1", Changed: func(change registry.Change) {
		if a.sync != nil {
			a.sync.Changed(change)
		}
	}}, nil)
	a.Loaded()
	fill(a)
	a.sync = antientropy.New(antientropy.Options{
		Client: c, Registry: a.Registry, Boot: boot, Log: zap.New(core),
		Node: func() *tenurev1.Node {
			return &tenurev1.Node{Name: "n1", NodeId: "7d1f4cf4-6a3c-4c3e-9a63-0a30c8f3cf01", Address: "10.0.0.1", Meta: map[string]string{"rack": "a"}}
		},
		Continue: func(boot uint64) error { a.boot = max(a.boot, boot); return nil },
		Save:     func() error { a.saved++; return nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.sync.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return a
}

func (a *agent) add(services []string, checks ...string) {
	a.t.Helper()
	var content registry.Content
	for _, id := range services {
		content.Services = append(content.Services, registry.Service{ID: id, Name: "web", Tags: []string{"b", "a"}})
	}
	for _, id := range checks {
		d := check.Definition{ID: id, Kind: check.TTL{TTL: 24 * time.Hour}}
		if _, of, is := strings.Cut(id, "@"); is {
			d.ServiceID = of
		}
		content.Checks = append(content.Checks, d)
	}
	if err := a.Add(registry.Addition{Content: content}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) report(id string, s check.Status, output string) {
	a.t.Helper()
	if err := a.Report(id, check.Result{Status: s, Output: output}); err != nil {
		a.t.Fatal(err)
	}
	synctest.Wait()
}

// pass lets the bubble's time go on.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// want fails unless these calls were made since the last time; "read" alone is left out.
func (c *catalog) want(t *testing.T, calls ...string) {
	t.Helper()
	got := slices.DeleteFunc(c.taken(), func(call string) bool { return strings.HasSuffix(call, "read") })
	if !slices.Equal(got, calls) {
		t.Errorf("calls: got %q, want %q", got, calls)
	}
}

func TestChangesAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) { a.add([]string{"w"}, "c@w", "d") })
		c.want(t, "0s: sync node +w +c@w=critical +d=critical")
		if a.saved == 0 {
			t.Error("states were not saved before the catalog had them")
		}
		pass(5 * time.Second)
		c.want(t)
		// A status goes at once, and the output with it.
		a.report("d", check.Passing, "fine")
		c.want(t, "5s: sync +d=passing")
		// Other changes wait for more of them, but not long.
		a.add([]string{"x"})
		pass(50 * time.Millisecond)
		a.add([]string{"y"})
		c.want(t)
		pass(50 * time.Millisecond)
		c.want(t, "5.1s: sync +x +y")
		if _, err := a.RemoveService("w"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		c.want(t, "5.2s: sync -w")
		// An output alone is written once a minute.
		for i := range 120 {
			a.report("d", check.Passing, fmt.Sprint("fine ", i))
			pass(time.Second)
		}
		n := 0
		for _, call := range c.taken() {
			if strings.Contains(call, "sync +d=passing") {
				n++
			} else if !strings.HasSuffix(call, "read") {
				t.Errorf("call: got %q", call)
			}
		}
		if n < 1 || n > 2 {
			t.Errorf("outputs in two minutes: got %d, want 1 or 2", n)
		}
		pass(time.Minute)
		c.taken()
		pass(time.Hour)
		c.want(t)
		if got := c.checks["d"].GetOutput(); got != "fine 119" {
			t.Errorf("output in the end: got %q, want the last one", got)
		}
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil || time.Since(s.LastTime) > time.Minute {
			t.Errorf("state: got %+v, want no difference", s)
		}
	})
}

func TestWhatOthersRegisteredIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		start(t, c, 1, func(a *agent) { a.add([]string{"w"}, "c") })
		c.mu.Lock()
		c.services["theirs"] = &tenurev1.Service{ServiceId: "theirs", Origin: direct}
		c.checks["theirs"] = &tenurev1.Check{CheckId: "theirs", ServiceId: "theirs", Origin: direct}
		c.checks["liveness"] = &tenurev1.Check{CheckId: "liveness", Origin: pool}
		// These are of an agent from before: this one does not have them.
		c.services["old"] = &tenurev1.Service{ServiceId: "old", Origin: ofAgent}
		c.checks["old"] = &tenurev1.Check{CheckId: "old", Origin: ofAgent}
		c.checks["old2"] = &tenurev1.Check{CheckId: "old2", ServiceId: "old", Origin: ofAgent}
		// And what is the agent's was changed by others.
		c.services["w"].Tags = []string{"stolen"}
		c.checks["c"].Status = tenurev1.CheckStatus_CHECK_STATUS_PASSING
		c.node.Address = "elsewhere"
		c.mu.Unlock()
		c.taken()
		pass(time.Minute)
		calls := slices.DeleteFunc(c.taken(), func(call string) bool { return strings.HasSuffix(call, "read") })
		if len(calls) != 1 || !strings.HasSuffix(calls[0], "sync node +w +c=critical -old -old") {
			t.Errorf("calls: got %q, want all put right at once", calls)
		}
		if c.services["theirs"] == nil || c.checks["theirs"] == nil || c.checks["liveness"] == nil {
			t.Error("what others registered is gone")
		}
		if got := c.services["w"].GetTags(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("tags: got %q", got)
		}
	})
}

func TestTagsThatOthersMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(*agent) {})
		if err := a.Add(registry.Addition{Content: registry.Content{Services: []registry.Service{{Name: "w", Tags: []string{"a"}, TagOverride: true}}}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		c.mu.Lock()
		c.services["w"].Tags = []string{"theirs"}
		c.services["w"].Port = 1
		c.mu.Unlock()
		pass(2 * time.Minute)
		if w := c.services["w"]; !slices.Equal(w.GetTags(), []string{"theirs"}) || w.GetPort() != 0 {
			t.Errorf("got tags %q and port %d, want those tags and the agent's port", w.GetTags(), w.GetPort())
		}
		// They stay also if the agent changes the instance before it compares all again.
		c.mu.Lock()
		c.services["w"].Tags = []string{"primary"}
		c.mu.Unlock()
		if err := a.Add(registry.Addition{Content: registry.Content{Services: []registry.Service{{Name: "w", Tags: []string{"a"}, TagOverride: true, Port: 2}}}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if w := c.services["w"]; !slices.Equal(w.GetTags(), []string{"primary"}) || w.GetPort() != 2 {
			t.Errorf("got tags %q and port %d, want their tags and the agent's port", w.GetTags(), w.GetPort())
		}
	})
}

func TestManyRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) {
			for i := range 200 {
				id := fmt.Sprintf("s%d", i)
				a.add([]string{id}, "c@"+id, "d@"+id)
			}
		})
		if len(c.services) != 200 || len(c.checks) != 400 || c.largest > 128 {
			t.Errorf("got %d services and %d checks in calls of up to %d, want 200 and 400 in calls of up to 128", len(c.services), len(c.checks), c.largest)
		}
		for i := range 200 {
			if _, err := a.RemoveService(fmt.Sprintf("s%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		if len(c.services)+len(c.checks) != 0 {
			t.Errorf("%d services and %d checks are left", len(c.services), len(c.checks))
		}
	})
}

// An instance that is registered again while its deletion is on its way comes back with its checks, which went with it.
func TestAnInstanceThatIsRegisteredAgainDuringItsDeletionKeepsItsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) { a.add([]string{"w"}, "c@w") })
		c.want(t, "0s: sync node +w +c@w=critical")
		c.mu.Lock()
		c.fail = func(string) (error, bool) {
			c.fail = func(string) (error, bool) { return nil, true }
			a.add([]string{"w"}, "c@w")
			return nil, true
		}
		c.mu.Unlock()
		if _, err := a.RemoveService("w"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		c.want(t, "100ms: sync -w", "100ms: sync +w +c@w=critical")
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil || c.services["w"] == nil || c.checks["c@w"] == nil {
			t.Errorf("state: got %+v with %v and %v, want both in the catalog", s, c.services, c.checks)
		}
	})
}

// A directory that is an old copy counts fewer starts than the cluster knows.
func TestNumbersContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.last.Boot, c.last.Number = 7, 40
		a := start(t, c, 3, func(a *agent) { a.add([]string{"w"}) })
		c.want(t, "0s: outdated 3/1", "0s: sync node +w")
		if c.last.GetBoot() != 7 || c.last.GetNumber() != 41 || a.boot != 7 {
			t.Errorf("number: got %d/%d and boot %d, want 7/41 and 7", c.last.GetBoot(), c.last.GetNumber(), a.boot)
		}
		// Another agent with the same id took a number meanwhile.
		c.mu.Lock()
		c.last.Number = 100
		c.mu.Unlock()
		a.add([]string{"x"})
		pass(time.Second)
		c.want(t, "100ms: outdated 7/42", "100ms: sync +x")
	})
}

func TestFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		down := true
		c.fail = func(string) (error, bool) {
			if down {
				return status.Error(codes.Unavailable, "no leader"), false
			}
			return nil, true
		}
		a := start(t, c, 1, func(a *agent) { a.add([]string{"w"}) })
		pass(10 * time.Minute)
		if n := len(c.taken()); n < 20 || n > 400 {
			t.Errorf("tries in ten minutes: got %d", n)
		}
		if s := a.sync.State(); s.Err == nil || !s.OutOfSync[antientropy.ServiceKey("w")] || !s.LastTime.IsZero() {
			t.Errorf("state: got %+v, want the failure", s)
		}
		c.mu.Lock()
		down = false
		c.mu.Unlock()
		pass(30 * time.Second)
		if c.services["w"] == nil || a.sync.State().Err != nil {
			t.Errorf("30 s after the failures: got %v and %+v", c.services, a.sync.State())
		}
	})
}

// Whoever starts an agent that reaches no member hears why soon.
func TestTheFirstCallFailsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.silent = true
		a := start(t, c, 1, func(*agent) {})
		pass(2 * time.Second)
		if s := a.sync.State(); s.Err == nil {
			t.Errorf("state: got %+v, want the failure", s)
		}
		if got := a.logs.FilterMessage("sync failed").Len(); got != 1 {
			t.Errorf("%d failures are logged, want one", got)
		}
	})
}

// Another machine has the node's name. While it lives, this one is refused, and says so once; then it says that it has taken its place.
func TestOnlyWhoTakesAPlaceSaysSo(t *testing.T) {
	const refused, took = "sync failed", "another machine was registered under the name of this node; this one has taken its place"
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.node = &tenurev1.Node{Name: "n1", NodeId: "00000000-0000-4000-8000-000000000001"}
		lives := true
		c.fail = func(method string) (error, bool) {
			if lives && method == "SyncNode" {
				return failure(codes.AlreadyExists, "NODE_ID_CONFLICT", nil), false
			}
			return nil, true
		}
		a := start(t, c, 1, func(*agent) {})
		pass(5 * time.Minute)
		if a.logs.FilterMessage(refused).Len() != 1 || a.logs.FilterMessage(took).Len() != 0 || a.sync.State().Err == nil {
			t.Errorf("while the other lives: got %v and %v", a.logs.All(), a.sync.State().Err)
		}
		c.mu.Lock()
		lives = false
		c.mu.Unlock()
		pass(5 * time.Minute)
		if a.logs.FilterMessage(took).Len() != 1 || a.sync.State().Err != nil {
			t.Errorf("once it does not: got %v and %v", a.logs.All(), a.sync.State().Err)
		}
	})
}

// Whatever happens to calls, and whatever others write, in the end the catalog is like the agent, and has theirs as well.
func TestAnyHistory(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, luck := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			c := newCatalog()
			trouble := true
			c.fail = func(string) (error, bool) {
				switch n := luck.IntN(10); {
				case !trouble || n > 2:
					return nil, true
				case n == 2:
					return status.Error(codes.Unavailable, "the answer was lost"), true
				default:
					return status.Error(codes.Unavailable, "no leader"), false
				}
			}
			a := start(t, c, 1, func(*agent) {})
			for range 300 {
				history(random, a, c)
				pass(time.Duration(random.IntN(3_000)) * time.Millisecond)
			}
			c.mu.Lock()
			trouble = false
			c.mu.Unlock()
			pass(3 * time.Minute)
			if s := a.sync.State(); s.Missing != 0 || s.Err != nil {
				t.Errorf("seed %d: state %+v", seed, s)
			}
			services, checks := a.Rows()
			n := 0
			for _, s := range c.services {
				if s.GetOrigin() == ofAgent {
					n++
				}
			}
			if n != len(services) {
				t.Errorf("seed %d: the catalog has %d of the agent's services, want %d", seed, n, len(services))
			}
			for _, of := range checks {
				is := c.checks[of.Definition.ID]
				if is.GetOutput() != of.State.Output || strings.ToLower(strings.TrimPrefix(is.GetStatus().String(), "CHECK_STATUS_")) != of.State.Status.String() {
					t.Errorf("seed %d: check %s is %v, want %v", seed, of.Definition.ID, is, of.State)
				}
			}
			if c.node != nil && c.checks["theirs"] == nil {
				t.Errorf("seed %d: what another call registered is gone", seed)
			}
		})
	}
}

// history makes one change, as an agent's users or others do.
func history(random *rand.Rand, a *agent, c *catalog) {
	service, id := fmt.Sprintf("s%d", random.IntN(4)), fmt.Sprintf("c%d", random.IntN(6))
	switch random.IntN(8) {
	case 0:
		a.add([]string{service}, fmt.Sprintf("own@%s", service))
	case 1:
		a.add(nil, id)
	case 2:
		_, _ = a.RemoveService(service)
	case 3:
		_, _ = a.RemoveCheck(id)
	case 4, 5:
		result := check.Result{Status: check.Status(1 + random.IntN(3)), Output: fmt.Sprint(random.IntN(3))}
		if err := a.Report(id, result); err != nil && !errors.Is(err, registry.ErrCheckNotFound) {
			a.t.Fatal(err)
		}
	case 6:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.checks["theirs"] = &tenurev1.Check{CheckId: "theirs", Origin: direct}
		if is := c.checks[id]; is != nil {
			is.Status = tenurev1.CheckStatus_CHECK_STATUS_WARNING
		}
	default:
		// A person deregisters the node.
		if random.IntN(10) == 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.lose()
			c.checks["theirs"] = &tenurev1.Check{CheckId: "theirs", Origin: direct}
		}
	}
}
