package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool"
	"github.com/tenure-io/tenure/storage"
	names "github.com/tenure-io/tenure/storage/catalog"
)

// GossipAuto is the Addr of a member that takes part in gossip if it can do so safely.
const GossipAuto = "auto"

const (
	gossipOff  = "off"
	gossipPort = "7403"
	peerPort   = "7402"
	// joinFirst and joinMax bound how long it takes until a member tries again to take part in gossip.
	joinFirst, joinMax = time.Second, time.Minute
)

// errReachable means that gossip without a key is not begun by itself: another try would change nothing.
var errReachable = errors.New("others can reach")

// ErrGossipInsecure means that others can reach an address of gossip, and that there is no key.
var ErrGossipInsecure = errors.New("anyone who can reach this address can make the cluster take machines for dead; give the pool a key with " +
	"--gossip-key, use a loopback address, or accept it with --insecure")

// Gossip says how a member takes part in gossip.
type Gossip struct {
	// Addr is where it takes part, host:port for TCP and UDP; port 0 takes a free one. Empty and "off": not at all. GossipAuto: on
	// the host of PeerAddr, unless others could reach it and there is no key; with port 7403 if PeerAddr has 7402 and it is
	// free, or else a free port.
	Addr string
	// Advertise is what others are told instead, host:port; empty is what was bound.
	Advertise string
	// KeyFile has the keys of the pool, one on each line; empty encrypts nothing.
	KeyFile string
	// NodeName is the name of the member's machine in the catalog; empty is the member's name.
	NodeName string
	// Reload has the keys read again.
	Reload <-chan os.Signal
}

// on reports whether the member takes part.
func (g Gossip) on() bool { return g.Addr != "" && g.Addr != gossipOff }

// check returns what is wrong with the settings.
func (g Gossip) check(insecure bool) error {
	var problems []error
	if g.on() && g.Addr != GossipAuto {
		host, port, err := net.SplitHostPort(g.Addr)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%w: --gossip is %q; it must be host:port or off", ErrConfig, g.Addr))
		case !loopback(host) && g.KeyFile == "" && !insecure:
			problems = append(problems, fmt.Errorf("--gossip %s: %w", g.Addr, ErrGossipInsecure))
		}
	}
	if g.Advertise != "" {
		problems = append(problems, checkAdvertised("--advertise-gossip", g.Advertise))
	}
	if g.NodeName != "" && !names.IsNodeName(g.NodeName) {
		problems = append(problems, fmt.Errorf("%w: --node is %q; it must be 1 to 253 letters, digits, dots, hyphens or underscores", ErrConfig, g.NodeName))
	}
	if g.KeyFile != "" {
		if err := gossip.CheckKeys(g.KeyFile); err != nil {
			problems = append(problems, fmt.Errorf("%w: --gossip-key: %w", ErrConfig, err))
		}
	}
	return errors.Join(problems...)
}

// gossipPart is a member's part in gossip, while it runs.
type gossipPart struct{ *running }

// prepare makes what keeps the catalog like the pool, before the member knows whether it takes part.
func (r gossipPart) prepare() error {
	r.peers = pool.NewPeers()
	metrics, err := pool.NewMetrics(r.config.Registry, r.peers)
	if err != nil {
		return err
	}
	r.pool = pool.NewTask(pool.TaskOptions{
		Peers: r.peers,
		Propose: func(ctx context.Context, c *storev1.Command) (*storev1.Result, error) {
			return r.node.Propose(ctx, c)
		},
		Store: func() *storage.Store { return r.node.Store() }, Metrics: metrics, Logger: r.log,
	})
	return nil
}

// start takes part in gossip, if the member is to.
func (r gossipPart) start(ctx context.Context) error {
	r.peers.Open(r.node)
	part, err := r.join()
	if err != nil && r.config.Gossip.Addr != GossipAuto {
		return err
	}
	if err != nil {
		r.log.Warn("the member takes no part in gossip", zap.Error(err))
	}
	life := context.WithoutCancel(ctx)
	r.background(life, r.peers.Run) // A leader without gossip warns if others take part.
	if part != nil {
		r.addresses.Gossip = part.Address()
		r.peers.TakePart(part)
	} else {
		r.peers.TakePart(nil)
	}
	if part != nil || err != nil && !errors.Is(err, errReachable) {
		r.background(life, func(ctx context.Context) { r.takePart(ctx, part) })
	}
	return nil
}

// takePart takes part in gossip until ctx ends. Where joining has failed, it is tried again.
func (r gossipPart) takePart(ctx context.Context, part *gossip.Pool) {
	if part == nil {
		if part = r.joinLater(ctx); part == nil {
			return
		}
		r.log.Info("the member takes part in gossip now", zap.String("address", part.Address()))
		r.peers.TakePart(part)
	}
	var both sync.WaitGroup
	both.Go(func() { r.renewKeys(ctx, part) })
	if err := part.Run(ctx); err != nil {
		r.log.Warn("gossip ended", zap.Error(err))
	}
	both.Wait()
}

// joinLater tries to join until it works; nil: ctx ended before.
func (r gossipPart) joinLater(ctx context.Context) *gossip.Pool {
	for wait := joinFirst; ; wait = min(2*wait, joinMax) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		part, err := r.join()
		if err == nil {
			return part
		}
		r.log.Debug("the member still takes no part in gossip", zap.Error(err))
	}
}

