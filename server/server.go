package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/cluster"
	"github.com/tenure-io/tenure/server/compaction"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/server/frames"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/pool"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/renewal"
	"github.com/tenure-io/tenure/server/service"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// ErrRan means that Run was called before.
var ErrRan = errors.New("server ran already")

// Server is one member with everything that it serves.
type Server struct {
	config Config
	ran    atomic.Bool
	ready  chan struct{}

	mu        sync.Mutex // guards addresses
	addresses Addresses
}

// New checks the config. It opens nothing; Run does.
func New(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Server{config: config.withDefaults(), ready: make(chan struct{})}, nil
}

// Ready is closed when everything is served, and, for a member that votes alone, it leads.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Addresses are where the member listens; empty before Ready is closed.
func (s *Server) Addresses() Addresses {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses
}

// closers is what is to be undone, the last thing first.
type closers []func() error

// push adds something to be undone.
func (c *closers) push(undo func() error) { *c = append(*c, undo) }

// close undoes everything.
func (c *closers) close() error {
	var all []error
	for _, undo := range slices.Backward(*c) {
		all = append(all, undo())
	}
	return errors.Join(all...)
}

// Run serves until ctx ends or the member fails. It returns nil after ctx ended, and only when everything it opened is
// closed: streams end with STOPPING, other calls have the grace to end by themselves, then the member stops.
func (s *Server) Run(ctx context.Context) (err error) {
	if !s.ran.CompareAndSwap(false, true) {
		return ErrRan
	}
	life, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r := &running{config: s.config, fail: fail, log: s.config.Logger}
	defer func() { err = errors.Join(err, r.stack.close()) }()
	if err := r.start(life); err != nil {
		if ctx.Err() != nil {
			// It was told to stop while it waited for others.
			return nil
		}
		return fmt.Errorf("start: %w", err)
	}
	if r.awaitLeader(life) {
		if err := r.writeAddresses(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
		s.mu.Lock()
		s.addresses = r.addresses
		s.mu.Unlock()
		close(s.ready)
		r.log.Info("member serves", zap.String("name", s.config.Name), zap.String("grpc", r.addresses.GRPC),
			zap.String("http", r.addresses.HTTP), zap.String("peer", r.addresses.Peer))
	}
	<-life.Done()
	if ctx.Err() == nil {
		return context.Cause(life)
	}
	r.log.Info("member stops")
	return nil
}

// running is a server under way.
type running struct {
	config    Config
	fail      context.CancelCauseFunc
	log       *zap.Logger
	stack     closers
	addresses Addresses
	// advertised are the addresses that others are told.
	advertised raftnode.Addresses

	listeners struct{ grpc, http, peer net.Listener }
	node      *raftnode.Node
	timers    *expiry.Timers
	// compaction forgets old history while the member leads.
	compaction *compaction.Task
	hub        *watch.Hub
	arrivals   *leader.Arrivals
	secrets    *call.Secrets
	counts     *catalog.Metrics
	hints      *renewal.Hinter
	relayed    *service.Peer
	peers      *pool.Peers
	pool       *pool.Task
	api        *service.Services
	authority  *access.Authority
	gate       *gate.Gate
	health     *gate.Health
	stopping   context.Context //nolint:containedctx // It is the life of what answers calls.
	rooms      *gate.Rooms
	meter      *frames.Meter
	secured    secured
	audit      *audit.Log
	ends       *auth.Ends
	keys       *provider.Keys
}

// start opens everything, from the ground up. What it opened is on the stack, also when it fails.
func (r *running) start(ctx context.Context) error {
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stack.push(func() error { stop(); return nil })
	r.stopping = stopping
	var err error
	if r.rooms, err = gate.NewRooms(gate.Limits{
		CallsMax: r.config.CallsMax, WaitsMax: r.config.WaitsMax, ConnectionsMax: r.config.ConnectionsMax,
		IntakeBytesMax: r.config.IntakeBytesMax, ExemptCallers: r.config.ExemptCallers,
		Revision: func() uint64 { return r.node.Store().Applied().Revision },
	}); err != nil {
		return err
	}
	if err = (auditPart{r}).open(ctx); err != nil {
		return err
	}
	if err = r.openCertificates(ctx); err != nil {
		return err
	}
	if err = r.listen(ctx); err != nil {
		return err
	}
	if err = r.openNode(ctx); err != nil {
		return err
	}
	if err = r.makeServices(stopping); err != nil {
		return err
	}
	if err = (gossipPart{r}).start(ctx); err != nil {
		return err
	}
	conn, err := r.serveInProcess()
	if err != nil {
		return err
	}
	if err := r.serveGRPC(); err != nil {
		return err
	}
	if err := r.serveREST(ctx, conn); err != nil {
		return err
	}
	if err := (besidePart{r}).start(ctx, conn); err != nil {
		return err
	}
	if err := r.serveDebug(ctx); err != nil {
		return err
	}
	// Undone first: streams end and new calls are refused before anything is closed.
	r.stack.push(func() error { stop(); return nil })
	return nil
}

// listen opens the listeners.
func (r *running) listen(ctx context.Context) error {
	for _, l := range []struct {
		listener *net.Listener
		address  string
		bound    *string
		pool     *share.Pool
	}{
		{&r.listeners.grpc, r.config.ListenAddr, &r.addresses.GRPC, r.rooms.Connections},
		{&r.listeners.http, r.config.HTTPAddr, &r.addresses.HTTP, r.rooms.Connections},
		{&r.listeners.peer, r.config.PeerAddr, &r.addresses.Peer, r.rooms.Peers},
	} {
		if l.address == peerOff {
			continue
		}
		listener, err := r.config.Listen(ctx, l.address)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", l.address, err)
		}
		*l.bound = listener.Addr().String()
		*l.listener = gate.Listener{Listener: listener, Callers: r.rooms.Callers, Pool: l.pool}
		r.stack.push(func() error {
			// Whoever served it has closed it already.
			if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		})
	}
	return nil
}

