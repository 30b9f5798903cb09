package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

// Options says who a member is, and how it meets others.
type Options struct {
	// Name is the member's name, and Addresses are what others are told; Zone and Version are for people.
	Name          string
	Addresses     membership.Addresses
	Zone, Version string
	// ClientSecurity and PeerSecurity say how the member listens for clients, and for other members.
	ClientSecurity, PeerSecurity storev1.ListenerSecurity
	// InitialCluster, Join, JoinToken and StayLearner say how a fresh directory begins.
	InitialCluster []Peer
	Join           []string
	JoinToken      func() ([]byte, error)
	StayLearner    bool
	// Listener is where other members connect; nil serves no peers. Services are served to them beside the transport's own.
	Listener net.Listener
	Services []func(grpc.ServiceRegistrar)
	// Security says how members are sure of each other; nil believes everybody.
	Security *transport.Security
	// ElectionTimeout is the shortest time without a leader after which a member asks for votes.
	ElectionTimeout time.Duration
	Logger          *zap.Logger
	Registerer      prometheus.Registerer
}

// Wire is a member's end of the transport. It is there before the node, since a member that begins a cluster or joins
// one has to talk to others first.
type Wire struct {
	*transport.Transport
	o    Options
	log  *zap.Logger
	dir  *datadir.Dir
	self atomic.Pointer[Self] // nil until the member is open
	// claims decides about later starts of members.
	claims *startClaims
	// fenced is called when peers refuse this member for good, before there is a node.
	fenced func(error)
	stop   context.CancelFunc
	ended  chan error

	mu       sync.Mutex // guards what follows
	identity datadir.Identity
	genesis  *peerv1.Genesis // nil if unknown, or not of this kind
	// described is what peers said of themselves when they connected, by id; nobody changes a description.
	described map[uint64]*storev1.Member
}

var _ snapshots.Transport = (*Wire)(nil)

// Open begins to serve peers; nil without a listener for them. fenced is called when they refuse this member for good,
// before it is open.
func Open(
	ctx context.Context, o Options, dir *datadir.Dir, id datadir.Identity, fenced func(error),
) (*Wire, error) {
	if o.Listener == nil {
		return nil, nil
	}
	w := &Wire{
		o: o, log: o.Logger, dir: dir, identity: id, fenced: fenced, ended: make(chan error, 1),
		described: map[uint64]*storev1.Member{},
	}
	w.claims = &startClaims{w: w}
	var err error
	w.Transport, err = transport.New(transport.Options{
		Listener: o.Listener, Services: o.Services, Security: o.Security, Calls: w,
		Receive:     w.receive,
		Unreachable: w.unreachable, Gone: w.gone,
		Describe: w.describePeer,
		Accepted: w.accepted,
		Confirm:  w.confirm, ConfirmStart: w.claims.believe,
		Fenced:     w.fence,
		SilenceMax: max(silenceMin, silenceElections*o.ElectionTimeout),
		BackoffMax: max(backoffMin, o.ElectionTimeout),
		Logger:     o.Logger, Registerer: o.Registerer,
	})
	if err != nil {
		return nil, err
	}
	w.setIdentity(id)
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	go func() {
		err := w.Run(life)
		if n := w.self.Load(); err != nil && n != nil {
			n.m.Fail(err)
		}
		w.ended <- err
	}()
	return w, nil
}

const (
	// silenceMin and silenceElections say how long a peer may be silent: never less than what a loaded machine needs.
	silenceMin       = 4 * time.Second
	silenceElections = 4
	// backoffMin is the least that the longest wait between two attempts to connect is.
	backoffMin = 200 * time.Millisecond
)

// Close ends the transport and everything that it started.
func (w *Wire) Close() error {
	if w == nil {
		return nil
	}
	w.stop()
	return <-w.ended
}

// setIdentity says who this member is, which is known for good when it is of a cluster.
func (w *Wire) setIdentity(id datadir.Identity) {
	w.mu.Lock()
	w.identity = id
	w.mu.Unlock()
	w.SetSelf(transport.Self{ClusterID: id.ClusterID, Member: w.o.describe(id)})
}

// describe returns what a member says of itself.
func (o *Options) describe(id datadir.Identity) *storev1.Member {
	oldest, newest := storage.ClusterVersions()
	return &storev1.Member{
		Id: id.MemberID, Incarnation: id.Incarnation, Starts: id.Starts, Name: o.Name,
		PeerAddress: o.Addresses.Peer, ClientAddress: o.Addresses.Client, HttpAddress: o.Addresses.HTTP,
		VersionMin: oldest, VersionMax: newest, Zone: o.Zone, BinaryVersion: o.Version,
		ClientSecurity: o.ClientSecurity, PeerSecurity: o.PeerSecurity,
	}
}

func (w *Wire) receive(m *raftpb.Message) {
	if n := w.self.Load(); n != nil {
		n.m.Receive(m)
	}
}

func (w *Wire) unreachable(member uint64) {
	if n := w.self.Load(); n != nil {
		n.m.Unreachable(member)
	}
}

func (w *Wire) gone(member uint64) {
	if n := w.self.Load(); n != nil {
		n.m.Gone(member)
	}
}

