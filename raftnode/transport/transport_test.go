package transport_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for what must happen.
const patience = 30 * time.Second

var cluster = [16]byte{1, 2, 3}

// end is one member of a test.
type end struct {
	*transport.Transport
	t        testing.TB
	id       uint64
	self     transport.Self
	listener net.Listener
	stop     func()
	killed   atomic.Bool // its listener was closed

	mu          sync.Mutex // guards what follows
	received    []*raftpb.Message
	unreachable map[uint64]int
	described   []*storev1.Member
	fenced      []error
	changed     chan struct{} // closed and made anew with every change
}

// calls answers what the tests do not look at.
type calls struct{}

func (calls) Probe(context.Context, *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	return &peerv1.ProbeResponse{Header: &peerv1.PeerHeader{Name: "answer"}}, nil
}

func (calls) Join(context.Context, *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	return nil, transport.ErrNameTaken
}

func (calls) SendSnapshot(peerv1.PeerService_SendSnapshotServer) error { return nil }

func (calls) Compare(ctx context.Context, _ *peerv1.CompareRequest) (*peerv1.CompareResponse, error) {
	from, _ := transport.Caller(ctx)
	return &peerv1.CompareResponse{Report: &peerv1.MemberReport{AppliedIndex: from}}, nil
}

// start runs a member on a listener of its own. Whatever the options leave open is what most tests want.
func start(t testing.TB, id uint64, o transport.Options) *end {
	t.Helper()
	if o.Listener == nil {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.Listener = listener
	}
	e := &end{t: t, id: id, listener: o.Listener, unreachable: map[uint64]int{}, changed: make(chan struct{})}
	o.Calls = calls{}
	o.Receive = func(m *raftpb.Message) { e.note(func() { e.received = append(e.received, m) }) }
	o.Unreachable = func(member uint64) { e.note(func() { e.unreachable[member]++ }) }
	o.Describe = func(m *storev1.Member) { e.note(func() { e.described = append(e.described, m) }) }
	o.Fenced = func(err error) { e.note(func() { e.fenced = append(e.fenced, err) }) }
	var err error
	if e.Transport, err = transport.New(o); err != nil {
		t.Fatal(err)
	}
	e.self = transport.Self{ClusterID: cluster, Member: &storev1.Member{
		Id: id, Incarnation: 100 + id, Starts: transport.NextStarts(0, 7), Name: name(id), PeerAddress: e.listener.Addr().String(),
	}}
	e.SetSelf(e.self)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !e.killed.Load() {
			t.Errorf("member %d: run: %v", id, err)
		}
	})
	t.Cleanup(e.stop)
	return e
}

func name(id uint64) string { return string(rune('a' + id - 1)) }

// peer is how others know a member.
func (e *end) peer() transport.Peer {
	m := e.self.Member
	return transport.Peer{
		ID: e.id, Incarnation: m.GetIncarnation(), Starts: m.GetStarts(), Name: m.GetName(), Address: m.GetPeerAddress(),
	}
}

// meet makes members known to each other.
func meet(all ...*end) {
	var peers []transport.Peer
	for _, e := range all {
		peers = append(peers, e.peer())
	}
	for _, e := range all {
		e.SetPeers(peers, nil)
	}
}

func (e *end) note(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
}

// refusal returns why the member was first refused for good; nil if it was not. It tries again, and may be told more often.
func (e *end) refusal() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.fenced) == 0 {
		return nil
	}
	return e.fenced[0]
}

// await waits until something is so for what the member has seen.
func (e *end) await(what string, is func() bool) {
	e.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		e.mu.Lock()
		ok, changed := is(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-late.C:
			e.t.Fatalf("member %d: %s: not within %v", e.id, what, patience)
		}
	}
}

// connected tells whether a peer accepts this member's messages.
func (e *end) connected(to uint64) bool {
	for _, s := range e.Peers() {
		if s.ID == to {
			return s.Connected
		}
	}
	return false
}

