package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/agent/antientropy"
	agentcheck "github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/check"
)

const (
	// agentCheck is a check of each agent, and agentService a service that comes and goes with a check of its own.
	agentCheck, agentService, agentServiceCheck = "job", "web", "web-up"
	// compareEvery is how often an agent compares all: more often than in the product, because a run is short.
	compareEvery = 4 * time.Second
)

// drawAgents gives every third seed with machines agents. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawAgents(d *rand.Rand) {
	if d.IntN(3) == 0 && p.Machines > 0 {
		p.Clients = append(p.Clients, "agents")
	}
}

// machineAgent is the agent of a machine: the product's registry, which outlives a restart, and the product's syncer.
type machineAgent struct {
	c        *client
	mc       *machine
	dice     *rand.Rand
	registry *registry.Registry
	starts   int
	boot     uint64 // as it is stored
	syncer   *antientropy.Syncer
	full     time.Duration // when all is compared next
	tasks    []*task
}

// runAgents starts the agents of all machines.
func runAgents(c *client) {
	for _, mc := range c.w.machines {
		a := &machineAgent{c: c, mc: mc, dice: c.w.dice("agent of " + mc.name)}
		a.registry = registry.New(registry.Options{Node: mc.name}, nil)
		a.registry.Loaded()
		a.add(registry.Content{Checks: []agentcheck.Definition{ttlCheck(agentCheck, "")}})
		mc.agent = a
		if mc.up {
			a.start()
		}
	}
}

// ttlCheck is a check that nobody times.
func ttlCheck(id, service string) agentcheck.Definition {
	return agentcheck.Definition{ID: id, ServiceID: service, Status: agentcheck.Passing, Kind: agentcheck.TTL{TTL: 24 * time.Hour}}
}

func (a *machineAgent) add(content registry.Content) {
	if err := a.registry.Add(registry.Addition{Content: content}); err != nil {
		a.c.w.violated("agent", "%v", err)
	}
}

// start begins a process of the agent, which knows nothing but what is stored.
func (a *machineAgent) start() {
	if a == nil {
		return
	}
	a.starts++
	a.boot++
	a.full = 0
	a.syncer = antientropy.New(antientropy.Options{
		Client: agentCalls{a: a}, Registry: a.registry, Boot: a.boot, Log: zap.NewNop(),
		Node: func() *tenurev1.Node {
			return &tenurev1.Node{Name: a.mc.name, NodeId: uuid.UUID(a.mc.key.ID).String(), Address: a.mc.name}
		},
		Continue: func(boot uint64) error { a.boot = max(a.boot, boot); return nil },
		Save:     func() error { return nil },
	})
	a.later(between(a.dice, 50*time.Millisecond, 500*time.Millisecond))
}

// stop ends the process in the middle of what it does. What it sent is still on its way.
func (a *machineAgent) stop() {
	if a == nil {
		return
	}
	a.starts++
	for _, t := range append([]*task(nil), a.tasks...) {
		t.end()
	}
	a.tasks = nil
}

// later lets the process go on after a while, if it still runs.
func (a *machineAgent) later(pause time.Duration) {
	started := a.starts
	a.c.after(pause, func() {
		if a.starts == started {
			a.work()
			a.round()
		}
	})
}

// work changes what the agent has.
func (a *machineAgent) work() {
	if a.c.w.silent {
		return
	}
	status := choose(a.dice, agentcheck.Passing, agentcheck.Passing, agentcheck.Warning, agentcheck.Critical)
	var err error
	switch a.dice.IntN(6) {
	case 0, 1:
		err = a.registry.Report(agentCheck, agentcheck.Result{Status: status, Output: choose(a.dice, "well", "ill")})
	case 2:
		err = a.registry.Report(agentServiceCheck, agentcheck.Result{Status: status})
	case 3:
		a.add(registry.Content{
			Services: []registry.Service{{ID: agentService, Name: agentService}},
			Checks:   []agentcheck.Definition{ttlCheck(agentServiceCheck, agentService)},
		})
	case 4:
		_, err = a.registry.RemoveService(agentService)
	default:
	}
	if err != nil && !errors.Is(err, registry.ErrCheckNotFound) && !errors.Is(err, registry.ErrServiceNotFound) {
		a.c.w.violated("agent", "%v", err)
	}
}

