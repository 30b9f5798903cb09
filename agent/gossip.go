package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/gossip"
)

const (
	// gossipRetry is how often an agent asks for a member that takes part in gossip, and tries to take part itself.
	gossipRetry = 3 * time.Second
	// listTimeout is how long a member may take to say who is in the pool.
	listTimeout = 5 * time.Second
	// leaveWait is how long an agent that was asked to leave waits until it takes part in gossip.
	leaveWait = 2 * time.Second
	// gossipOff is the address of an agent that takes no part.
	gossipOff = "off"
)

// errNoGossip means that the agent takes no part in gossip, errNotYetInGossip that it has not found the pool yet, and errInside that it runs inside a
// member, which takes part itself.
var (
	errInside         = errors.New("this agent runs inside a member, which keeps the node; remove the member instead")
	errNoGossip       = errors.New("the agent takes no part in gossip: stop it, and then deregister its node with the catalog")
	errNotYetInGossip = errors.New("the agent has not found a member that takes part in gossip yet: try again, or stop the agent and deregister " +
		"its node with the catalog")
)

// ErrGossipInsecure means that others can reach an address of gossip, and that there is no key.
var ErrGossipInsecure = errors.New("anyone who can reach this address can make the cluster take machines for dead; give the pool a key with " +
	"--gossip-key, use a loopback address, or accept it with --insecure")

// Pool lists the nodes of the pool: a client of PoolService.
type Pool interface {
	ListPool(ctx context.Context, r *tenurev1.ListPoolRequest, options ...grpc.CallOption) (*tenurev1.ListPoolResponse, error)
}

// Gossip says how an agent takes part in gossip.
type Gossip struct {
	// Addr is where it takes part, host:port; port 0 takes a free one. Empty and "off": not at all.
	Addr string
	// Advertise is what others are told instead; empty is what was bound.
	Advertise string
	// KeyFile has the keys of the pool; empty encrypts nothing.
	KeyFile string
	// LeaveOnStop has the agent leave the pool when it stops, so that its node goes at once.
	LeaveOnStop bool
}

func (g Gossip) on() bool { return g.Addr != "" && g.Addr != gossipOff }

// check returns what is wrong with the options.
func (g Gossip) check(insecure bool) error {
	if g.KeyFile != "" {
		if err := gossip.CheckKeys(g.KeyFile); err != nil {
			return fmt.Errorf("--gossip-key: %w", err)
		}
	}
	if !g.on() {
		return nil
	}
	for _, of := range []struct{ flag, address string }{{"--gossip", g.Addr}, {"--advertise-gossip", g.Advertise}} {
		if of.address == "" {
			continue
		}
		host, _, err := net.SplitHostPort(of.address)
		if err != nil || net.ParseIP(host) == nil {
			return fmt.Errorf("%s is %q; it must be an IP address with a port, or off", of.flag, of.address)
		}
		if of.flag == "--gossip" && !insecure && g.KeyFile == "" && !net.ParseIP(host).IsLoopback() {
			return fmt.Errorf("--gossip %s: %w", of.address, ErrGossipInsecure)
		}
	}
	return nil
}

// part is an agent's part in gossip.
type part struct {
	a *Agent

	mu      sync.Mutex // guards what follows
	pool    *gossip.Pool
	of      [16]byte      // the cluster that the pool belongs to
	changed chan struct{} // closed at the next change of pool; nil if there is no need
}

