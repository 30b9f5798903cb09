package antientropy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// costs returns how many allocations a report with the round that writes it takes, and the answer to one who waits, at an agent with n services
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

// An agent of a large machine has hundreds of reports a second, and each waits for the catalog.
func TestAReportCostsTheSameHoweverMuchIsRegistered(t *testing.T) {
	fewRound, fewWaiter := costs(t, 10)
	manyRound, manyWaiter := costs(t, 1_000)
	if manyRound > 2*fewRound {
		t.Errorf("a report with its round: got %v allocations with 1000 services, and %v with 10", manyRound, fewRound)
	}
	if manyWaiter > 2*fewWaiter {
		t.Errorf("the answer to one who waits: got %v allocations with 1000 services, and %v with 10", manyWaiter, fewWaiter)
	}
}

// vary makes one change of few rows, and asks for the state.
func (a *agent) vary(random *rand.Rand) {
	service := fmt.Sprintf("s%d", random.IntN(3))
	d := check.Definition{ID: fmt.Sprintf("c%d", random.IntN(4)), ServiceID: service, Kind: check.TTL{TTL: 24 * time.Hour}}
	switch random.IntN(6) {
	case 0:
		of := registry.Service{ID: service, Name: "web", Port: uint32(random.IntN(2)), TagOverride: random.IntN(2) == 0}
		if err := a.Add(registry.Addition{Content: registry.Content{Services: []registry.Service{of}}}); err != nil {
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

// What is kept up row by row is what a comparison of all rows finds: programs that check their invariants assert it whenever the state is asked for.
// Here entries are refused and taken, checks move, tags are overridden, and rows change while calls are made.
func TestTheStateIsRightInAnyHistory(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, luck := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 3))
			c := newCatalog()
			a := start(t, c, 1, func(*agent) {})
			c.mu.Lock()
			c.fail = func(string) (error, bool) {
				if luck.IntN(3) == 0 {
					a.vary(luck)
				}
				return nil, luck.IntN(20) > 0
			}
			c.mu.Unlock()
			for range 200 {
				a.vary(random)
				c.mu.Lock()
				switch id := fmt.Sprintf("%c%d", "sc"[random.IntN(2)], random.IntN(3)); random.IntN(10) {
				case 0:
					c.refuse[id] = true
				case 1:
					delete(c.refuse, id)
				case 2:
					if s := c.services[id]; s != nil {
						s.Tags = []string{fmt.Sprint(random.IntN(2))}
					}
				}
				c.mu.Unlock()
				pass(time.Duration(random.IntN(3_000)) * time.Millisecond)
				if s := a.sync.State(); len(s.OutOfSync) > s.Missing || s.Missing == s.Refused && !a.sync.Settled(a.sync.Changes()) {
					t.Errorf("seed %d: state %+v", seed, s)
				}
			}
			c.mu.Lock()
			clear(c.refuse)
			c.fail = func(string) (error, bool) { return nil, true }
			c.mu.Unlock()
			pass(3 * time.Minute)
			services, checks := a.Rows()
			if s := a.sync.State(); s.Missing != 0 || s.Err != nil || len(c.services) != len(services) || len(c.checks) != len(checks) {
				t.Errorf("seed %d: state %+v", seed, s)
			}
		})
	}
}
