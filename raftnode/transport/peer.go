package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// peer is another member and the way to it.
type peer struct {
	t          *Transport
	id         uint64
	label      string // its name in metrics
	urgent     *queue
	appends    *queue
	counters   counters
	introduced bool   // it was known by its own word first; guarded by the transport's mu
	recorded   string // its name by the last record, empty if there was none; guarded by the transport's mu

	mu     sync.Mutex // guards what follows
	peer   Peer
	leave  context.CancelCauseFunc // ends the present connection; nil without one
	state  Status
	clear  bool // the present connection is without TLS, and this member has it
	conns  [connKinds]*callConn
	before []*callConn // for calls that began before there was a reason for another
	closed bool
	ending sync.WaitGroup // connections that are being closed; nothing begins once closed is set
	said   uint64         // the start in which it told its address itself; 0 if it did not
}

// counters are the peer's metrics.
type counters struct {
	sent, dropped                                map[string]prometheus.Counter
	received, sentBytes, receivedBytes, connects prometheus.Counter
	connected, roundTrip                         prometheus.Gauge
}

// errMoved ends a connection to an address that is no longer the peer's.
var errMoved = errors.New("peer has another address now")

// errSecured ends a connection without TLS to a peer that speaks it.
var errSecured = errors.New("peer is met with TLS from now on")

// errOutlived ends a connection whose peer has shown a certificate that is no longer valid.
var errOutlived = errors.New("certificate of the peer is no longer valid")

// isLeft reports whether a connection was ended to make another one.
func isLeft(err error) bool {
	return errors.Is(err, errMoved) || errors.Is(err, errSecured) || errors.Is(err, errOutlived)
}

// endsAfter is how long after there is a reason for another connection for calls the earlier one is closed at the latest: a call of a client is over by
// then, and so is nearly every snapshot; another is sent again. One whose certificate is no longer valid is closed earlier, by whoever secured it.
var endsAfter = [connKinds]time.Duration{connRelay: time.Minute, connSnapshot: time.Hour}

// beginsWithin is how long after its connection was set aside a snapshot may begin on it at the latest: whoever sends it may have the connection already.
const beginsWithin = 5 * time.Second

func newPeer(t *Transport, p Peer) *peer {
	label := p.Name
	if label == "" {
		label = "unknown"
	}
	m := t.metrics
	return &peer{
		t: t, id: p.ID, label: label, peer: p, state: Status{Since: time.Now()},
		urgent: newQueue(urgentBytesMax), appends: newQueue(t.o.QueueBytesMax),
		counters: counters{
			sent: map[string]prometheus.Counter{
				laneUrgent: m.sent.WithLabelValues(label, laneUrgent), laneAppends: m.sent.WithLabelValues(label, laneAppends),
			},
			dropped: map[string]prometheus.Counter{
				laneUrgent:  m.dropped.WithLabelValues(label, laneUrgent),
				laneAppends: m.dropped.WithLabelValues(label, laneAppends),
			},
			received: m.received.WithLabelValues(label), sentBytes: m.sentBytes.WithLabelValues(label),
			receivedBytes: m.receivedBytes.WithLabelValues(label), connects: m.connects.WithLabelValues(label),
			connected: m.connected.WithLabelValues(label), roundTrip: m.roundTripTimes.WithLabelValues(label),
		},
	}
}

// update takes what is newly known, from a record or, told, by the peer's own word. A new address ends the connections to
// the old one. A record is not newer than what the peer said in the same start or a later one.
func (p *peer) update(next Peer, told bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	newer := next.Starts > p.said
	if told {
		newer = next.Starts >= p.said
		p.said = max(p.said, next.Starts)
	}
	if (newer || p.said == 0) && next.Address != "" && next.Address != p.peer.Address {
		p.peer.Address = next.Address
		p.closeConns()
		if p.leave != nil {
			p.leave(errMoved)
		}
	}
	if next.Incarnation != 0 {
		p.peer.Incarnation = next.Incarnation
	}
	if next.Name != "" {
		p.peer.Name = next.Name
	}
	if next.SpeaksTLS && !p.peer.SpeaksTLS {
		p.peer.SpeaksTLS = true
		p.secure()
	}
	p.peer.Starts = max(p.peer.Starts, next.Starts)
}

// secure ends what is without TLS, now that the peer is known to speak it. Until then it may have been met without: it was tried before the peer was
// restarted with TLS. mu is held.
func (p *peer) secure() {
	if p.t.o.Security == nil {
		return
	}
	if p.clear && p.leave != nil {
		p.leave(errSecured)
	}
	for kind := range p.conns {
		p.setAside(connKind(kind))
	}
}

// setAside has calls make another connection from now on. Those that are under way may end on the one that they have. mu is held.
func (p *peer) setAside(kind connKind) {
	cc := p.conns[kind]
	if cc == nil {
		return
	}
	p.conns[kind] = nil
	p.before = append(p.before, cc)
	after := func(wait time.Duration, is func() bool) {
		time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if is() {
				p.closeBefore(cc)
			}
		})
	}
	after(endsAfter[kind], func() bool { return true })
	if kind == connSnapshot {
		after(beginsWithin, func() bool { return cc.streams == 0 })
	}
}