func (e *end) awaitConnected(to uint64) {
	e.t.Helper()
	e.await("connected", func() bool { return e.connected(to) })
}

func message(typ raftpb.MessageType, from, to, index uint64) *raftpb.Message {
	return &raftpb.Message{Type: typ.Enum(), From: new(from), To: new(to), Term: new(uint64(1)), Index: new(index)}
}

// Messages arrive whole, those of one stream in order, both ways.
func TestMessagesArriveInOrder(t *testing.T) {
	a, b := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	meet(a, b)
	a.awaitConnected(2)
	b.awaitConnected(1)
	const count = 1000
	data := make([]byte, 10_000)
	for i := range uint64(count) {
		m := message(raftpb.MsgApp, 1, 2, i)
		m.Entries = []*raftpb.Entry{{Index: new(i + 1), Term: new(uint64(1)), Data: data}}
		a.Send([]*raftpb.Message{m, message(raftpb.MsgHeartbeat, 1, 2, i)})
		b.Send([]*raftpb.Message{message(raftpb.MsgAppResp, 2, 1, i)})
	}
	b.await("all messages", func() bool { return len(b.received) == 2*count })
	a.await("all answers", func() bool { return len(a.received) == count })
	b.mu.Lock()
	received, described := slices.Clone(b.received), slices.Clone(b.described)
	b.mu.Unlock()
	next := map[raftpb.MessageType]uint64{}
	for _, m := range received {
		if m.GetIndex() != next[m.GetType()] {
			t.Fatalf("%v %d came as number %d", m.GetType(), m.GetIndex(), next[m.GetType()])
		}
		next[m.GetType()]++
		if m.GetType() == raftpb.MsgApp && len(m.GetEntries()[0].GetData()) != len(data) {
			t.Fatalf("entry of %d bytes", len(m.GetEntries()[0].GetData()))
		}
	}
	if len(described) == 0 || described[0].GetName() != "a" {
		t.Errorf("described: got %v", described)
	}
	b.await("a round trip", func() bool { return b.Peers()[0].RoundTrip > 0 })
}

// A peer that cannot be reached costs nothing but its messages.
func TestWhatCannotBeSentIsDroppedAndReported(t *testing.T) {
	a := start(t, 1, transport.Options{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, QueueBytesMax: 1 << 20, SilenceMax: 200 * time.Millisecond})
	a.SetPeers([]transport.Peer{{ID: 2, Name: "b", Address: "nowhere:1"}}, nil)
	m := message(raftpb.MsgApp, 1, 2, 1)
	m.Entries = []*raftpb.Entry{{Data: make([]byte, 1<<18)}}
	for range 100_000 {
		a.Send([]*raftpb.Message{m, message(raftpb.MsgHeartbeat, 1, 2, 1), message(raftpb.MsgVote, 1, 9, 1)})
	}
	a.await("reports", func() bool { return a.unreachable[2] > 90_000 && a.unreachable[9] == 100_000 })
	a.await("a reason", func() bool { return a.Peers()[0].Problem != "" })
}

// A connection that is silent is given up, and made again when the peer answers.
func TestSilentConnectionsAreMadeAgain(t *testing.T) {
	var wall firewall
	a := start(t, 1, transport.Options{Dial: wall.dial, SilenceMax: time.Second})
	b := start(t, 2, transport.Options{})
	meet(a, b)
	a.awaitConnected(2)
	wall.block(true)
	a.await("lost", func() bool { return !a.connected(2) })
	wall.block(false)
	a.awaitConnected(2)
	b.await("a message after it", func() bool {
		// On a loaded machine the connection may be given up once more, and what is sent just then is lost.
		a.Send([]*raftpb.Message{message(raftpb.MsgVote, 1, 2, 5)})
		return len(b.received) > 0
	})
}

// firewall swallows what is written while it blocks, as a network does that lost its route.
type firewall struct {
	mu      sync.Mutex // guards blocked
	blocked bool
}

func (w *firewall) block(blocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = blocked
}

