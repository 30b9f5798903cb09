package gossip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// lookEvery is how often the pool looks at the clock.
	lookEvery = 200 * time.Millisecond
	// healEvery is how often a node tries one that it does not see, and lonelyEvery how often one that sees no member.
	healEvery, lonelyEvery = 30 * time.Second, 3 * time.Second
	// contactsTimeout is how long it may take to learn where others are.
	contactsTimeout = 5 * time.Second
	// dialTimeout is how long one attempt to reach a node may take that is judged, and dials how many there are.
	dialTimeout, dials = 350 * time.Millisecond, 2
	// joinsMax is how many members a node is introduced to at the same time.
	joinsMax = 16
	// dialsMax is how many nodes are dialed at the same time; others get the benefit of the doubt.
	dialsMax = 64
)

// Contact is somebody through whom a node comes into the pool.
type Contact struct {
	Address string
	Role    Role
}

// Options say what a Pool needs.
type Options struct {
	// ClusterID is the label of all messages.
	ClusterID [16]byte
	// NodeID, Name, Role and Version are what the node says of itself. Name is at most 253 bytes.
	NodeID  [16]byte
	Name    string
	Role    Role
	Version string
	// Boot is the number of this start of the node. No two starts have the same.
	Boot uint64
	// SyncBoot is the number that the syncs of the node's agent carry in this start; 0: there is no agent.
	SyncBoot uint64
	// Listen is the address for TCP and UDP, host:port; port 0 takes a free one. The host is an IP address.
	Listen string
	// Advertise is what others are told instead, IP address and port; empty is what was bound.
	Advertise string
	// Reached is the IP address by which others reach this machine, which they are told where Listen is on all addresses; empty is one that the
	// machine has, a private one if there is one.
	Reached string
	// KeyFile has the keys; empty: nothing is encrypted.
	KeyFile string
	// Contacts returns who else there may be. It may block until its context ends.
	Contacts func(context.Context) []Contact
	// MustSeeMembers says that there are members beside this node, so that one that sees none is cut off.
	MustSeeMembers func() bool
	Logger         *zap.Logger
	// Tune changes the settings of memberlist; tests make it fast.
	Tune func(*memberlist.Config)
}

// Pool is one node's part in gossip.
type Pool struct {
	o    Options
	list *memberlist.Memberlist
	ring *memberlist.Keyring // nil without keys
	self string              // name in memberlist
	log  *zap.Logger

	// ending guards closed: memberlist does not stand a leave after its end.
	ending sync.Mutex
	closed bool

	// mu guards what follows. Nothing of memberlist is called under it.
	mu      sync.Mutex
	view    *View
	changed chan struct{} // closed by the next change
}

// Start takes part in gossip. Run the pool, or Close it.
func Start(o Options) (*Pool, error) {
	if len(o.Name) > nameBytesMax {
		return nil, fmt.Errorf("the name %.80q is longer than %d bytes", o.Name, nameBytesMax)
	}
	ring, err := ringOf(o.KeyFile)
	if err != nil {
		return nil, err
	}
	o.Version = o.Version[:min(len(o.Version), versionBytesMax)]
	p := &Pool{
		o: o, ring: ring, self: memberName(o.NodeID, o.Boot), log: o.Logger, view: NewView(time.Now()), changed: make(chan struct{}),
	}
	host, port, err := split(o.Listen)
	if err != nil {
		return nil, err
	}
	c := memberlist.DefaultLANConfig()
	c.Name, c.Label = p.self, fmt.Sprintf("tenure-%x", o.ClusterID)
	c.BindAddr, c.BindPort = host, port
	if c.AdvertiseAddr, c.AdvertisePort, err = o.told(); err != nil {
		return nil, err
	}
	c.Delegate, c.Events, c.Ping, c.Alive = p, p, p, p
	c.Keyring = ring
	c.Logger = log.New(quiet{o.Logger}, "", 0)
	if o.Tune != nil {
		o.Tune(c)
	}
	if p.list, err = memberlist.Create(c); err != nil {
		return nil, fmt.Errorf("take part in gossip at %s: %w", o.Listen, err)
	}
	return p, nil
}

