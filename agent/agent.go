package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/config"
	"github.com/tenure-io/tenure/agent/keep"
	"github.com/tenure-io/tenure/agent/mirror"
	"github.com/tenure-io/tenure/agent/probe"
	"github.com/tenure-io/tenure/agent/registry"
	"github.com/tenure-io/tenure/agent/runner"
	"github.com/tenure-io/tenure/agent/service"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
)

// Agent is the agent of one machine.
type Agent struct {
	options  Options
	dir      *keep.Dir
	part     *part
	mu       sync.Mutex // guards node
	node     *tenurev1.Node
	boot     uint64
	registry *registry.Registry
	saver    *saver
	runner   *runner.Runner
	syncer   *antientropy.Syncer
	service  *service.Service
	metrics  *metrics
	rounds   *rounds
	ready    chan struct{}
	serving  Addresses
	// certificates are those for clients; nil without TLS.
	certificates *certs.Source

	// stopSync ends what keeps the catalog like the agent, and syncEnded is closed when it has ended. stop ends the agent.
	stopSync, stop func()
	syncEnded      chan struct{}
}

// Addresses are where an agent listens.
type Addresses struct {
	GRPC string
	// HTTP and Consul are empty if nothing is served there.
	HTTP, Consul string
}

// New opens the agent's directory, and registers what it and the files hold. Run it, or else Close it.
func New(options Options) (*Agent, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	var certificates *certs.Source
	if options.TLS.On() {
		var err error
		if certificates, err = options.TLS.Open(options.Logger); err != nil {
			return nil, err
		}
	}
	dir, err := keep.Open(options.DataDir)
	if err != nil {
		return nil, err
	}
	a := &Agent{options: options, dir: dir, certificates: certificates, rounds: newRounds(), ready: make(chan struct{}), syncEnded: make(chan struct{})}
	a.part = &part{a: a}
	if err = a.load(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	if a.metrics, err = newMetrics(a); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return a, nil
}

// load makes the rooms, and registers what was registered before the agent stopped.
func (a *Agent) load() error {
	stored, err := a.dir.States()
	if err != nil {
		return err
	}
	registered, err := a.dir.Registered()
	if err != nil {
		return err
	}
	a.node = proto.CloneOf(a.options.Node)
	a.boot = a.dir.Node().Boot
	if a.node.GetNodeId() == "" {
		a.node.NodeId = a.dir.Node().ID
	}
	if a.options.Gossip.on() {
		// Until the agent takes part again, members that have not heard of it look there.
		a.node.GossipAddress = a.dir.Node().GossipAddress
	}
	a.registry = registry.New(registry.Options{
		Node: a.node.GetName(), ExecFromFile: a.options.Exec != ExecOff, ExecFromAPI: a.options.Exec == ExecAPI, Changed: a.changed,
	}, stored)
	a.saver = newSaver(a.dir, a.registry, a.options.Logger)
	catalog := &remembering{CatalogServiceClient: a.options.Catalog}
	a.runner = runner.New(runner.Options{
		Registry: a.registry, Node: a.node.GetName(), Ran: a.ran,
		Prober: &mirror.Mirror{Client: catalog, Others: probe.New("tenure-agent/" + a.options.Version)},
	})
	a.syncer = antientropy.New(antientropy.Options{
		Client: catalog, Registry: a.registry, Node: a.self,
		Boot: a.boot, Continue: a.dir.Continue,
		Save: func() error { return a.dir.SetStates(a.registry.States()) },
		Log:  a.options.Logger, Synced: func(err error) { a.metrics.synced(err); a.rounds.ended() },
	})
	a.service = service.New(service.Options{
		Self:     service.Self{Node: a.node.GetName(), NodeID: a.node.GetNodeId(), Version: a.options.Version, Started: time.Now()},
		Registry: a.registry, Save: a.saver.save, Reload: a.Reload, Sync: a.syncer.State, Brief: a.syncer.Brief,
		Boot: func() uint64 { return a.boot }, Header: catalog.last,
		Leave: a.leave, Gossip: a.gossipAddress,
	})
	if _, err := a.Reload(); err != nil {
		return err
	}
	a.restore(registered)
	a.registry.Loaded()
	return nil
}

// self returns what the agent says about its node.
func (a *Agent) self() *tenurev1.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return proto.CloneOf(a.node)
}

