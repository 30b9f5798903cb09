package transport

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Self is this member as its peers shall see it.
type Self struct {
	// ClusterID is all zero until the member is of a cluster; until then only Probe is answered, and nothing sent.
	ClusterID [16]byte
	// Member describes the member. Nobody may change it.
	Member *storev1.Member
}

// Peer is another member.
type Peer struct {
	// ID and Incarnation are the member's. An incarnation of zero is not known.
	ID, Incarnation uint64
	// Starts is the highest that is known; zero if nothing is.
	Starts uint64
	// Name is for people; Address is where it is reached.
	Name, Address string
	// SpeaksTLS says that it takes members with TLS.
	SpeaksTLS bool
}

// SpeaksTLS reports whether a member takes others with TLS.
func SpeaksTLS(m *storev1.Member) bool {
	s := m.GetPeerSecurity()
	return s == storev1.ListenerSecurity_LISTENER_SECURITY_TLS || s == storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT
}

// Status is what is known of the way to a peer.
type Status struct {
	Peer
	// Connected tells whether the peer accepts messages, Since when it does or does not.
	Connected bool
	Since     time.Time
	// RoundTrip is how long it took for its last answer; 0 if there was none.
	RoundTrip time.Duration
	// Problem is why it is not connected, or what the peer says about the way back.
	Problem string
}

// Transport carries messages between this member and its peers.
type Transport struct {
	o       Options
	log     *zap.Logger
	metrics *metrics
	server  *grpc.Server
	changed chan struct{} // 1 slot; the peers to run are others

	mu      sync.RWMutex // guards what follows
	self    Self
	cluster string // of self, in hexadecimal
	peers   map[uint64]*peer
	removed map[uint64]bool
	starts  map[uint64]uint64 // the highest seen, also of members that are no peers
	// confirmed are members that are no peers by a record, with the incarnations in which known members vouched for them.
	confirmed map[uint64]uint64
	stopping  bool
}

// New makes a Transport. Nothing is served or sent before Run.
func New(o Options) (*Transport, error) {
	o.setDefaults()
	t := &Transport{
		o: o, log: o.Logger, metrics: newMetrics(), changed: make(chan struct{}, 1),
		peers: map[uint64]*peer{}, removed: map[uint64]bool{}, starts: map[uint64]uint64{},
		confirmed: map[uint64]uint64{},
	}
	if err := t.metrics.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	t.server = t.newServer()
	return t, nil
}

// Run serves peers and sends to them until ctx ends. The listener is closed then.
func (t *Transport) Run(ctx context.Context) error {
	defer t.metrics.hide()
	served := make(chan error, 1)
	go func() { served <- t.server.Serve(t.o.Listener) }()
	running := map[uint64]*running{}
	var err error
	for ended := false; !ended; {
		t.reconcile(ctx, running)
		select {
		case <-ctx.Done():
			ended = true
		case <-t.changed:
		case err = <-served:
			served <- nil
			ended = true
		}
	}
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	for _, r := range running {
		r.stop()
	}
	for _, r := range running {
		<-r.ended
	}
	t.server.Stop()
	err = errors.Join(err, <-served)
	if ctx.Err() != nil || err == nil {
		return nil
	}
	return fmt.Errorf("serve members on %s: %w", t.o.Listener.Addr(), err)
}

// Close gives back a Transport that is never run.
func (t *Transport) Close() error {
	t.metrics.hide()
	t.server.Stop()
	// The server closes only what it serves.
	return t.o.Listener.Close()
}

// running is a peer that is being sent to.
type running struct {
	peer  *peer
	stop  context.CancelFunc
	ended chan struct{}
}

// reconcile starts sending to new peers and ends it to those that are gone.
func (t *Transport) reconcile(ctx context.Context, all map[uint64]*running) {
	t.mu.RLock()
	want := maps.Clone(t.peers)
	t.mu.RUnlock()
	for id, r := range all {
		if want[id] != r.peer {
			r.stop()
			<-r.ended
			delete(all, id)
		}
	}
	for id, p := range want {
		if all[id] != nil {
			continue
		}
		life, stop := context.WithCancel(ctx)
		r := &running{peer: p, stop: stop, ended: make(chan struct{})}
		all[id] = r
		go func() {
			defer close(r.ended)
			p.run(life)
		}()
	}
}

// SetSelf says who this member is.
func (t *Transport) SetSelf(self Self) {
	t.mu.Lock()
	t.self, t.cluster = self, hex.EncodeToString(self.ClusterID[:])
	t.mu.Unlock()
	t.wake()
}

// SetPeers says who the other members are, and who was removed for good. Peers that are missing get nothing more, unless
// they connect and were not removed.
func (t *Transport) SetPeers(peers []Peer, removed []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range removed {
		t.removed[id] = true
		delete(t.confirmed, id)
	}
	peers = slices.DeleteFunc(slices.Clone(peers), func(p Peer) bool { return p.ID == t.self.Member.GetId() || t.removed[p.ID] })
	for id, p := range t.peers {
		// One that has introduced itself and is not recorded yet stays.
		kept := slices.ContainsFunc(peers, func(p Peer) bool { return p.ID == id })
		if !kept && (t.removed[id] || !p.introduced) {
			delete(t.peers, id)
			if !show(t.peers, p.label) { // The one that replaces it may have it.
				t.metrics.forget(p.label)
			}
		}
	}
	for _, p := range peers {
		t.put(p, false).recorded = p.Name
	}
	t.wake()
}