// split takes an address apart.
func split(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	return host, int(n), err
}

// quiet passes on what memberlist logs: details, because what matters is logged by those who act on it.
type quiet struct{ log *zap.Logger }

// Write takes one line.
func (q quiet) Write(line []byte) (int, error) {
	q.log.Debug("gossip", zap.String("line", strings.TrimSpace(string(line[:min(len(line), 512)]))))
	return len(line), nil
}

// Address returns where others reach this node.
func (p *Pool) Address() string {
	n := p.list.LocalNode()
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}

// Self returns the key of this node.
func (p *Pool) Self() Key { return KeyOf(p.o.NodeID, p.o.Name) }

// Nodes returns all nodes that this one has seen, ordered by name and id.
func (p *Pool) Nodes() []Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view.List()
}

// Node returns one node; its state is Unknown if it was never seen.
func (p *Pool) Node(k Key) Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view.Node(k)
}

// Changed returns a channel that is closed by the next change of a node.
func (p *Pool) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Judge reports for each node whether this process says that it has failed. It takes less than a second.
func (p *Pool) Judge(ctx context.Context, asked []Asked) []bool {
	failed := make([]bool, len(asked))
	var dial []int
	p.mu.Lock()
	now := time.Now()
	p.view.Look(now)
	for i, a := range asked {
		switch p.view.Judge(a, now) {
		case SaysFailed:
			failed[i] = true
		case MustDial:
			dial = append(dial, i)
		case SaysAlive:
		}
	}
	p.mu.Unlock()
	var g errgroup.Group
	for _, i := range dial[:min(len(dial), dialsMax)] {
		g.Go(func() error {
			failed[i] = unreachable(ctx, asked[i].Address)
			return nil
		})
	}
	_ = g.Wait() // They return no error.
	return failed
}

// unreachable reports whether nobody takes a connection at an address, however often it is tried.
func unreachable(ctx context.Context, address string) bool {
	for range dials {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // Nothing was written.
			return false
		}
	}
	return ctx.Err() == nil
}

// RenewKeys reads the file of keys again. After an error all is as it was.
func (p *Pool) RenewKeys() error {
	if p.ring == nil {
		return nil
	}
	return renew(p.ring, p.o.KeyFile)
}

// Run looks at the clock, finds others and heals a pool that fell apart, until ctx ends. Then the node is gone, without a word:
// others call it failed, unless it has left before.
func (p *Pool) Run(ctx context.Context) error {
	var g errgroup.Group
	g.Go(func() error { p.watchClock(ctx); return nil })
	g.Go(func() error { p.heal(ctx); return nil })
	return errors.Join(g.Wait(), p.Close())
}

// watchClock begins a new run after each stall.
func (p *Pool) watchClock(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for looks := 0; ; looks++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		now := time.Now()
		stalled := p.view.Look(now)
		if looks%1024 == 0 {
			p.view.forget(now)
		}
		p.mu.Unlock()
		if stalled {
			p.log.Info("this process was paused; it reports no node as failed before it has heard of that node again")
		}
	}
}