// run takes part in gossip until ctx ends: in the pool of the cluster that the agent talks to, and in another one if the cluster
// is another one, as after a restore.
func (p *part) run(ctx context.Context) error {
	if !p.a.options.Gossip.on() {
		return nil
	}
	tick := time.NewTicker(gossipRetry)
	defer tick.Stop()
	for {
		if cluster, found := p.cluster(ctx); found {
			if err := p.in(ctx, cluster); err != nil {
				p.a.options.Logger.Warn("the agent takes no part in gossip yet", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// cluster returns the id of the cluster, if a member of it takes part in gossip.
func (p *part) cluster(ctx context.Context) (id [16]byte, found bool) {
	response, err := p.list(ctx)
	if err != nil || !response.GetTakesPart() {
		return id, false
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(response.GetHeader().GetClusterId(), "-", ""))
	if err != nil || len(raw) != len(id) {
		return id, false
	}
	return [16]byte(raw), true
}

// list asks a member for the members that it sees.
func (p *part) list(ctx context.Context) (*tenurev1.ListPoolResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return p.a.options.Pool.ListPool(ctx, &tenurev1.ListPoolRequest{
		Role: tenurev1.PoolNodeRole_POOL_NODE_ROLE_MEMBER, State: tenurev1.PoolNodeState_POOL_NODE_STATE_ALIVE,
	})
}

// in takes part in the pool of one cluster until ctx ends, or the cluster is another one.
func (p *part) in(ctx context.Context, cluster [16]byte) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	o := p.a.options
	id, err := uuid.Parse(p.a.self().GetNodeId())
	if err != nil {
		return err
	}
	pool, err := gossip.Start(gossip.Options{
		ClusterID: cluster, NodeID: id, Name: p.a.self().GetName(), Role: gossip.Agent, Version: o.Version,
		Boot: uint64(time.Now().UnixNano()), SyncBoot: p.a.boot, Listen: o.Gossip.Addr, Advertise: o.Gossip.Advertise, KeyFile: o.Gossip.KeyFile,
		Contacts:       func(ctx context.Context) []gossip.Contact { return p.contacts(ctx, cluster, end) },
		MustSeeMembers: func() bool { return true }, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	p.hold(pool, cluster)
	p.a.tookPart(pool.Address())
	stop := context.AfterFunc(ctx, func() {
		defer end()
		if o.Gossip.LeaveOnStop {
			p.a.left(pool.Leave(life))
		}
	})
	defer stop()
	err = pool.Run(life)
	p.hold(nil, cluster)
	return err
}

func (p *part) hold(pool *gossip.Pool, cluster [16]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pool, p.of = pool, cluster
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// soon returns the pool, for which it waits a moment, as an agent that was just started looks for one; nil if there is none.
func (p *part) soon(ctx context.Context) *gossip.Pool {
	ctx, cancel := context.WithTimeout(ctx, leaveWait)
	defer cancel()
	for {
		p.mu.Lock()
		pool := p.pool
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		if pool != nil {
			return pool
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// now returns the pool; nil if the agent takes no part.
func (p *part) now() *gossip.Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool
}

// contacts returns the members that take part. If they are of another cluster, the part in this pool is over.
func (p *part) contacts(ctx context.Context, cluster [16]byte, over func()) []gossip.Contact {
	response, err := p.list(ctx)
	if err != nil {
		return nil
	}
	if text := strings.ReplaceAll(response.GetHeader().GetClusterId(), "-", ""); text != hex.EncodeToString(cluster[:]) {
		p.a.options.Logger.Info("the cluster is another one; the agent joins its pool", zap.String("cluster_id", text))
		over()
		return nil
	}
	var out []gossip.Contact
	for _, n := range response.GetNodes() {
		out = append(out, gossip.Contact{Address: n.GetGossipAddress(), Role: gossip.Member})
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] }) //nolint:gosec // Nobody guesses it.
	return out
}

// gossipAddress returns where the agent takes part, or the member that it is inside of; empty: nowhere.
func (a *Agent) gossipAddress() string {
	if a.options.Gossip.on() && a.part.now() == nil {
		return ""
	}
	return a.self().GetGossipAddress()
}

// tookPart writes where the agent takes part into the catalog.
func (a *Agent) tookPart(address string) {
	a.mu.Lock()
	changed := a.node.GetGossipAddress() != address
	a.node.GossipAddress = address
	a.mu.Unlock()
	if err := a.dir.SetGossipAddress(address); err != nil {
		a.options.Logger.Error("where the agent takes part in gossip could not be written", zap.Error(err))
	}
	if changed {
		a.syncer.Changed(registry.Change{Rows: true})
	}
}

// RenewKeys reads the keys of the pool again.
func (a *Agent) RenewKeys() error {
	if pool := a.part.now(); pool != nil {
		return pool.RenewKeys()
	}
	return nil
}

// leave leaves the pool, after the last word to the catalog, and stops the agent.
func (a *Agent) leave(ctx context.Context) error {
	if a.options.Node.GetNodeId() != "" {
		return errInside
	}
	if !a.options.Gossip.on() {
		return errNoGossip
	}
	pool := a.part.soon(ctx)
	if pool == nil {
		return errNotYetInGossip
	}
	a.stopSync()
	<-a.syncEnded
	a.left(pool.Leave(context.WithoutCancel(ctx)))
	a.stop()
	return nil
}

// left logs how leaving ended.
func (a *Agent) left(err error) {
	if err != nil {
		a.options.Logger.Warn("some members may not have learned that the agent leaves", zap.Error(err))
	}
}
