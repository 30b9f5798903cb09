package leader

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/proposals"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	// Retry is how long the start, and a relay, wait before they ask for a leader again.
	Retry = 50 * time.Millisecond
	// TimesLeftMax is how many timers of the leader may be asked for at once.
	TimesLeftMax = 4096
	// wayPollMin and wayPollMax are how often a member looks for the way to a leader it knows: that has an address not known here yet, and that may
	// get another address.
	wayPollMin = 20 * time.Millisecond
	wayPollMax = 500 * time.Millisecond
	// relayRetryMin and relayRetryMax are how long a call that found no leader waits before it tries again, unless there is
	// another leader before.
	relayRetryMin = 10 * time.Millisecond
	relayRetryMax = 200 * time.Millisecond
	// relayApplyTimeout is how long a change that the leader has applied may take to show here.
	relayApplyTimeout = 10 * time.Second
)

// Relay carries to the leader what only the leader can do, over the connections between members. What comes from another
// member is never relayed again: the service that takes it relays nothing.
//
// One goroutine looks who leads, so that calls under way learn that their leader is none any more.
type Relay struct {
	node     Node
	arrivals *Arrivals
	stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	log      *zap.Logger
	metrics  *relayMetrics
	// Patience is how long a call waits for a leader. It does not change once the relay is used.
	Patience time.Duration
	// Grace is how long a call may still wait for the answer of a leader that is none any more. One that may be repeated waits for a tenth of it: such a
	// leader may never answer, and the next one can be asked.
	Grace time.Duration

	mu      sync.Mutex    // guards what follows
	way     *Way          // to the present leader; nil when none is known
	changed chan struct{} // closed when way changes
}

// Way leads to a leader for as long as it leads in one term, at one address.
type Way struct {
	Leader, Term uint64
	conn         grpc.ClientConnInterface  // nil when this member leads
	Client       peerv1.RelayServiceClient // nil when this member leads
	line         *proposals.Line           // the same
	ctx          context.Context           //nolint:containedctx // It is the leadership's life and its grace, not a call's.
	end          context.CancelFunc
	again        context.Context //nolint:containedctx // It is the leadership's life and a short grace, for what may be repeated.
	endAgain     context.CancelFunc
	Present      context.Context //nolint:containedctx // It is the leadership's life, without the grace.
	leave        context.CancelFunc
}

// Here tells whether the way ends at this member.
func (w *Way) Here() bool { return w.Client == nil }

// Options are what a relay needs.
type Options struct {
	// Node is this member.
	Node Node
	// Arrivals tells when this member has applied something.
	Arrivals *Arrivals
	// Stopping ends when the server stops.
	Stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// Election is how long an election takes.
	Election time.Duration
	// Logger gets what is of interest only to whoever looks for it.
	Logger *zap.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// New returns a relay and registers its metrics.
func New(o Options) (*Relay, error) {
	m, err := newRelayMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Relay{
		node: o.Node, arrivals: o.Arrivals, stopping: o.Stopping, log: o.Logger, metrics: m,
		Patience: 5 * o.Election, Grace: o.Election, changed: make(chan struct{}),
	}, nil
}

// Run looks who leads, until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	for {
		changed := r.node.LeadChanged()
		again := time.NewTimer(r.look(ctx))
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			r.turn(nil)
			return
		}
		again.Stop()
	}
}

// look finds the way to the present leader, if it is another than before: another leader, another term, or the same leader
// at another address. It returns when to look again if the leader stays the same.
func (r *Relay) look(ctx context.Context) time.Duration {
	s := r.node.Status()
	r.mu.Lock()
	was := r.way
	r.mu.Unlock()
	same := was != nil && was.Leader == s.Leader && was.Term == s.Term
	switch {
	case s.Leader == 0:
		if was != nil {
			r.turn(nil)
		}
		return wayPollMax
	case same && was.Here():
		return wayPollMax
	}
	w := &Way{Leader: s.Leader, Term: s.Term}
	if s.Leader != s.MemberID {
		conn, err := r.node.PeerConn(s.Leader)
		if err != nil {
			// A member that came a moment ago may not be known here yet.
			r.log.Debug("no way to the leader", zap.Uint64("leader", s.Leader), zap.Error(err))
			if was != nil {
				r.turn(nil)
			}
			return wayPollMin
		}
		if same && was.conn == conn {
			return wayPollMax
		}
		w.conn, w.Client = conn, peerv1.NewRelayServiceClient(conn)
	}
	w.ctx, w.end = context.WithCancel(ctx)          //nolint:gosec // turn ends it.
	w.again, w.endAgain = context.WithCancel(w.ctx) //nolint:gosec // The same.
	w.Present, w.leave = context.WithCancel(w.ctx)
	if w.Client != nil {
		w.line = proposals.NewLine(w.ctx, w.Client.ProposeMany) //nolint:contextcheck // It lives as long as the way.
	}
	r.turn(w)
	return wayPollMax
}

