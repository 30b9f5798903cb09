package renewal

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/storage"
)

const (
	// relayedRenewalsMax is how many renewals of a member may wait for the leader; more get TOO_MANY_REQUESTS.
	relayedRenewalsMax = 256 << 10
	// renewalSweepInterval is how often renewals that waited too long are looked for.
	renewalSweepInterval = 100 * time.Millisecond
)

// relayedRenewal is one renewal on its way to the leader.
type relayedRenewal struct {
	id     storage.SessionID
	epoch  uint64
	proven bool   // the leader has checked the secret for this client before
	secret []byte // its hash, as the client showed it now or before; nil for none

	sink renewalSink
	at   int // for the sink
	// until is when it is refused, unless there is a verdict before.
	until time.Time
}

// renewalSink takes verdicts. It never waits.
type renewalSink interface {
	// decided says what became of a renewal: why it was refused, or the TTL it was granted.
	decided(at int, refused tenurev1.ErrorReason, ttl time.Duration)
}

// relayedRenewals merges the renewals of all clients of this member into one stream to the leader. When the stream breaks,
// what had no verdict is sent to the next leader: it counts from when it comes in there, which is later than the client
// believes. What waits too long is refused, and the client asks again.
type relayedRenewals struct {
	relay   *leader.Relay
	log     *zap.Logger
	renewed prometheus.Counter
	waiting prometheus.Gauge
	news    chan struct{} // one slot: queue changed

	mu     sync.Mutex // guards what follows
	queue  []*relayedRenewal
	sent   map[uint64]*relayedRenewal // by number
	next   uint64
	closed bool
}

// newRelayedRenewals returns those that a relay carries, and registers their metrics.
func newRelayedRenewals(r *leader.Relay, log *zap.Logger, registry prometheus.Registerer) (*relayedRenewals, error) {
	q := &relayedRenewals{
		relay: r, log: log, news: make(chan struct{}, 1), sent: map[uint64]*relayedRenewal{},
		renewed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_relay_renewals_total",
			Help: "Renewals of clients of this member that the leader acknowledged.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tenure_relay_renewals_waiting",
			Help: "Renewals of clients of this member that wait for the leader's verdict.",
		}),
	}
	for _, c := range []prometheus.Collector{q.renewed, q.waiting} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// add takes renewals. Each gets a verdict, perhaps before add returns.
func (q *relayedRenewals) add(renewals []*relayedRenewal) {
	until := time.Now().Add(q.relay.Patience)
	q.mu.Lock()
	reason := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	switch {
	case q.closed:
		reason = tenurev1.ErrorReason_ERROR_REASON_STOPPING
	case len(q.queue)+len(q.sent)+len(renewals) > relayedRenewalsMax:
		reason = tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS
	default:
		for _, r := range renewals {
			r.until = until
		}
		q.queue = append(q.queue, renewals...)
	}
	q.mu.Unlock()
	if reason != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		refuseAll(renewals, reason)
		return
	}
	select {
	case q.news <- struct{}{}:
	default:
	}
}

func refuseAll(renewals []*relayedRenewal, reason tenurev1.ErrorReason) {
	for _, r := range renewals {
		r.sink.decided(r.at, reason, 0)
	}
}

// run carries renewals to whoever leads, until ctx ends.
func (q *relayedRenewals) run(ctx context.Context) {
	defer q.close()
	sweep := time.NewTicker(renewalSweepInterval)
	defer sweep.Stop()
	for ctx.Err() == nil {
		w, changed := q.relay.Present()
		var retry <-chan time.Time
		switch {
		case w == nil:
		case w.Here():
			// The client asks again, and is served here.
			refuseAll(q.takeAll(), tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER)
		default:
			if err := q.serve(ctx, w, sweep.C); err != nil {
				q.log.Debug("stream of renewals to the leader ended", zap.Uint64("leader", w.Leader), zap.Error(err))
			}
			q.recall()
			retry = time.After(leader.Retry)
		}
		news := q.news
		if w == nil || !w.Here() {
			news = nil // What came waits for a leader.
		}
		select {
		case <-changed:
		case <-news:
		case <-retry:
		case <-sweep.C:
			q.sweep()
		case <-ctx.Done():
		}
	}
}