// restore registers what calls had registered. What may not be registered any more is left out.
func (a *Agent) restore(registered registry.Content) {
	add := func(of string, c registry.Content) {
		if err := a.registry.Add(registry.Addition{Content: c, Source: registry.API}); err != nil {
			a.options.Logger.Warn("not registered again", zap.String("entry", of), zap.Error(err))
		}
	}
	for _, s := range registered.Services {
		add(s.ID, registry.Content{Services: []registry.Service{s}})
	}
	for _, d := range registered.Checks {
		if d.Kind == nil {
			a.options.Logger.Warn("not registered again: its kind is unknown", zap.String("entry", d.ID))
			continue
		}
		add(d.ID, registry.Content{Checks: []check.Definition{d}})
	}
	// What is on disk is right.
	a.saver.clean()
}

// Reload reads the files again, and returns what they have. A mistake in one keeps all as it was.
func (a *Agent) Reload() (registry.Content, error) {
	if a.options.Services == "" {
		return registry.Content{}, nil
	}
	content, err := config.Load(a.options.Services, config.Options{Exec: a.options.Exec != ExecOff})
	if err != nil {
		return registry.Content{}, err
	}
	if err := a.registry.Add(registry.Addition{Content: content, Source: registry.File, Replace: true}); err != nil {
		return registry.Content{}, fmt.Errorf("register what files have: %w", err)
	}
	return content, nil
}

// changed passes on what happened to the registry.
func (a *Agent) changed(c registry.Change) {
	if c.Registered {
		a.saver.mark()
	}
	a.runner.Changed(c)
	a.syncer.Changed(c)
}

// ran notes a run of a check.
func (a *Agent) ran(d check.Definition, r check.Result, took time.Duration) {
	a.service.Ran(d.ID, time.Now(), took)
	a.metrics.ran(d, r, took)
}

// Local returns a client of the agent inside its process, for what acts as the agent itself.
func (a *Agent) Local() *Local { return newLocal(a, within{a.service}) }

// LocalFor returns a client of the agent inside its process, for what calls the agent for others. Each call is made if decide allows it.
func (a *Agent) LocalFor(decide Decide) *Local {
	return newLocal(a, guarded{within{a.service}, a, decide})
}

// Ready is closed when the agent serves.
func (a *Agent) Ready() <-chan struct{} { return a.ready }

// Addresses returns where the agent listens, once it is ready.
func (a *Agent) Addresses() Addresses { return a.serving }

// Run runs the checks, keeps the catalog like the agent and serves calls until ctx ends. All that is registered stays so.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.Close()) }()
	ctx, a.stop = context.WithCancel(ctx)
	defer a.stop()
	g, ctx := errgroup.WithContext(ctx)
	syncing, stopSync := context.WithCancel(ctx)
	defer stopSync()
	a.stopSync = stopSync
	served, err := a.listen(ctx)
	if err != nil {
		return err
	}
	a.warnOfOthers()
	g.Go(func() error { return served(ctx) })
	g.Go(func() error { return a.runner.Run(ctx) })
	g.Go(func() error {
		defer close(a.syncEnded)
		return a.syncer.Run(syncing)
	})
	g.Go(func() error { return a.part.run(ctx) })
	g.Go(func() error { return a.saver.run(ctx) })
	if a.certificates != nil {
		g.Go(func() error { a.certificates.Run(ctx, nil); return nil })
	}
	close(a.ready)
	return g.Wait()
}

// Close writes what must outlive the agent, and gives its directory back. Run does so itself.
func (a *Agent) Close() error {
	return errors.Join(a.saver.save(), a.dir.SetStates(a.registry.States()), a.dir.Close())
}
