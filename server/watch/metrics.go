package watch

import "github.com/prometheus/client_golang/prometheus"

// metrics are what a hub counts.
type metrics struct {
	events   prometheus.Counter
	wakes    prometheus.Counter
	catchUps prometheus.Counter
}

func newMetrics(r prometheus.Registerer, h *Hub) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_watch_events_total",
			Help: "Events that were published to watchers.",
		}),
		wakes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_watch_wakes_total",
			Help: "How often all watches with the same selectors were woken.",
		}),
		catchUps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_watch_catch_up_reads_total",
			Help: "Reads of history for watches whose events are no longer in memory.",
		}),
	}
	if r == nil {
		return m, nil
	}
	watchers := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenure_watch_watchers",
		Help: "Watches that are open.",
	}, func() float64 { return float64(h.watchers.Load()) })
	ringBytes := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenure_watch_ring_bytes",
		Help: "Size of the recent events in memory.",
	}, func() float64 { bytes, _ := h.ring.memory(); return float64(bytes) })
	for _, c := range []prometheus.Collector{m.events, m.wakes, m.catchUps, watchers, ringBytes} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
