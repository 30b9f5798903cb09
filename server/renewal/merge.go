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
	"github.com/tenure-io/tenure/server/renewal/core"
)

// renewalSweepInterval is how often renewals that waited too long are looked for.
const renewalSweepInterval = 100 * time.Millisecond

// relayedRenewals drives the carrier, which merges the renewals of all clients of this member into one stream to the leader.
type relayedRenewals struct {
	relay   *leader.Relay
	log     *zap.Logger
	renewed prometheus.Counter
	waiting prometheus.Gauge
	news    chan struct{} // one slot: there may be something to send

	mu      sync.Mutex // guards carrier
	carrier *core.Carrier
}

// newRelayedRenewals returns those that a relay carries, and registers their metrics.
func newRelayedRenewals(r *leader.Relay, log *zap.Logger, registry prometheus.Registerer) (*relayedRenewals, error) {
	q := &relayedRenewals{
		relay: r, log: log, news: make(chan struct{}, 1), carrier: core.NewCarrier(),
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

// step takes an event, and tells of what was decided.
func (q *relayedRenewals) step(ev core.Carriage) core.CarrierEffects {
	q.mu.Lock()
	fx := q.carrier.Step(time.Now(), ev)
	q.waiting.Set(float64(q.carrier.Waiting()))
	q.mu.Unlock()
	for rest := fx.Decided; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].To == rest[0].To {
			n++
		}
		rest[0].To.Decided(rest[:n])
		rest = rest[n:]
	}
	return fx
}

// add takes renewals. Each gets a verdict, perhaps before add returns.
func (q *relayedRenewals) add(renewals []*core.Relayed) {
	q.step(core.Add{Renewals: renewals, Until: time.Now().Add(q.relay.Patience)})
	ring(q.news)
}

// run carries renewals to whoever leads, until ctx ends.
func (q *relayedRenewals) run(ctx context.Context) {
	defer q.step(core.Stop{})
	sweep := time.NewTicker(renewalSweepInterval)
	defer sweep.Stop()
	for ctx.Err() == nil {
		w, changed := q.relay.Present()
		var retry <-chan time.Time
		switch {
		case w == nil:
		case w.Here():
			q.step(core.LeadsHere{})
		default:
			if err := q.serve(ctx, w, sweep); err != nil {
				q.log.Debug("stream of renewals to the leader ended", zap.Uint64("leader", w.Leader), zap.Error(err))
			}
			q.step(core.Broken{})
			retry = time.After(leader.Retry)
		}
		news, sweeps := q.news, q.sweeps(sweep)
		if w == nil || !w.Here() {
			news, sweeps = nil, sweep.C // What came waits for a leader.
		}
		select {
		case <-changed:
		case <-news:
		case <-retry:
		case <-sweeps:
			q.step(core.Sweep{})
		case <-ctx.Done():
		}
	}
}

// sweeps returns when to sweep: never while nothing waits. What comes rings first.
func (q *relayedRenewals) sweeps(t *time.Ticker) <-chan time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.carrier.Waiting() == 0 {
		return nil
	}
	return t.C
}

// serve sends renewals and takes verdicts over one stream, until it breaks or its leader is none any more. Nothing waits for
// what an old leader may still say: a renewal can be asked for again.
func (q *relayedRenewals) serve(ctx context.Context, w *leader.Way, sweep *time.Ticker) error {
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
		case <-q.sweeps(sweep):
			q.step(core.Sweep{})
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
		fx := q.step(core.Fill{})
		if len(fx.Send) == 0 {
			return nil
		}
		slab := make([]peerv1.Renewal, len(fx.Send))
		message := &peerv1.RenewRequest{Term: term, Renewals: make([]*peerv1.Renewal, len(fx.Send))}
		for i, r := range fx.Send {
			m := &slab[i]
			m.SessionId, m.Epoch, m.Number, m.Proven, m.SecretSha256 = r.ID[:], r.Epoch, fx.First+uint64(i), r.Proven, r.Secret
			m.AuthorisedBelow = r.AuthorisedBelow
			message.Renewals[i] = m
		}
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
		answers := make([]core.Answer, len(answer.GetVerdicts()))
		for i, v := range answer.GetVerdicts() {
			answers[i] = core.Answer{
				Number: v.GetNumber(), Refused: v.GetRefused(), TTL: time.Duration(v.GetTtlMs()) * time.Millisecond,
			}
		}
		renewed := 0
		for _, d := range q.step(core.Answered{Answers: answers}).Decided {
			if d.Refused == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
				renewed++
			}
		}
		q.renewed.Add(float64(renewed))
	}
}