// close refuses everything that waits, and what comes.
func (q *relayedRenewals) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	refuseAll(q.takeAll(), tenurev1.ErrorReason_ERROR_REASON_STOPPING)
}

// takeAll removes everything that waits.
func (q *relayedRenewals) takeAll() []*relayedRenewal {
	q.recall()
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.queue
	q.queue = nil
	q.gauge()
	return all
}

// recall makes what was sent, and has no verdict, wait again.
func (q *relayedRenewals) recall() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.sent) == 0 {
		return
	}
	again := make([]*relayedRenewal, 0, len(q.sent)+len(q.queue))
	for _, r := range q.sent {
		again = append(again, r)
	}
	q.queue = append(again, q.queue...)
	clear(q.sent)
}

// sweep refuses what waited too long.
func (q *relayedRenewals) sweep() {
	now := time.Now()
	var late []*relayedRenewal
	q.mu.Lock()
	kept := q.queue[:0]
	for _, r := range q.queue {
		if now.After(r.until) {
			late = append(late, r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(q.queue[len(kept):])
	q.queue = kept
	for number, r := range q.sent {
		if now.After(r.until) {
			delete(q.sent, number)
			late = append(late, r)
		}
	}
	q.gauge()
	q.mu.Unlock()
	refuseAll(late, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
}

// gauge shows how many wait; mu is held.
func (q *relayedRenewals) gauge() { q.waiting.Set(float64(len(q.queue) + len(q.sent))) }

// serve sends renewals and takes verdicts over one stream, until it breaks or its leader is none any more. Nothing waits for
// what an old leader may still say: a renewal can be asked for again.
func (q *relayedRenewals) serve(ctx context.Context, w *leader.Way, sweep <-chan time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(w.Present, cancel) //nolint:contextcheck // The leadership ends the stream too.
	defer stop()
	stream, err := w.Client.Renew(ctx)
	if err != nil {
		return err
	}
	broken := make(chan error, 1)
	var receiving sync.WaitGroup
	receiving.Go(func() { broken <- q.receive(stream) })
	// The stream is over before what was sent on it is sent again.
	defer func() { cancel(); receiving.Wait() }()
	for {
		if err := q.send(stream, w.Term); err != nil {
			return err
		}
		select {
		case <-q.news:
		case <-sweep:
			q.sweep()
		case err := <-broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// send sends what waits.
func (q *relayedRenewals) send(
	stream grpc.BidiStreamingClient[peerv1.RenewRequest, peerv1.RenewResponse], term uint64,
) error {
	for {
		q.mu.Lock()
		n := min(len(q.queue), renewalsMax)
		if n == 0 {
			q.mu.Unlock()
			return nil
		}
		slab := make([]peerv1.Renewal, n)
		message := &peerv1.RenewRequest{Term: term, Renewals: make([]*peerv1.Renewal, n)}
		for i, r := range q.queue[:n] {
			q.next++
			q.sent[q.next] = r
			m := &slab[i]
			m.SessionId, m.Epoch, m.Number, m.Proven, m.SecretSha256 = r.id[:], r.epoch, q.next, r.proven, r.secret
			message.Renewals[i] = m
		}
		rest := copy(q.queue, q.queue[n:])
		clear(q.queue[rest:])
		q.queue = q.queue[:rest]
		q.gauge()
		q.mu.Unlock()
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

// receive takes verdicts until the stream breaks.
func (q *relayedRenewals) receive(stream grpc.BidiStreamingClient[peerv1.RenewRequest, peerv1.RenewResponse]) error {
	for {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		renewed := 0
		for _, v := range answer.GetVerdicts() {
			q.mu.Lock()
			r := q.sent[v.GetNumber()]
			delete(q.sent, v.GetNumber())
			q.mu.Unlock()
			if r == nil {
				continue // It came too late.
			}
			if v.GetRefused() == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
				renewed++
			}
			r.sink.decided(r.at, v.GetRefused(), time.Duration(v.GetTtlMs())*time.Millisecond)
		}
		q.renewed.Add(float64(renewed))
	}
}