// renewKeys reads the keys of the pool again when told to.
func (r gossipPart) renewKeys(ctx context.Context, part *gossip.Pool) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.config.Gossip.Reload:
		}
		if err := part.RenewKeys(); err != nil {
			r.log.Error("the keys of the pool were not read again; all stays as it was", zap.Error(err))
			continue
		}
		r.log.Info("read the keys of the pool again")
	}
}

// join begins to take part; nil: it does not.
func (r gossipPart) join() (*gossip.Pool, error) {
	g := r.config.Gossip
	if !g.on() {
		return nil, nil
	}
	status := r.node.Status()
	o := gossip.Options{
		ClusterID: status.ClusterID, NodeID: nodeID(status.ClusterID, status.MemberID), Name: g.NodeName, Role: gossip.Member,
		Version: r.config.Version, Boot: uint64(time.Now().UnixNano()), KeyFile: g.KeyFile, Logger: r.log,
		Contacts: func(context.Context) []gossip.Contact { return r.contacts() },
		MustSeeMembers: func() bool {
			s := r.node.Status()
			return len(s.Voters)+len(s.Learners) > 1
		},
	}
	if o.Name == "" {
		o.Name = r.config.Name
	}
	var err error
	if g.Advertise != "" {
		if o.Advertise, err = resolved(g.Advertise); err != nil {
			return nil, err
		}
	}
	if g.Addr != GossipAuto {
		if o.Listen, err = resolved(g.Addr); err != nil {
			return nil, err
		}
		return gossip.Start(o) // On all addresses, others are told a private one.
	}
	return r.joinBySelf(o)
}

// reached returns the IP address by which other members reach this one; empty: they are told none, or its name is not known here.
func (r gossipPart) reached() string {
	if r.config.AdvertisePeerAddr == "" {
		return ""
	}
	address, err := resolved(r.config.AdvertisePeerAddr)
	if err != nil {
		r.log.Warn("in gossip, others get an address of this machine instead of --advertise-peer", zap.Error(err))
		return ""
	}
	host, _, _ := net.SplitHostPort(address) // It was checked when the member started.
	return host
}

// joinBySelf takes part where nobody said where.
func (r gossipPart) joinBySelf(o gossip.Options) (*gossip.Pool, error) {
	bound, configured := r.addresses.Peer, r.config.PeerAddr
	if bound == "" {
		bound, configured = r.addresses.GRPC, r.config.ListenAddr
	}
	host, _, err := net.SplitHostPort(bound)
	if err != nil {
		return nil, err
	}
	if !loopback(host) && o.KeyFile == "" && !r.config.Insecure {
		return nil, fmt.Errorf("--gossip is not given, and %w %s: give --gossip-key, or --gossip off", errReachable, host)
	}
	if o.Advertise == "" && net.ParseIP(host).IsUnspecified() {
		o.Reached = r.reached()
	}
	if _, port, _ := net.SplitHostPort(configured); port == peerPort {
		o.Listen = net.JoinHostPort(host, gossipPort)
		part, err := gossip.Start(o)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) && !inUse(o.Listen) {
			return part, err
		}
	}
	o.Listen = net.JoinHostPort(host, "0")
	return gossip.Start(o)
}

// inUse reports whether another program listens at an address. memberlist's error does not say.
func inUse(address string) bool {
	l, err := net.Listen("tcp", address) //nolint:noctx // It does not wait.
	if err != nil {
		return true
	}
	packets, err := net.ListenPacket("udp", address) //nolint:noctx // The same.
	if err == nil {
		err = packets.Close()
	}
	return errors.Join(err, l.Close()) != nil
}

// resolved returns an address with the IP address of its host.
func resolved(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if host == "" {
		return net.JoinHostPort("0.0.0.0", port), nil
	}
	if net.ParseIP(host) != nil {
		return address, nil
	}
	a, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", host, err)
	}
	return net.JoinHostPort(a.IP.String(), port), nil
}

// contacts returns who else there may be: the members, as they say themselves, and the nodes of the catalog.
func (r gossipPart) contacts() []gossip.Contact {
	var out []gossip.Contact
	for _, address := range r.peers.Addresses() {
		out = append(out, gossip.Contact{Address: address, Role: gossip.Member})
	}
	s := r.node.Store().NewReader()
	defer func() { _ = s.Close() }() // Nothing is written.
	members := len(out)
	_ = s.Nodes("", "", func(n storage.NodeEntry) (bool, error) { // A store that is being replaced has none.
		if a := n.Record.GetNode().GetGossipAddress(); a != "" {
			out = append(out, gossip.Contact{Address: a, Role: gossip.Agent})
		}
		return true, nil
	})
	for _, part := range [][]gossip.Contact{out[:members], out[members:]} {
		rand.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] }) //nolint:gosec // Nobody guesses it.
	}
	return out
}

// nodeID returns the id of a member's machine: always the same for one member.
func nodeID(cluster [16]byte, member uint64) [16]byte {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("tenure node "), cluster[:]...), member))
	id := [16]byte(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8
	return id
}
