package raftnode_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// fleet runs members that come and go, over wires that also carry snapshots.
type fleet struct {
	t       *testing.T
	w       *wires
	options func(id uint64, o *raftnode.Options)

	disks map[uint64]vfs.FS
	stops map[uint64]func() error
	ends  map[uint64]chan struct{} // closed when a member ended

	// breakAfter ends every stream of a snapshot after so many chunks; 0 never.
	breakAfter int

	mu      sync.Mutex // guards what follows
	streams int        // snapshots begun
	broken  int
	resumed int // streams on which the receiver had something already
	takes   int // messages that ask a member to take the leadership over, which are lost
}

func newFleet(t *testing.T, options func(id uint64, o *raftnode.Options)) *fleet {
	f := &fleet{
		t: t, options: options, disks: map[uint64]vfs.FS{}, stops: map[uint64]func() error{}, ends: map[uint64]chan struct{}{},
		w: &wires{nodes: map[uint64]*raftnode.Node{}, rng: rand.New(rand.NewPCG(1, 2))},
	}
	t.Cleanup(func() {
		for id := range f.stops {
			f.stop(id)
		}
	})
	return f
}

// begin starts the first members, with ids from 1.
func (f *fleet) begin(voters uint64) {
	f.t.Helper()
	for id := uint64(1); id <= voters; id++ {
		f.start(id, func(o raftnode.Options) raftnode.Options { return raftnode.WithGenesis(o, id, voters) })
	}
}

// start runs a member on its disk, a new one if it has none.
func (f *fleet) start(id uint64, with ...func(raftnode.Options) raftnode.Options) *raftnode.Node {
	f.t.Helper()
	if f.disks[id] == nil {
		f.disks[id] = vfs.NewMem()
	}
	o := raftnode.Options{FS: f.disks[id], Dir: "/data", Transport: fleetPort{port: port{w: f.w, self: id}, f: f}}
	if f.options != nil {
		f.options(id, &o)
	}
	for _, w := range with {
		o = w(o)
	}
	n, err := raftnode.Open(o)
	if err != nil {
		f.t.Fatalf("open member %d: %v", id, err)
	}
	f.w.mu.Lock()
	f.w.nodes[id] = n
	f.w.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	gone := make(chan struct{})
	go func() {
		ended <- n.Run(ctx)
		close(gone)
	}()
	f.ends[id] = gone
	f.stops[id] = sync.OnceValue(func() error {
		cancel()
		err := <-ended
		f.w.mu.Lock()
		delete(f.w.nodes, id)
		f.w.mu.Unlock()
		return err
	})
	return n
}

// join starts a member on an empty disk and has it added.
func (f *fleet) join(id uint64, with ...func(*raftnode.MemberSpec)) *raftnode.Node {
	f.t.Helper()
	n := f.start(id, func(o raftnode.Options) raftnode.Options {
		return raftnode.WithEmpty(o, id, f.leader().Status().ClusterID)
	})
	spec := specOf(id)
	for _, w := range with {
		w(&spec)
	}
	f.makeToken(&storev1.MakeJoinToken{Name: spec.Name})
	f.admit(spec)
	return n
}

// tokenOf returns the join token for a name; there is one for each.
func tokenOf(name string) []byte {
	hash := sha256.Sum256([]byte(name))
	return hash[:]
}

// makeToken makes the join token for a name, in a cluster whose version is raised for it.
func (f *fleet) makeToken(token *storev1.MakeJoinToken) {
	f.t.Helper()
	hash := sha256.Sum256(tokenOf(token.GetName()))
	token.TokenSha256, token.TtlMs = hash[:], time.Hour.Milliseconds()
	f.change("make a join token", func(ctx context.Context, leader *raftnode.Node) error {
		_, newest := storage.ClusterVersions()
		if leader.Store().Applied().ClusterVersion < newest {
			raise := &storev1.SetClusterVersion{Version: newest}
			_, err := leader.Propose(ctx, &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: raise}})
			if err != nil {
				return err
			}
		}
		result, err := leader.Propose(ctx, &storev1.Command{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: token}})
		if failure := result.GetFailure(); err == nil && failure != nil {
			return errors.New(storage.FailureText(failure))
		}
		return err
	})
}

// admit has a member added that brings the token of its name.
func (f *fleet) admit(spec raftnode.MemberSpec) {
	f.t.Helper()
	f.change("add", func(ctx context.Context, leader *raftnode.Node) error {
		_, err := leader.Admit(ctx, tokenOf(spec.Name), spec)
		return err
	})
}