// closeBefore closes a connection that was set aside; mu is held.
func (p *peer) closeBefore(cc *callConn) {
	if i := slices.Index(p.before, cc); i >= 0 {
		p.before = slices.Delete(p.before, i, i+1)
		p.end(cc)
	}
}

// end closes a connection that nobody else closes, on the side: that takes seconds if the peer takes no more bytes. mu is held.
func (p *peer) end(cc *callConn) {
	p.ending.Go(func() { _ = cc.Close() }) // Its only error is that it is closed already.
}

// met notes whether the present connection is without TLS, which it must not stay if the peer was found to speak it meanwhile.
func (p *peer) met(inClear bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear = p.clear || inClear && p.t.o.Security != nil
	if p.clear && p.peer.SpeaksTLS && p.leave != nil {
		p.leave(errSecured)
	}
}

func (p *peer) known() Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peer
}

func (p *peer) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	s.Peer = p.peer
	return s
}

// unreachable says why the peer cannot be reached at its address, or nothing.
func (p *peer) unreachable() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.Connected || p.state.Problem == "" {
		return ""
	}
	return p.peer.Address + ": " + p.state.Problem
}

// push queues a message for one of the streams.
func (p *peer) push(m *raftpb.Message) bool {
	q, lane := p.appends, laneAppends
	if urgent(m) {
		q, lane = p.urgent, laneUrgent
	}
	if q.push(m) {
		return true
	}
	p.counters.dropped[lane].Inc()
	return false
}

// run keeps a connection to the peer until ctx ends.
func (p *peer) run(ctx context.Context) {
	defer p.close()
	for wait := backoffMin; ; {
		err := p.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		connected := p.lost(err)
		if cut := (*cutError)(nil); errors.As(err, &cut) && p.ended(ctx) {
			p.t.o.Gone(p.id)
		}
		if connected || isLeft(err) {
			wait = backoffMin
		}
		// Full jitter, so that members that lost each other do not come back in step.
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(wait)) + 1)) //nolint:gosec // Jitter needs no secret.
		wait = min(2*wait, p.t.o.BackoffMax)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// lost notes that a connection ended, and reports whether there was one.
func (p *peer) lost(err error) bool {
	dropped := p.urgent.setDown(true)
	p.counters.dropped[laneUrgent].Add(float64(dropped))
	dropped = p.appends.setDown(true)
	p.counters.dropped[laneAppends].Add(float64(dropped))

	problem := describe(err)
	p.mu.Lock()
	was, news := p.state.Connected, p.state.Problem != problem
	if was {
		p.state.Since = time.Now()
	}
	p.state.Connected, p.state.Problem, p.leave, p.clear = false, problem, nil, false
	at := p.peer
	p.mu.Unlock()
	p.show()

	p.t.o.Unreachable(p.id)
	fields := []zap.Field{
		zap.String("peer", at.Name), zap.String("address", at.Address), zap.String("problem", problem),
	}
	switch {
	case fences(err):
		p.t.log.Error("peer refuses this member permanently", fields...)
		p.t.o.Fenced(err)
	case was:
		p.t.log.Warn("lost connection to peer", fields...)
	case news:
		p.t.log.Info("cannot connect to peer", fields...)
	}
	return was
}

// show shows whether the peer, or another one with its label, is connected.
func (p *peer) show() {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	show(p.t.peers, p.label)
}

// fences tells whether a refusal is for good.
func fences(err error) bool {
	return errors.Is(err, ErrRemoved) || errors.Is(err, ErrStaleIncarnation)
}

// describe says in few words why a connection ended.
func describe(err error) string {
	if err == nil {
		return "the peer ended it"
	}
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// conn returns a connection for calls.
func (p *peer) conn(kind connKind) (grpc.ClientConnInterface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrUnknownPeer
	}
	if p.conns[kind] == nil {
		cc := &callConn{p: p, kind: kind}
		var err error
		cc.ClientConn, err = p.t.dialPeer(p.id, p.peer, p.t.o.Security.tells(p.peer, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.conns[kind] == cc {
				p.setAside(kind)
			}
		}))
		if err != nil {
			return nil, err
		}
		p.conns[kind] = cc
	}
	return p.conns[kind], nil
}

// closeConns closes the connections for calls; mu is held.
func (p *peer) closeConns() {
	for kind, cc := range p.conns {
		if cc != nil {
			p.end(cc)
			p.conns[kind] = nil
		}
	}
	for _, cc := range p.before {
		p.end(cc)
	}
	p.before = nil
}

func (p *peer) close() {
	p.urgent.setDown(true)
	p.appends.setDown(true)
	p.mu.Lock()
	p.closed = true
	p.state.Connected = false
	p.closeConns()
	p.mu.Unlock()
	p.ending.Wait()
}