// turn replaces the way. Calls on the old one have the grace to get their answers: the old leader may have applied what
// they asked, and know it.
func (r *Relay) turn(w *Way) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.way != nil {
		r.way.leave()
		time.AfterFunc(r.Grace/10, r.way.endAgain)
		time.AfterFunc(r.Grace, r.way.end)
	}
	r.way = w
	close(r.changed)
	r.changed = make(chan struct{})
}

// Present returns the way to the leader, nil when none is known, and a channel that is closed when that changes.
func (r *Relay) Present() (*Way, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.way, r.changed
}

// Elsewhere tells whether another member leads, or none that is known.
func (r *Relay) Elsewhere() bool {
	s := r.node.Status()
	return s.Leader != s.MemberID
}

// Call is something that only the leader can do: here, or over the way to it. Its error is one of the API, or of
// another room, and says whether anything was applied.
type Call struct {
	Name string // for the metric
	Here func(ctx context.Context) error
	Far  func(ctx context.Context, w *Way, options ...grpc.CallOption) error
	// Repeat allows to do it again when the outcome of an earlier attempt is unknown.
	Repeat bool
	// Asked is who asks; nil: all ends with the context.
	Asked *Asked
	// Blind reports whether the last attempt did nothing, and says nothing of what earlier ones did; nil: none is so.
	Blind func() bool
}

// Lead does what only the leader can do. It tries again while nothing was applied and there may be a leader soon: until
// ctx ends, or who asks goes, or its patience ends. If the last attempt was blind, it returns the error of an earlier one that may have been applied; nil if there is
// none. err is why this member has failed to do it; nil if it did not try. A leader elsewhere is then
// asked at once.
func (r *Relay) Lead(ctx context.Context, c Call, err error) error {
	patience := time.NewTimer(r.Patience)
	defer patience.Stop()
	j, asking := NewJourney(c.Repeat, err), c.Asked.life(ctx)
	for {
		w, changed := r.Present()
		if pause := j.Pause(w != nil && !w.Here()); pause > 0 {
			retry := time.NewTimer(pause)
			select {
			case <-changed:
			case <-retry.C:
			case <-patience.C:
				return j.Err()
			case <-asking.Done():
				return j.instead(newNotApplied(asking))
			}
			retry.Stop()
		}
		if !c.Asked.begins() {
			return j.instead(newNotApplied(asking))
		}
		err = r.attempt(ctx, c)
		c.Asked.ended(err)
		if j.Ended(err, asking.Err() != nil) {
			if err == nil && c.Blind != nil && c.Blind() {
				return j.Doubt()
			}
			return j.Err()
		}
	}
}

// attempt does it once.
func (r *Relay) attempt(ctx context.Context, c Call) error {
	w, _ := r.Present()
	switch {
	case w == nil:
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "there is no leader; most members may be down")
	case w.Here():
		return c.Here(ctx)
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	life := w.ctx
	if c.Repeat {
		life = w.again
	}
	stop := context.AfterFunc(life, cancel) //nolint:contextcheck // The leadership ends the call too.
	defer stop()
	began := time.Now()
	sent := &sentMark{}
	err := c.Far(call, w, sent.option())
	if err != nil {
		err = FromPeer(ctx, err, sent.of(err))
	}
	r.Count(c.Name, err, time.Since(began))
	return err
}

// MayComeRight reports whether an error is one after which the leader, or the next one, may do what was asked.
func MayComeRight(ctx context.Context, err error, repeat bool) bool {
	return ctx.Err() == nil && mayComeRight(err, repeat)
}

// newNotApplied returns the error for a call that ended before it was tried with success.
func newNotApplied(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED,
			"the deadline passed before there was a leader to ask; nothing was changed")
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_CANCELLED, "the caller cancelled the call; nothing was changed")
}
