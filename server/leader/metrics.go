package leader

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// The calls that are relayed, as the metrics name them.
const (
	MethodPropose   = "Propose"
	MethodTimesLeft = "TimesLeft"
	MethodAttach    = "Attach"
	MethodMembers   = "ChangeMembers"
)

// relayMetrics counts what is relayed.
type relayMetrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newRelayMetrics registers the metrics.
func newRelayMetrics(r prometheus.Registerer) (*relayMetrics, error) {
	m := &relayMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_relay_calls_total",
			Help: "Calls to the leader for clients of this member that ended, by method and reason of the API.",
		}, []string{"method", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tenure_relay_call_duration_seconds",
			Help:    "How long calls to the leader for clients of this member took.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method"}),
	}
	for _, c := range []prometheus.Collector{m.calls, m.duration} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	for _, method := range []string{MethodPropose, MethodTimesLeft, MethodAttach, MethodMembers} {
		m.calls.WithLabelValues(method, "")
		m.duration.WithLabelValues(method)
	}
	return m, nil
}

// Count counts a call to the leader that ended.
func (r *Relay) Count(method string, err error, took time.Duration) {
	why := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	if err != nil {
		why = tenurev1.ErrorReason_ERROR_REASON_INTERNAL
		if e := reason.Of(err); e != nil {
			why = e.Reason
		}
	}
	r.metrics.calls.WithLabelValues(method, reason.Label(why)).Inc()
	r.metrics.duration.WithLabelValues(method).Observe(took.Seconds())
}
