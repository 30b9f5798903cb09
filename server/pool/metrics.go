package pool

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/gossip"
)

// Metrics count the pool as this member sees it, and what the leader made of it.
type Metrics struct {
	peers                        *Peers
	nodes                        *prometheus.Desc
	failures, flaps, unconfirmed prometheus.Counter
}

// NewMetrics returns metrics, registered.
func NewMetrics(r prometheus.Registerer, p *Peers) (*Metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_pool_" + name, Help: help})
	}
	m := &Metrics{
		peers:       p,
		nodes:       prometheus.NewDesc("tenure_pool_nodes", "Nodes of the pool as this member sees them, by state.", []string{"state"}, nil),
		failures:    counter("failures_total", "Nodes that this member turned critical while it led."),
		flaps:       counter("flaps_total", "Those of the failures that came within ten minutes of another failure of the node."),
		unconfirmed: counter("unconfirmed_total", "Questions about a node that the leader does not see, to which no majority of voters said that it failed."),
	}
	for _, c := range []prometheus.Collector{m, m.failures, m.flaps, m.unconfirmed} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Describe sends what is known of the metrics of nodes.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { to <- m.nodes }

// Collect counts the nodes.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	counts := map[gossip.State]int{}
	if _, g := m.peers.parts(); g != nil {
		for _, n := range g.Nodes() {
			counts[n.State]++
		}
	}
	for _, state := range []gossip.State{gossip.Alive, gossip.Failed, gossip.Left} {
		to <- prometheus.MustNewConstMetric(m.nodes, prometheus.GaugeValue, float64(counts[state]), state.String())
	}
}