func specOf(id uint64) raftnode.MemberSpec {
	return raftnode.MemberSpec{
		ID: id, Incarnation: id, Name: fmt.Sprintf("m%d", id), Addresses: raftnode.Addresses{Peer: fmt.Sprintf("m%d:7402", id)},
	}
}

// change asks whoever leads until it is done.
func (f *fleet) change(what string, ask func(ctx context.Context, leader *raftnode.Node) error) {
	f.t.Helper()
	var err error
	for range 200 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err = ask(ctx, f.leader())
		cancel()
		if err == nil {
			return
		}
		if !errors.Is(err, raftnode.ErrNotLeader) && !errors.Is(err, raftnode.ErrNoLeader) &&
			!errors.Is(err, raftnode.ErrOutcomeUnknown) && !errors.Is(err, raftnode.ErrTransferring) &&
			!errors.Is(err, raftnode.ErrConfChangePending) {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	f.t.Fatalf("%s: %v", what, err)
}

// voters waits until these vote and nobody else.
func (f *fleet) voters(ids ...uint64) {
	f.t.Helper()
	f.await(fmt.Sprintf("voters %v", ids), func() bool {
		got := f.leader().Status()
		return slices.Equal(slices.Sorted(slices.Values(got.Voters)), ids) && len(got.Learners) == 0
	})
}

// ended waits for a member that stops by itself.
func (f *fleet) ended(id uint64, want error) {
	f.t.Helper()
	f.w.mu.Lock()
	stop := f.stops[id]
	f.w.mu.Unlock()
	delete(f.stops, id)
	<-f.ends[id]
	if err := stop(); !errors.Is(err, want) {
		f.t.Errorf("member %d ended with %v, want %v", id, err, want)
	}
}

// restart stops the members that run, all of them, and starts them again.
func (f *fleet) restart(ids ...uint64) {
	f.t.Helper()
	for _, id := range ids {
		if f.stops[id] != nil {
			f.stop(id)
		}
	}
	for _, id := range ids {
		f.start(id)
	}
}

// stop ends a member in order.
func (f *fleet) stop(id uint64) {
	if err := f.stops[id](); err != nil {
		f.t.Errorf("member %d: %v", id, err)
	}
	delete(f.stops, id)
}

func (f *fleet) node(id uint64) *raftnode.Node {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	return f.w.nodes[id]
}

// leader waits for a member that leads.
func (f *fleet) leader() *raftnode.Node {
	f.t.Helper()
	var found *raftnode.Node
	f.await("a leader", func() bool {
		f.w.mu.Lock()
		defer f.w.mu.Unlock()
		for id, n := range f.w.nodes {
			if s := n.Status(); f.w.cut != id && s.Role == "leader" && n.Store().Applied().Term == s.Term {
				found = n
				return true
			}
		}
		return false
	})
	return found
}

// await waits for a state of the fleet.
func (f *fleet) await(what string, is func() bool) {
	f.t.Helper()
	for range 6000 {
		if is() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	f.t.Fatalf("waited in vain for %s", what)
}

// put writes a key through whoever leads, until it is acknowledged.
func (f *fleet) put(key, value string) {
	f.t.Helper()
	for range 1000 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := f.leader().Propose(ctx, put(key, value))
		cancel()
		if err == nil {
			return
		}
	}
	f.t.Fatalf("put %s: no success", key)
}

// agree waits until all running members have applied the same, and compares them.
func (f *fleet) agree(ids ...uint64) {
	f.t.Helper()
	f.await("all members at the same index", func() bool {
		want := f.leader().Store().Applied().Index
		for _, id := range ids {
			if f.node(id).Store().Applied().Index != want {
				return false
			}
		}
		return true
	})
	want := f.leader().Store().Applied()
	text := dump(f.t, f.leader())
	for _, id := range ids {
		got := f.node(id).Store().Applied()
		if got.Index == want.Index && (got.Checksum != want.Checksum || dump(f.t, f.node(id)) != text) {
			f.t.Errorf("member %d at index %d: checksum %x, want %x", id, got.Index, got.Checksum, want.Checksum)
		}
	}
}

// fleetPort is a member's end of the wires, snapshots included.
type fleetPort struct {
	port
	f *fleet
}

// Send drops what a removed member sends, and tells it so.
func (p fleetPort) Send(msgs []*raftpb.Message) {
	self := p.f.node(p.self)
	for _, m := range msgs {
		n := p.f.node(m.GetTo())
		if n == nil || self == nil {
			continue
		}
		r := n.Store().NewReader()
		removed, err := r.IsRemoved(p.self)
		if errors.Join(err, r.Close()) == nil && removed {
			raftnode.ReportRemoved(self)
			return
		}
	}
	p.port.Send(slices.DeleteFunc(msgs, p.f.loses))
}

// loses reports whether a message is one that is lost.
func (f *fleet) loses(m *raftpb.Message) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.GetType() != raftpb.MsgTimeoutNow || f.takes == 0 {
		return false
	}
	f.takes--
	return true
}