// openNode recovers the member and runs it.
func (r *running) openNode(ctx context.Context) error {
	r.arrivals, r.hints, r.relayed = &leader.Arrivals{}, renewal.NewHinter(), service.NewPeer(r.log)
	r.secrets = &call.Secrets{}
	var err error
	r.compaction = newCompaction(r)
	r.timers, err = expiry.New(expiry.Options{
		Propose: func(ctx context.Context, c *storev1.Command) (*storev1.Result, error) {
			return r.node.Propose(ctx, c)
		},
		Snapshot:     func() expiry.Snapshot { return r.node.Store().NewReader() },
		Progress:     func() (applied, commit uint64) { return r.node.Progress() },
		MajorityTime: func() (time.Time, bool) { return r.node.MajorityTime() },
		Logger:       r.log,
		Registerer:   r.config.Registry,
	})
	if err != nil {
		return err
	}
	if r.counts, err = catalog.NewMetrics(r.config.Registry); err != nil {
		return err
	}
	if err = (gossipPart{r}).prepare(); err != nil {
		return err
	}
	r.hub, err = watch.New(watch.Options{
		History:    watch.FromStore(func() *storage.Store { return r.node.Store() }),
		Registerer: r.config.Registry,
	})
	if err != nil {
		return err
	}
	if r.node, err = r.openMember(ctx); err != nil {
		return err
	}
	r.secured.letIn.node.Store(r.node)
	if err = r.checkListeners(); err != nil {
		return errors.Join(err, r.node.Close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 2)
	go func() { ended <- r.hub.Run(life) }()
	go func() {
		err := r.node.Run(life)
		if err != nil {
			r.fail(fmt.Errorf("member: %w", err))
		}
		ended <- err
	}()
	r.stack.push(func() error {
		stop()
		return errors.Join(<-ended, <-ended)
	})
	// A member that joins has nothing to show before its leader has sent it the state.
	return r.node.AwaitState(ctx)
}

// openMember recovers the member, or begins or joins a cluster.
func (r *running) openMember(ctx context.Context) (*raftnode.Node, error) {
	first, err := r.config.initialCluster()
	if err != nil {
		return nil, err
	}
	r.advertised, err = r.config.addressesFor(r.addresses)
	if err != nil {
		return nil, err
	}
	r.secured.serves(r.advertised)
	return raftnode.OpenContext(ctx, raftnode.Options{
		Dir:            r.config.DataDir,
		FS:             r.config.FS,
		Name:           r.config.Name,
		Logger:         r.log,
		Registerer:     r.config.Registry,
		Tick:           r.config.Tick,
		ElectionTicks:  r.config.ElectionTicks,
		OnApplied:      r.applied,
		LeaderTasks:    []func(context.Context, uint64) error{r.timers.Lead, r.compaction.Lead, r.pool.Lead},
		InitialCluster: first,
		Join:           r.config.Join,
		JoinToken:      r.config.joinToken,
		StayLearner:    r.config.StayLearner,
		FirstStart:     r.config.checkFirstStart,
		LogBytesMax:    r.config.LogBytesMax,
		PeerListener:   r.secured.peer.Patient(r.listeners.peer),
		PeerSecurity:   r.secured.peers,
		PeerServices:   []func(grpc.ServiceRegistrar){r.relayed.Register, r.peers.Register},
		Addresses:      r.advertised,
		Zone:           r.config.Zone,
		ForClients:     clientSecurity(r.config, r.addresses, r.advertised),
		ForPeers:       peerSecurity(r.config),
		Version:        r.config.Version,
		Membership:     raftnode.MembershipOptions{ManualPromotion: r.config.ManualPromotion},
		Health:         raftnode.HealthOptions{DiskFreeMin: r.config.DiskFreeMinBytes},
		Snapshots: raftnode.SnapshotOptions{OnInstalled: func(a storage.Applied) {
			// Nothing that the snapshot skipped is published; watches and waits look again.
			r.applied(storage.Outcome{Applied: a})
		}},
	})
}

// makeServices makes what answers calls.
func (r *running) makeServices(stopping context.Context) error {
	if err := (auditPart{r}).authorise(stopping); err != nil {
		return err
	}
	named, err := identity.ParseCertificateIdentity(r.config.TLS.CertIdentity)
	if err != nil {
		return err
	}
	r.gate, err = gate.New(gate.Options{
		Logger: r.log, Registerer: r.config.Registry, RequestBytesMax: r.config.RequestBytesMax, Stopping: stopping, Rooms: r.rooms,
		Leader: func() (id uint64, address string) { return r.api.Cluster.LeaderHint() },
		Access: r.authority, Certificates: named, Audit: r.audit,
	})
	if err != nil {
		return err
	}
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tenure_server_calls_in_flight",
			Help: "Calls with one answer that are in progress.",
		}, func() float64 { return r.rooms.UnderWay() }),
	} {
		if err = r.config.Registry.Register(c); err != nil {
			return err
		}
	}
	r.meter = r.rooms.Meter(r.config.MessageTimeout)
	if err = r.rooms.Register(r.config.Registry, r.meter); err != nil {
		return err
	}
	relay, err := leader.New(leader.Options{
		Node: r.node, Arrivals: r.arrivals, Stopping: stopping, Logger: r.log, Registerer: r.config.Registry,
		Election: time.Duration(r.config.ElectionTicks) * r.config.Tick,
	})
	if err != nil {
		return err
	}
	caller := &call.Caller{
		Node: r.node, Timers: r.timers, Log: r.log, Arrivals: r.arrivals, Relay: relay, Stopping: stopping,
		MemberID: r.node.Status().MemberID, Secrets: r.secrets,
	}
	renewer, err := renewal.New(renewal.Options{
		Caller: caller, Hints: r.hints, StreamSessionsMax: r.config.StreamSessionsMax, Registerer: r.config.Registry,
	})
	if err != nil {
		return err
	}
	sessions := service.NewSessionShare(r.rooms, r.node.Store)
	if err = sessions.Register(r.config.Registry); err != nil {
		return err
	}
	r.api = service.New(service.Options{
		Caller: caller, Hub: r.hub, Renewer: renewer, Share: sessions, TTLMin: r.config.ttlMin(),
		Self: cluster.Self{
			Name:       r.config.Name,
			Version:    r.config.Version,
			Zone:       r.config.Zone,
			ClientAddr: r.advertised.Client,
			HTTPAddr:   r.advertised.HTTP,
			PeerAddr:   r.advertised.Peer,
			Alarms:     auditPart{r}.alarms,
			CheckName:  r.config.checkNewName,
		},
		Pool:   r.peers,
		Nonces: auth.NewNonces(r.config.writeNonce, nil),
		Unsafe: func() string { return unsafeListener(r.config, r.addresses, r.advertised) },
		Keys:   r.keys,
	})
	r.health = gate.NewHealth(stopping, func() bool { return caughtUp(r.node) })
	r.relayed.Open(r.api)
	// Hints end with the server's life; calls under way may still need the leader then.
	r.background(stopping, func(ctx context.Context) { r.hints.Run(ctx, r.api.Caller) })
	r.background(stopping, r.api.Watches.Run)
	for _, run := range []func(context.Context){relay.Run, renewer.Run, auditPart{r}.uses(relay).Run, r.meter.Run, r.api.Locks.Run} {
		r.background(context.WithoutCancel(stopping), run)
	}
	return nil
}

