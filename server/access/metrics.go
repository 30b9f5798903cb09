package access

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count decisions.
type metrics struct{ denied, wouldDeny, hidden prometheus.Counter }

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		denied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_access_denied_total", Help: "Messages that were refused for want of a right or of a credential.",
		}),
		wouldDeny: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_access_would_deny_total", Help: "Messages that were served in mode warn and would be refused in mode enforce.",
		}),
		hidden: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_access_hidden_total", Help: "Fields and elements that were left out of answers to callers that may not read them.",
		}),
	}
	return m, errors.Join(registry.Register(m.denied), registry.Register(m.wouldDeny), registry.Register(m.hidden))
}