// heal joins others that this node does not see.
func (p *Pool) heal(ctx context.Context) {
	tick := time.NewTicker(lonelyEvery)
	defer tick.Stop()
	for last := (time.Time{}); ; {
		if now := time.Now(); p.lonely() || now.Sub(last) >= healEvery {
			last = now
			p.join(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lonely reports whether this node sees no member, though there are some.
func (p *Pool) lonely() bool {
	if !p.o.MustSeeMembers() {
		return false
	}
	self := p.Self()
	for _, n := range p.Nodes() {
		if n.Role == Member && n.State == Alive && n.Key != self {
			return false
		}
	}
	return true
}

// join introduces this node to all members that it does not see, and if none of them takes it, to one other node. Each of them hears of it without
// others in between: rumours reach any single node of a small pool only with a likelihood of 98 % or so, and those that miss a node's new start take
// it for dead once the old one is.
func (p *Pool) join(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, contactsTimeout)
	defer cancel()
	contacts := p.o.Contacts(ctx)
	p.mu.Lock()
	seen := p.view.addresses()
	p.mu.Unlock()
	contacts = slices.DeleteFunc(contacts, func(c Contact) bool { return seen[c.Address] })
	var taken atomic.Bool
	var asked errgroup.Group
	asked.SetLimit(joinsMax)
	for _, c := range contacts {
		if c.Role == Member {
			asked.Go(func() error {
				if ctx.Err() == nil && p.meet(c.Address) {
					taken.Store(true)
				}
				return nil
			})
		}
	}
	_ = asked.Wait() // They return no error.
	other := slices.IndexFunc(contacts, func(c Contact) bool { return c.Role != Member })
	if other >= 0 && !taken.Load() && ctx.Err() == nil {
		p.meet(contacts[other].Address)
	}
}

// meet exchanges with the node at an address what both know, and reports whether it could.
func (p *Pool) meet(address string) bool {
	_, err := p.list.Join([]string{address})
	if err != nil {
		p.log.Debug("no way into the pool", zap.String("address", address), zap.Error(err))
	}
	return err == nil
}

// note takes what memberlist says of a node.
func (p *Pool) note(m *memberlist.Node, alive, heard bool) {
	now := time.Now()
	n, number, err := nodeOf(m, alive, now)
	if err != nil {
		p.log.Debug("gossip of a stranger", zap.Error(err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view.Note(n, number, heard) {
		p.tell()
	}
}

// tell wakes those who wait for a change. Its caller holds mu.
func (p *Pool) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// NotifyJoin takes news from memberlist.
func (p *Pool) NotifyJoin(m *memberlist.Node) { p.note(m, true, true) }

// NotifyUpdate takes news from memberlist.
func (p *Pool) NotifyUpdate(m *memberlist.Node) { p.note(m, true, true) }

// NotifyLeave takes news from memberlist.
func (p *Pool) NotifyLeave(m *memberlist.Node) { p.note(m, false, false) }

// NotifyPingComplete hears that a node is alive.
func (p *Pool) NotifyPingComplete(m *memberlist.Node, _ time.Duration, _ []byte) {
	n, number, err := nodeOf(m, true, time.Time{})
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view.Heard(n.Key, number) {
		p.tell()
	}
}

// NotifyAlive refuses what is not of this program.
func (p *Pool) NotifyAlive(m *memberlist.Node) error {
	_, _, err := nodeOf(m, true, time.Time{})
	return err
}

// AckPayload has nothing to say.
func (*Pool) AckPayload() []byte { return nil }

// NodeMeta returns what the node says of itself.
func (p *Pool) NodeMeta(int) []byte {
	raw, err := json.Marshal(about{Name: p.o.Name, Role: p.o.Role, Version: p.o.Version, SyncBoot: p.o.SyncBoot})
	if err != nil {
		return nil
	}
	return raw
}

// NotifyMsg hears that a node leaves.
func (p *Pool) NotifyMsg(raw []byte) {
	k, number, err := readLeaving(raw)
	if err != nil {
		p.log.Debug("gossip of a stranger", zap.Error(err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view.Leave(k, number, time.Now()) {
		p.tell()
	}
}

// GetBroadcasts returns nothing, as LocalState and MergeRemoteState do: the pool carries nothing else.
func (*Pool) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState returns nothing.
func (*Pool) LocalState(bool) []byte { return nil }

// MergeRemoteState does nothing.
func (*Pool) MergeRemoteState([]byte, bool) {}