func (w *Wire) describePeer(m *storev1.Member) {
	if err := storage.CheckJoiner(m); err != nil {
		w.log.Warn("passes over what a member says of itself", zap.Uint64("member", m.GetId()), zap.Error(err))
		return
	}
	w.mu.Lock()
	w.described[m.GetId()] = m
	w.mu.Unlock()
	if n := w.self.Load(); n != nil {
		n.roster.compare()
	}
}

// describedBy returns what a member last said of itself, or nil.
func (w *Wire) describedBy(id uint64) *storev1.Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.described[id]
}

// accepted remembers that others have heard of this start.
func (w *Wire) accepted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.identity.Met || w.identity.ClusterID == [16]byte{} {
		return
	}
	next := w.identity
	next.Met = true
	if err := w.dir.WriteIdentity(next); err != nil {
		// A disk that failed stops the member by itself.
		w.log.Warn("cannot remember that other members know of this start", zap.Error(err))
		return
	}
	w.identity = next
}

func (w *Wire) fence(err error) {
	err = explainRefusal(err)
	if n := w.self.Load(); n != nil {
		n.m.Fail(err)
		return
	}
	w.fenced(err)
}

// OpenSnapshot opens a stream for a snapshot to a member.
func (w *Wire) OpenSnapshot(ctx context.Context, to uint64) (snapshots.Stream, error) {
	return w.Transport.OpenSnapshot(ctx, to)
}

// Conn returns the connection for calls to a member.
func (w *Wire) Conn(member uint64) (grpc.ClientConnInterface, error) {
	cc, err := w.Transport.Conn(member)
	if errors.Is(err, transport.ErrUnknownPeer) {
		return nil, fmt.Errorf("%w: %x", membership.ErrMemberUnknown, member)
	}
	return cc, err
}

// header says who this member is.
func (w *Wire) header() *peerv1.PeerHeader {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, newest := storage.ClusterVersions()
	return &peerv1.PeerHeader{
		ClusterId: bytes.Clone(w.identity.ClusterID[:]), From: w.identity.MemberID, FromIncarnation: w.identity.Incarnation,
		Starts: w.identity.Starts, Name: w.o.Name, VersionMax: newest, BinaryVersion: w.o.Version,
	}
}

// confirm asks the members that are known here whether another one is a member too. A member that knows no other one, as when
// it was added and has no state yet, asks those that the operator named.
func (w *Wire) confirm(ctx context.Context, member uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	type known struct {
		address string
		id      uint64 // 0 if any member may be there
	}
	var all []known
	for _, p := range w.Peers() {
		all = append(all, known{p.Address, p.ID})
	}
	if len(all) == 0 {
		for _, address := range w.o.Join {
			all = append(all, known{address: address})
		}
	}
	answers := make(chan bool, len(all))
	for _, k := range all {
		go func() { answers <- w.vouches(ctx, k.address, k.id, member) }()
	}
	confirmed := false
	for range all {
		// All are waited for: whoever answers first ends the others' calls.
		if <-answers {
			confirmed = true
			cancel()
		}
	}
	return confirmed
}

// vouches reports whether the member at an address, which has an id unless that is 0, knows another one as a member.
func (w *Wire) vouches(ctx context.Context, address string, id, member uint64) bool {
	cluster := w.header().GetClusterId()
	resp, err := w.Transport.Probe(ctx, address, &peerv1.ProbeRequest{
		Caller: &peerv1.PeerHeader{ClusterId: cluster, From: member},
	})
	h, witness := resp.GetHeader(), resp.GetWitness()
	return err == nil && (id == 0 || h.GetFrom() == id) && bytes.Equal(h.GetClusterId(), cluster) &&
		witness.GetMember() && !witness.GetRemoved()
}

// Probe tells another member, or somebody who looks for the cluster, who this one is.
func (w *Wire) Probe(_ context.Context, req *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	resp := &peerv1.ProbeResponse{Header: w.header()}
	w.mu.Lock()
	resp.Genesis = w.genesis
	w.mu.Unlock()
	for _, p := range w.o.InitialCluster {
		resp.Founding = append(resp.Founding, &peerv1.FoundingMember{Name: p.Name, PeerAddress: p.Address})
	}
	n := w.self.Load()
	if n == nil {
		return resp, nil
	}
	if leader := n.roster.member(n.m.Lead().Leader); leader != nil {
		resp.LeaderAddress = leader.GetPeerAddress()
	}
	resp.Witness = n.testify(req.GetCaller())
	if req.GetMends() {
		n.reseed(req.GetCaller())
	}
	return resp, nil
}

// SendSnapshot receives a snapshot.
func (w *Wire) SendSnapshot(stream peerv1.PeerService_SendSnapshotServer) error {
	n := w.self.Load()
	if n == nil {
		return errNotOpen
	}
	from, _ := transport.Caller(stream.Context())
	return refusedSnapshot(n.m.Receiver.Receive(from, stream))
}

// Compare tells how this member is.
func (w *Wire) Compare(_ context.Context, req *peerv1.CompareRequest) (*peerv1.CompareResponse, error) {
	n := w.self.Load()
	if n == nil {
		return nil, errNotOpen
	}
	return n.m.Health.Answer(req), nil
}

// errNotOpen answers calls that come too early; the caller tries again.
var errNotOpen = fmt.Errorf("%w: member is starting", transport.ErrTryAgain)
