package provider

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count what becomes of tokens and keys.
type metrics struct{ fetches, refused *prometheus.CounterVec }

func newMetrics(registry prometheus.Registerer, stale func() float64) (*metrics, error) {
	m := &metrics{
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_provider_fetches_total", Help: "Attempts to fetch the keys of a provider of JSON Web Tokens.",
		}, []string{"outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_provider_refused_total", Help: "JSON Web Tokens that were refused. A call may look at one twice.",
		}, []string{"cause"}),
	}
	for _, outcome := range []string{"ok", "failed"} {
		m.fetches.WithLabelValues(outcome)
	}
	for cause := causeNone + 1; cause < causes; cause++ {
		m.refused.WithLabelValues(cause.word())
	}
	return m, errors.Join(registry.Register(m.fetches), registry.Register(m.refused),
		registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tenure_provider_keys_stale",
			Help: "Providers of JSON Web Tokens whose keys this member could not fetch for an hour, or never, or that publish none that can be used.",
		}, stale)))
}
