package expiry

import "github.com/prometheus/client_golang/prometheus"

// metrics are what the timers count.
type metrics struct {
	sessions   prometheus.Gauge
	withoutTTL prometheus.Gauge
	renewals   prometheus.Counter
	expired    prometheus.Counter
	stalls     prometheus.Counter
	lag        prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tenure_sessions_live",
			Help: "Live sessions, as this member has applied.",
		}),
		withoutTTL: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tenure_sessions_without_ttl",
			Help: "Live sessions that nothing but a request ends, as the leader counts; 0 on others.",
		}),
		renewals: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_sessions_renewals_total",
			Help: "Acknowledged renewals.",
		}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_sessions_expired_total",
			Help: "Sessions that this member, as leader, ended because their TTL ran out.",
		}),
		stalls: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_sessions_stall_seconds_total",
			Help: "Total time by which timers were extended because the process was paused.",
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "tenure_sessions_expiry_lag_seconds",
			Help:    "Time from a session's deadline to its applied end.",
			Buckets: []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10},
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.sessions, m.withoutTTL, m.renewals, m.expired, m.stalls, m.lag} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