// Conn returns a connection for calls to a member.
func (p fleetPort) Conn(member uint64) (grpc.ClientConnInterface, error) {
	return callConn{p: p, to: member}, nil
}

// callConn carries the calls between members that are not raft's.
type callConn struct {
	p  fleetPort
	to uint64
}

// Invoke carries one call.
func (c callConn) Invoke(_ context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	n := c.p.w.route(c.p.self, c.to)
	req, isReq := args.(*peerv1.CompareRequest)
	answer, isResp := reply.(*peerv1.CompareResponse)
	if n == nil || method != peerv1.PeerService_Compare_FullMethodName || !isReq || !isResp {
		return errCut
	}
	proto.Merge(answer, raftnode.Compare(n, req))
	return nil
}

// NewStream carries no streams.
func (c callConn) NewStream(
	context.Context, *grpc.StreamDesc, string, ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, errCut
}

// OpenSnapshot opens a stream to a member.
func (p fleetPort) OpenSnapshot(ctx context.Context, to uint64) (raftnode.SnapshotStream, error) {
	n := p.w.route(p.self, to)
	if n == nil {
		return nil, errors.New("unreachable")
	}
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.f.streams++
	s := &snapshotPipe{
		ctx: ctx, requests: make(chan *peerv1.SendSnapshotRequest), answers: make(chan *peerv1.SendSnapshotResponse, 4),
		sent: make(chan struct{}), ended: make(chan struct{}), left: p.f.breakAfter, p: p, to: to,
	}
	go func() {
		defer close(s.ended)
		s.err = n.ReceiveSnapshot(receivingEnd{s})
	}()
	return s, nil
}

// snapshotPipe is a stream in memory.
type snapshotPipe struct {
	ctx      context.Context
	requests chan *peerv1.SendSnapshotRequest
	answers  chan *peerv1.SendSnapshotResponse
	sent     chan struct{} // closed by CloseSend
	ended    chan struct{} // closed when the receiver returned err
	err      error
	left     int // chunks until the stream breaks; 0 never
	p        fleetPort
	to       uint64
}

var errCut = errors.New("connection is cut")

func (s *snapshotPipe) Send(m *peerv1.SendSnapshotRequest) error {
	if s.left > 0 {
		if s.left--; s.left == 0 {
			s.p.f.mu.Lock()
			s.p.f.broken++
			s.p.f.mu.Unlock()
			close(s.requests)
			return errCut
		}
	}
	if s.p.w.route(s.p.self, s.to) == nil {
		return errCut
	}
	select {
	case s.requests <- proto.CloneOf(m):
		return nil
	case <-s.ended:
		return io.EOF
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *snapshotPipe) Recv() (*peerv1.SendSnapshotResponse, error) {
	select {
	case m := <-s.answers:
		return s.count(m), nil
	case <-s.ended:
		if len(s.answers) > 0 {
			return s.count(<-s.answers), nil
		}
		if s.err == nil {
			return nil, io.EOF
		}
		return nil, s.err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *snapshotPipe) count(m *peerv1.SendSnapshotResponse) *peerv1.SendSnapshotResponse {
	if len(m.GetHave()) > 0 {
		s.p.f.mu.Lock()
		defer s.p.f.mu.Unlock()
		s.p.f.resumed++
	}
	return m
}

func (s *snapshotPipe) CloseSend() error {
	close(s.sent)
	return nil
}

// receivingEnd is the other end of a pipe.
type receivingEnd struct{ s *snapshotPipe }

func (r receivingEnd) Recv() (*peerv1.SendSnapshotRequest, error) {
	select {
	case m, ok := <-r.s.requests:
		if !ok {
			return nil, errCut
		}
		return m, nil
	case <-r.s.sent:
		return nil, io.EOF
	case <-r.s.ctx.Done():
		return nil, r.s.ctx.Err()
	}
}

func (r receivingEnd) Send(m *peerv1.SendSnapshotResponse) error {
	select {
	case r.s.answers <- m:
		return nil
	case <-r.s.ctx.Done():
		return r.s.ctx.Err()
	}
}