// show shows whether one of some peers with a label is connected, and reports whether there is one. Several have one label while one is replaced under
// its name.
func show(peers map[uint64]*peer, label string) bool {
	var one *peer
	connected := 0.0
	for _, p := range peers {
		if p.label == label {
			one = p
			if p.status().Connected {
				connected = 1
			}
		}
	}
	if one != nil {
		one.counters.connected.Set(connected)
	}
	return one != nil
}

// put adds a peer or its new address, from a record or, told, by its own word; mu is held.
func (t *Transport) put(p Peer, told bool) *peer {
	t.starts[p.ID] = max(t.starts[p.ID], p.Starts)
	known := t.peers[p.ID]
	if known == nil {
		known = newPeer(t, p)
		t.peers[p.ID] = known
	}
	known.update(p, told)
	return known
}

// introduce takes what a peer says of itself when it connects. A member that is not recorded here yet may have been
// elected already, so it is answered.
func (t *Transport) introduce(m *storev1.Member) {
	t.mu.Lock()
	id := m.GetId()
	if known := t.peers[id]; !t.removed[id] && m.GetPeerAddress() != "" && !t.stopping {
		p := Peer{
			ID: id, Incarnation: m.GetIncarnation(), Starts: m.GetStarts(), Name: m.GetName(), Address: m.GetPeerAddress(),
			SpeaksTLS: SpeaksTLS(m),
		}
		t.put(p, true).introduced = known == nil || known.introduced
	}
	t.mu.Unlock()
	t.wake()
	t.o.Describe(m)
}

func (t *Transport) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Send takes messages for peers. Snapshots do not travel this way.
func (t *Transport) Send(msgs []*raftpb.Message) {
	var lost []uint64
	t.mu.RLock()
	for _, m := range msgs {
		p := t.peers[m.GetTo()]
		if (p == nil || !p.push(m)) && !slices.Contains(lost, m.GetTo()) {
			lost = append(lost, m.GetTo())
		}
	}
	t.mu.RUnlock()
	for _, id := range lost {
		t.o.Unreachable(id)
	}
}

// Conn returns the connection for relayed calls to a peer.
func (t *Transport) Conn(member uint64) (grpc.ClientConnInterface, error) {
	return t.connTo(member, connRelay)
}

// SnapshotConn returns the connection for snapshots to a peer.
func (t *Transport) SnapshotConn(member uint64) (grpc.ClientConnInterface, error) {
	return t.connTo(member, connSnapshot)
}

// OpenSnapshot opens a stream for a snapshot to a peer. It ends with ctx.
func (t *Transport) OpenSnapshot(ctx context.Context, to uint64) (peerv1.PeerService_SendSnapshotClient, error) {
	cc, err := t.SnapshotConn(to)
	if err != nil {
		return nil, err
	}
	stream, err := peerv1.NewPeerServiceClient(cc).SendSnapshot(ctx)
	return stream, FromStatus(err)
}

func (t *Transport) connTo(member uint64, kind connKind) (grpc.ClientConnInterface, error) {
	t.mu.RLock()
	p, stopping := t.peers[member], t.stopping
	t.mu.RUnlock()
	if p == nil || stopping {
		return nil, ErrUnknownPeer
	}
	return p.conn(kind)
}

// Peers returns what is known of the ways to all peers, by id.
func (t *Transport) Peers() []Status {
	t.mu.RLock()
	peers := slices.Collect(maps.Values(t.peers))
	t.mu.RUnlock()
	all := make([]Status, 0, len(peers))
	for _, p := range peers {
		all = append(all, p.status())
	}
	slices.SortFunc(all, func(a, b Status) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// Starts returns the most starts of a member that this one has seen.
func (t *Transport) Starts(member uint64) uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.starts[member]
}

// present returns this member as it is now.
func (t *Transport) present() Self {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.self
}

// Probe asks the member at an address who it is.
func (t *Transport) Probe(ctx context.Context, address string, req *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	var resp *peerv1.ProbeResponse
	err := t.with(address, func(c peerv1.PeerServiceClient) (err error) {
		var at grpcpeer.Peer
		if resp, err = c.Probe(ctx, req, grpc.Peer(&at)); err != nil {
			return err
		}
		return t.proveAnswer(at.AuthInfo, resp.GetHeader().GetFrom(), resp.GetHeader().GetName())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// Join asks the member at an address to have a member added.
func (t *Transport) Join(ctx context.Context, address string, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	var resp *peerv1.JoinResponse
	err := t.with(address, func(c peerv1.PeerServiceClient) (err error) {
		resp, err = c.Join(ctx, req)
		return err
	})
	return resp, err
}

// with makes a call on a connection of its own.
func (t *Transport) with(address string, call func(peerv1.PeerServiceClient) error) error {
	cc, err := t.dial(Peer{Address: address, SpeaksTLS: t.speaksTLS(address)})
	if err != nil {
		return err
	}
	err = FromStatus(call(peerv1.NewPeerServiceClient(cc)))
	return errors.Join(err, cc.Close())
}

// speaksTLS reports whether a peer at an address is known to take members with TLS. Whether it is that peer which answers there, the caller finds out:
// another one may have its address by now.
func (t *Transport) speaksTLS(address string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.peers {
		if at := p.known(); at.SpeaksTLS && at.Address == address {
			return true
		}
	}
	return false
}

// describe says in a request what this member is. How it listens is said beside the description, which leaders of older programs record
// as it is.
func (s Self) describe(in *peerv1.ExchangeRequest) {
	said := proto.CloneOf(s.Member)
	in.ClientSecurity, in.PeerSecurity = said.GetClientSecurity(), said.GetPeerSecurity()
	if said != nil {
		said.ClientSecurity, said.PeerSecurity = 0, 0
	}
	in.Member = said
}