// round is one round of the syncer.
func (a *machineAgent) round() {
	full := a.c.w.now >= a.full
	if full {
		a.full = a.c.w.now + between(a.dice, compareEvery/2, compareEvery)
	}
	startTask(&a.tasks, func(ctx context.Context) {
		pause := expo(a.dice, 500*time.Millisecond)
		if a.syncer.Round(ctx, full, full) != nil {
			pause = between(a.dice, 0, time.Second)
		}
		a.later(pause)
	})
}

// agentCalls are an agent's calls to the cluster.
type agentCalls struct {
	tenurev1.CatalogServiceClient // Every other method panics.

	a *machineAgent
}

// begin makes a call, and waits for the answer; where nobody listens, it tries somewhere else. Some calls are slow, so that the agent may have given
// them up when they arrive.
func (x agentCalls) begin(ctx context.Context, ask *ask, send func(r *life, k *call, answer func(reply))) reply {
	var slow time.Duration
	if x.a.dice.IntN(8) == 0 && !x.a.c.w.silent {
		slow = between(x.a.dice, 0, 5*time.Second)
	}
	for tries := 1; ; tries++ {
		rep := await(ctx, func(bring func(reply)) {
			k := &call{op: &check.Op{Kind: "catalog"}, tries: 1, ask: ask, done: bring}
			k.send = func(r *life, k *call, answer func(reply)) {
				r.after(slow, func() { send(r, k, answer) })
			}
			x.a.c.begin(k)
		})
		if !errors.Is(rep.err, errDown) || tries == triesMax {
			return rep
		}
		x.a.c.home++
	}
}

// SyncNode proposes what the member's service does.
func (x agentCalls) SyncNode(ctx context.Context, r *tenurev1.SyncNodeRequest, _ ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	sync, err := catalog.SyncFromProto(r)
	if err != nil {
		return nil, statusOf(err)
	}
	cmd := &storev1.Command{WallTimeMs: x.a.c.w.now.Milliseconds(), Kind: &storev1.Command_SyncNode{SyncNode: sync}}
	var ask *ask
	if x.a.c.w.plan.Tokens {
		ask = askOf(cmd)
	}
	rep := x.begin(ctx, ask, func(r *life, k *call, answer func(reply)) { guarding{r}.change(k, cmd, answer) })
	if rep.err != nil {
		return nil, statusOf(rep.err)
	}
	if f := rep.result.GetFailure(); f != nil {
		return nil, statusOf(reason.OfFailure(f, false))
	}
	return &tenurev1.SyncNodeResponse{}, nil
}

// GetNode reads the node as the member's service does, in one page.
func (x agentCalls) GetNode(ctx context.Context, r *tenurev1.GetNodeRequest, _ ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	ask := x.a.c.asks(tenurev1.CatalogService_GetNode_FullMethodName, r)
	rep := x.begin(ctx, ask, func(l *life, k *call, answer func(reply)) {
		l.readState(k, false, func(s *storage.Reader) (any, error) { return readNode(s, r.GetNode()) }, answer)
	})
	if rep.err != nil {
		return nil, statusOf(rep.err)
	}
	found, _ := rep.reader.(*tenurev1.GetNodeResponse)
	if found.GetNode() == nil {
		return nil, statusOf(reason.New(tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "node %q is not registered", r.GetNode()))
	}
	return found, nil
}

// readNode reads a node with all that is on it.
func readNode(s *storage.Reader, name string) (*tenurev1.GetNodeResponse, error) {
	out := &tenurev1.GetNodeResponse{}
	n, found, err := s.Node(name)
	if err != nil || !found {
		return out, err
	}
	out.Node = catalog.NodeToProto(n.Record, n.Tally)
	err = s.Services(name, storage.EntryAt{}, func(_ storage.EntryAt, of *storev1.ServiceRecord) (bool, error) {
		out.Services = append(out.Services, catalog.ServiceToProto(of))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return out, s.Checks(name, storage.EntryAt{}, func(_ storage.EntryAt, of *storev1.CheckRecord) (bool, error) {
		out.Checks = append(out.Checks, catalog.CheckToProto(of))
		return true, nil
	})
}

// statusOf returns an error as a caller of the API sees it.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	s, _ := reason.Status(err, "")
	return s.Err()
}