func (w *firewall) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &walled{Conn: conn, wall: w}, nil
}

type walled struct {
	net.Conn
	wall *firewall
	lost bool // something was swallowed; nothing makes sense after it
}

func (c *walled) Write(p []byte) (int, error) {
	c.wall.mu.Lock()
	defer c.wall.mu.Unlock()
	if c.wall.blocked || c.lost {
		c.lost = true
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// What a peer said of itself in a start is not undone by a record of an earlier one, nor by a record as old.
func TestAnOldRecordDoesNotUndoANewAddress(t *testing.T) {
	a, b := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	old := b.peer()
	old.Address = "127.0.0.1:1"
	a.SetPeers([]transport.Peer{old}, nil)
	b.self.Member.Starts = transport.NextStarts(old.Starts, 3)
	b.SetSelf(b.self)
	b.SetPeers([]transport.Peer{a.peer()}, nil)
	a.awaitConnected(2)
	address := func() string { return a.Peers()[0].Address }
	recorded := b.peer()
	recorded.Address = "127.0.0.1:2"
	for what, record := range map[string]transport.Peer{"an older record": old, "a record of this start": recorded} {
		a.SetPeers([]transport.Peer{record}, nil)
		if got, want := address(), b.peer().Address; got != want {
			t.Errorf("after %s: got %s, want %s", what, got, want)
		}
	}
	recorded.Starts = transport.NextStarts(recorded.Starts, 9)
	a.SetPeers([]transport.Peer{recorded}, nil)
	if got, want := address(), recorded.Address; got != want {
		t.Errorf("after a newer record: got %s, want %s", got, want)
	}
}

// A peer that moved is found at its new address, and one whose record does not say so yet by its own word.
func TestPeersMove(t *testing.T) {
	a, b := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	meet(a, b)
	a.awaitConnected(2)
	b.stop()
	a.await("lost", func() bool { return !a.connected(2) })
	again := start(t, 2, transport.Options{})
	again.SetPeers([]transport.Peer{a.peer()}, nil)
	again.awaitConnected(1)
	a.awaitConnected(2)
	if at := a.Peers()[0].Address; at != again.peer().Address {
		t.Errorf("address: got %s, want %s", at, again.peer().Address)
	}
}

// A member that is not known here may have been added where this one has not come yet: it is answered once a known member
// vouches for it, and not before.
func TestAnUnknownMemberOfTheClusterIsAnswered(t *testing.T) {
	var vouched atomic.Bool
	asked := make(chan uint64, 1024)
	a := start(t, 1, transport.Options{Confirm: func(_ context.Context, member uint64) bool {
		select {
		case asked <- member:
		default:
		}
		return vouched.Load()
	}})
	b := start(t, 2, transport.Options{})
	b.SetPeers([]transport.Peer{a.peer()}, nil)
	for range 2 {
		if got := <-asked; got != 2 {
			t.Fatalf("asked about member %d, want 2", got)
		}
	}
	if b.connected(1) || len(a.Peers()) != 0 || a.Starts(2) != 0 {
		t.Fatal("a member that nobody vouches for is heard")
	}
	vouched.Store(true)
	b.awaitConnected(1)
	b.Send([]*raftpb.Message{message(raftpb.MsgApp, 2, 1, 1)})
	a.await("a message", func() bool { return len(a.received) == 1 })
	a.awaitConnected(2)
	a.Send([]*raftpb.Message{message(raftpb.MsgAppResp, 1, 2, 1)})
	b.await("the answer", func() bool { return len(b.received) == 1 })
	// Records that do not name it leave it as it is; its removal does not.
	a.SetPeers(nil, nil)
	if !a.connected(2) {
		t.Error("the member is forgotten")
	}
	a.SetPeers(nil, []uint64{2})
	if len(a.Peers()) != 0 {
		t.Errorf("peers: got %v", a.Peers())
	}
	b.await("fenced", func() bool { return len(b.fenced) > 0 })
	if err := b.refusal(); !errors.Is(err, transport.ErrRemoved) {
		t.Errorf("got %v, want ErrRemoved", err)
	}
}

// The peer tells that it cannot connect to the address that this member advertises.
func TestAWrongAdvertisedAddressIsToldBack(t *testing.T) {
	a, b := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	a.self.Member.PeerAddress = "127.0.0.1:1"
	a.SetSelf(a.self)
	meet(a, b)
	a.awaitConnected(2)
	a.await("a problem", func() bool { return a.Peers()[0].Problem != "" })
	if b.connected(1) {
		t.Error("b is connected to port 1")
	}
}

// Relayed calls know who calls.
func TestCallsNameTheCaller(t *testing.T) {
	a, b := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	meet(a, b)
	for name, connect := range map[string]func(uint64) (grpc.ClientConnInterface, error){
		"relay": a.Conn, "snapshot": a.SnapshotConn,
	} {
		conn, err := connect(2)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := peerv1.NewPeerServiceClient(conn).Compare(t.Context(), &peerv1.CompareRequest{})
		if err != nil || resp.GetReport().GetAppliedIndex() != 1 {
			t.Errorf("%s: got %v, %v", name, resp, err)
		}
	}
	if _, err := a.Conn(9); !errors.Is(err, transport.ErrUnknownPeer) {
		t.Errorf("unknown member: got %v", err)
	}
	b.SetPeers(nil, []uint64{1})
	conn, err := a.Conn(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = peerv1.NewPeerServiceClient(conn).Compare(t.Context(), &peerv1.CompareRequest{}); !errors.Is(err, transport.ErrRemoved) {
		t.Errorf("removed: got %v", err)
	}
	if _, err = a.Join(t.Context(), b.peer().Address, &peerv1.JoinRequest{}); !errors.Is(err, transport.ErrNameTaken) {
		t.Errorf("join: got %v", err)
	}
	resp, err := a.Probe(t.Context(), b.peer().Address, &peerv1.ProbeRequest{})
	if err != nil || resp.GetHeader().GetName() != "answer" {
		t.Errorf("probe: got %v, %v", resp, err)
	}
}

// Of two runs on copies of one directory the one that counts more starts stays.
func TestTheNewerOfTwoRunsStays(t *testing.T) {
	a, old := start(t, 1, transport.Options{}), start(t, 2, transport.Options{})
	meet(a, old)
	old.awaitConnected(1)
	newer := start(t, 2, transport.Options{})
	newer.self.Member.Starts = transport.NextStarts(old.self.Member.GetStarts(), 1)
	newer.SetSelf(newer.self)
	newer.SetPeers([]transport.Peer{a.peer()}, nil)
	newer.awaitConnected(1)
	old.await("fenced", func() bool { return len(old.fenced) > 0 })
	if err := old.refusal(); !errors.Is(err, transport.ErrStaleIncarnation) {
		t.Errorf("got %v, want ErrStaleIncarnation", err)
	}
	newer.awaitConnected(1)
	if err := newer.refusal(); err != nil {
		t.Errorf("the newer run was refused: %v", err)
	}
}

// The metrics of a peer stay while one of its name is there: of one that is replaced under its name, and of those whose names are not known.
func TestMetricsStayWhileAPeerHasTheirName(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := start(t, 1, transport.Options{Registerer: registry, Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	b := func(id uint64) transport.Peer { return transport.Peer{ID: id, Name: "b", Address: "nowhere:1"} }
	nameless := func(id uint64) transport.Peer { return transport.Peer{ID: id, Address: "nowhere:1"} }
	for _, step := range []struct {
		what    string
		peers   []transport.Peer
		removed []uint64
		want    []string
	}{
		{"at first", []transport.Peer{b(2), nameless(3), nameless(4)}, nil, []string{"b", "unknown"}},
		{"after one was replaced and one is gone", []transport.Peer{b(5), nameless(4)}, []uint64{2}, []string{"b", "unknown"}},
		{"after all others are gone", []transport.Peer{b(5)}, []uint64{2}, []string{"b"}},
		{"in the end", nil, nil, nil},
	} {
		a.SetPeers(step.peers, step.removed)
		if got := slices.Sorted(maps.Keys(shownConnected(t, registry))); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.what, got, step.want)
		}
	}
}

// While a peer is replaced under its name, its metric says whether either of the two is connected, and then whether the one that stays is.
func TestOneConnectedPeerOfANameIsShown(t *testing.T) {
	for _, c := range []struct {
		what          string
		first, second string // the addresses; empty: where the other member is
		want          float64
	}{
		{"the new one is connected, the old one is away", "nowhere:1", "", 1},
		{"the old one is connected, the new one is away", "", "nowhere:1", 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			var tries atomic.Int32 // of the one that is away
			a := start(t, 1, transport.Options{Registerer: registry, BackoffMax: time.Millisecond, Dial: func(ctx context.Context, address string) (net.Conn, error) {
				if address == "nowhere:1" {
					tries.Add(1)
					return nil, errors.New("nobody is there")
				}
				return (&net.Dialer{}).DialContext(ctx, "tcp", address)
			}})
			id := uint64(2) // of the one that is there
			if c.second == "" {
				id = 3
			}
			there := start(t, id, transport.Options{})
			peers := []transport.Peer{{ID: 2, Name: "b", Address: c.first}, {ID: 3, Name: "b", Address: c.second}}
			peers[id-2].Address = there.peer().Address
			a.SetPeers(peers, nil)
			there.SetPeers([]transport.Peer{a.peer()}, nil)
			a.awaitConnected(id)
			since := tries.Load()
			a.await("more tries", func() bool { return tries.Load() > since+2 })
			if got := shownConnected(t, registry); !maps.Equal(got, map[string]float64{"b": 1}) {
				t.Errorf("of both: got %v, want 1", got)
			}
			a.SetPeers(peers[1:], []uint64{2})
			if got := shownConnected(t, registry); !maps.Equal(got, map[string]float64{"b": c.want}) {
				t.Errorf("after the old one was removed: got %v, want %v", got, c.want)
			}
		})
	}
}

// shownConnected returns which peers are shown as connected, and which as not.
func shownConnected(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "tenure_peer_connected" {
			for _, m := range family.GetMetric() {
				shown[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return shown
}

// A connection for calls whose peer takes no more bytes is closed on the side: nothing else of the member waits for that.
func TestNothingWaitsForTheEndOfAConnection(t *testing.T) {
	var conns []*stuck
	var mu sync.Mutex // guards conns
	full, drained := make(chan struct{}), make(chan struct{})
	a := start(t, 1, transport.Options{Dial: func(ctx context.Context, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, &stuck{Conn: raw, full: full, drained: drained})
		return conns[len(conns)-1], nil
	}})
	b := start(t, 2, transport.Options{})
	meet(a, b)
	a.awaitConnected(2)
	conn, err := a.Conn(2)
	if err == nil {
		_, err = peerv1.NewPeerServiceClient(conn).Compare(t.Context(), &peerv1.CompareRequest{})
	}
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	last := conns[len(conns)-1]
	mu.Unlock()
	close(full)
	moved := b.peer()
	moved.Starts, moved.Address = transport.NextStarts(moved.Starts, 9), start(t, 3, transport.Options{}).peer().Address
	a.SetPeers([]transport.Peer{moved}, nil)
	if last.closed.Load() {
		t.Error("the peer's new address was taken only after the connection to the old one had ended")
	}
	close(drained)
	a.await("its end", last.closed.Load)
}

// stuck takes nothing more between two moments.
type stuck struct {
	net.Conn

	full, drained chan struct{}
	closed        atomic.Bool
}

func (s *stuck) Write(p []byte) (int, error) {
	select {
	case <-s.full:
		<-s.drained
	default:
	}
	return s.Conn.Write(p)
}

func (s *stuck) Close() error {
	s.closed.Store(true)
	return s.Conn.Close()
}
