package antientropy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// costs returns how many allocations a report with the round that writes it takes, and the answer to a caller that waits, at an agent with n services
// that have a check each.
func costs(t *testing.T, n int) (round, waiter float64) {
	t.Helper()
	c := newCatalog()
	c.pageSize = 500
	a := &agent{t: t}
	a.Registry = registry.New(registry.Options{Node: "n1", Changed: func(change registry.Change) {
		if a.sync != nil {
			a.sync.Changed(change)
		}
	}}, nil)
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		a.add([]string{id}, "c@"+id)
	}
	a.Loaded()
	a.sync = antientropy.New(antientropy.Options{
		Client: c, Registry: a.Registry, Boot: 1, Log: zap.NewNop(),
		Node: func() *tenurev1.Node {
			return &tenurev1.Node{Name: "n1", NodeId: "7d1f4cf4-6a3c-4c3e-9a63-0a30c8f3cf01"}
		},
		Continue: func(uint64) error { return nil },
		Save:     func() error { return nil },
	})
	if err := a.sync.Round(t.Context(), true, true); err != nil {
		t.Fatal(err)
	}
	status := check.Passing
	round = testing.AllocsPerRun(10, func() {
		status = check.Passing + check.Warning - status
		if err := a.Report("c@s3", check.Result{Status: status}); err != nil {
			t.Fatal(err)
		}
		if err := a.sync.Round(t.Context(), false, false); err != nil {
			t.Fatal(err)
		}
	})
	if got := c.checks["c@s3"].GetStatus(); int(got) != int(status) {
		t.Errorf("the catalog has %v, want %v", got, status)
	}
	waiter = testing.AllocsPerRun(10, func() {
		if s := a.sync.Brief(); s.Missing != 0 || !a.sync.Settled(a.sync.Changes()) {
			t.Errorf("state: got %+v, want no difference", s)
		}
	})
	return round, waiter
}

// An agent of a large machine has hundreds of reports a second, and each waits for the catalog. What is measured is how many allocations
// the comparison takes, without Save, which writes the states of all checks before a round that changes the catalog.
func TestARoundWithAReportAllocatesTheSameHoweverMuchIsRegistered(t *testing.T) {
	fewRound, fewWaiter := costs(t, 10)
	manyRound, manyWaiter := costs(t, 1_000)
	if manyRound > 2*fewRound {
		t.Errorf("a report with its round: got %v allocations with 1000 services, and %v with 10", manyRound, fewRound)
	}
	if manyWaiter > 2*fewWaiter {
		t.Errorf("the answer to a caller that waits: got %v allocations with 1000 services, and %v with 10", manyWaiter, fewWaiter)
	}
}

// vary makes one change of few rows, and asks for the state.
func (a *agent) vary(random *rand.Rand) {
	service := fmt.Sprintf("s%d", random.IntN(3))
	d := check.Definition{ID: fmt.Sprintf("c%d", random.IntN(4)), ServiceID: service, Kind: check.TTL{TTL: 24 * time.Hour}}
	switch random.IntN(6) {
	case 0:
		of := registry.Service{ID: service, Name: []string{"web", "api"}[random.IntN(2)], Port: uint32(random.IntN(2)), TagOverride: random.IntN(2) == 0}
		content := registry.Content{Services: []registry.Service{of}}
		if random.IntN(2) == 0 {
			content.Checks = []check.Definition{d}
		}
		if err := a.Add(registry.Addition{Content: content}); err != nil {
			a.t.Error(err)
		}
	case 1:
		_ = a.Add(registry.Addition{Content: registry.Content{Checks: []check.Definition{d}}}) // The service may be missing.
	case 2:
		_, _ = a.RemoveService(service)
	case 3:
		_, _ = a.RemoveCheck(d.ID)
	default:
		_ = a.Report(d.ID, check.Result{Status: check.Status(1 + random.IntN(3)), Output: fmt.Sprint(random.IntN(2))})
	}
	a.sync.State()
}

// like fails unless the catalog has what the agent has, but for outputs, and tags that others may change.
func (c *catalog) like(t *testing.T, a *agent) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	services, checks := a.Rows()
	if len(c.services) != len(services) || len(c.checks) != len(checks) {
		t.Errorf("the catalog has %d services and %d checks, want %d and %d", len(c.services), len(c.checks), len(services), len(checks))
	}
	for _, want := range services {
		if is := c.services[want.ID]; is == nil || is.GetName() != want.Name || is.GetPort() != want.Port {
			t.Errorf("service %s is %v, want %+v", want.ID, is, want)
		}
	}
	for _, want := range checks {
		d := want.Definition
		if is := c.checks[d.ID]; is == nil || is.GetServiceId() != d.ServiceID || int(is.GetStatus()) != int(want.State.Status) {
			t.Errorf("check %s is %v, want %+v", d.ID, is, want)
		}
	}
}

// What is kept up row by row is what a comparison of all rows finds: programs that check their invariants assert it whenever the state is asked for.
// Here entries are refused and taken, rights come and go, services are renamed, checks move, tags are overridden, answers are lost, nodes are deleted, and
// several rows change while one call is made. Where the agent says that nothing is missing, the catalog is like it.
func TestTheStateIsRightInAnyHistory(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, luck := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 3))
			c := newCatalog()
			c.entriesMax = int(seed % 3)
			a := start(t, c, 1, func(*agent) {})
			c.mu.Lock()
			c.fail = func(string) (error, bool) {
				for range max(0, luck.IntN(10)-4) {
					a.vary(luck)
				}
				switch luck.IntN(40) {
				case 0:
					return status.Error(codes.Unavailable, "the answer was lost"), true
				case 1:
					return status.Error(codes.Unavailable, "no leader"), false
				default:
					return nil, true
				}
			}
			c.mu.Unlock()
			for range 200 {
				a.vary(random)
				wait := time.Duration(random.IntN(3_000)) * time.Millisecond
				c.mu.Lock()
				switch id := fmt.Sprintf("%c%d", "sc"[random.IntN(2)], random.IntN(3)); random.IntN(20) {
				case 0, 1:
					c.refuse[id] = true
				case 2, 3:
					delete(c.refuse, id)
				case 4, 5:
					if s := c.services[id]; s != nil {
						s.Tags = []string{fmt.Sprint(random.IntN(2))}
					}
				case 6:
					c.deny[id] = true
				case 7, 8:
					clear(c.deny)
				case 9:
					c.lose()
					wait = time.Minute // The agent learns it with the next comparison.
				}
				c.mu.Unlock()
				pass(wait)
				s := a.sync.State()
				if len(s.OutOfSync) > s.Missing || s.Missing == s.Refused && !a.sync.Settled(a.sync.Changes()) {
					t.Errorf("seed %d: state %+v", seed, s)
				}
				if s.Missing == 0 {
					c.like(t, a)
				}
			}
			c.mu.Lock()
			clear(c.refuse)
			clear(c.deny)
			c.fail = func(string) (error, bool) { return nil, true }
			c.mu.Unlock()
			pass(3 * time.Minute)
			if s := a.sync.State(); s.Missing != 0 || s.Err != nil {
				t.Errorf("seed %d: state %+v", seed, s)
			}
			c.like(t, a)
		})
	}
}
