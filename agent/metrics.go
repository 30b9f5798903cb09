package agent

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/tenure-io/tenure/agent/check"
)

// metrics are what an agent counts.
type metrics struct {
	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	syncs   *prometheus.CounterVec
}

// Results of a sync.
const (
	syncOK     = "ok"
	syncFailed = "failed"
)

func newMetrics(a *Agent) (*metrics, error) {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_agent_check_runs_total", Help: "Runs of checks, by kind and result.",
		}, []string{"kind", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenure_agent_check_seconds", Help: "Durations of runs of checks, by kind.",
			Buckets: []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30},
		}, []string{"kind"}),
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_agent_syncs_total", Help: "Comparisons with the catalog and what they wrote, by result.",
		}, []string{"result"}),
	}
	for _, result := range []string{syncOK, syncFailed} {
		m.syncs.WithLabelValues(result) // So that the first one is an increase.
	}
	outOfSync := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenure_agent_out_of_sync", Help: "Entries of the catalog that are not yet as the agent has them.",
	}, func() float64 { return float64(a.syncer.Brief().Missing) })
	refused := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenure_agent_refused", Help: "Entries that are out of sync because the cluster refused them.",
	}, func() float64 { return float64(a.syncer.Brief().Refused) })
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.runs, m.seconds, m.syncs, outOfSync, refused,
	} {
		if err := a.options.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// ran counts a run of a check.
func (m *metrics) ran(d check.Definition, r check.Result, took time.Duration) {
	m.runs.WithLabelValues(d.Kind.Name(), r.Status.String()).Inc()
	m.seconds.WithLabelValues(d.Kind.Name()).Observe(took.Seconds())
}

// synced counts a comparison.
func (m *metrics) synced(err error) {
	result := syncOK
	if err != nil {
		result = syncFailed
	}
	m.syncs.WithLabelValues(result).Inc()
}