// caughtUp reports whether a member can serve reads and writes, as far as it knows without asking: it knows a leader, and
// has applied what that leader began its term with.
func caughtUp(n *raftnode.Node) bool {
	s := n.Status()
	return s.Leader != 0 && n.Store().Applied().Term == s.Term
}

// background does something until ctx ends, or what was made before is to be undone.
func (r *running) background(ctx context.Context, work func(context.Context)) {
	life, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(life)
	}()
	r.stack.push(func() error {
		stop()
		<-ended
		return nil
	})
}

// serve runs a gRPC server on a listener until it is stopped, within the grace.
func (r *running) serve(server *grpc.Server, listener net.Listener, grace time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); err != nil {
			r.fail(fmt.Errorf("serve gRPC on %s: %w", listener.Addr(), err))
		}
	}()
	r.stack.push(func() error {
		timer := time.AfterFunc(grace, server.Stop)
		defer timer.Stop()
		server.GracefulStop()
		<-ended
		return nil
	})
}

// awaitLeader waits until a member that votes alone leads; it reports whether the server is to go on.
func (r *running) awaitLeader(ctx context.Context) bool {
	if len(r.node.Status().Voters) != 1 {
		return ctx.Err() == nil
	}
	for {
		err := r.node.ReadIndex(ctx)
		if err == nil {
			return true
		}
		retry := time.NewTimer(leader.Retry)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return false
		}
	}
}
