package catalog

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// Metrics count the catalog, as this member has applied it.
type Metrics struct {
	nodes, services, checks, endList, queries prometheus.Gauge
	changes, ended                            prometheus.Counter
}

// NewMetrics returns metrics, registered unless r is nil.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "tenure_catalog_" + name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_catalog_" + name, Help: help})
	}
	m := &Metrics{
		nodes:    gauge("nodes", "Registered nodes."),
		services: gauge("services", "Registered instances of services."),
		checks:   gauge("checks", "Registered checks."),
		endList:  gauge("end_list", "Nodes and checks whose sessions have ended and are not all carried out yet."),
		queries:  gauge("queries", "Prepared queries."),
		changes:  counter("check_changes_total", "Changes of checks, other than of their output."),
		ended:    counter("sessions_ended_total", "Sessions that ended with their node or a check."),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.nodes, m.services, m.checks, m.endList, m.queries, m.changes, m.ended} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// Publish tells what was applied. The apply goroutine calls it for every outcome, in order; it never waits.
func (m *Metrics) Publish(o storage.Outcome) {
	m.nodes.Set(float64(o.Applied.Nodes))
	m.services.Set(float64(o.Applied.Services))
	m.checks.Set(float64(o.Applied.Checks))
	m.endList.Set(float64(o.Applied.EndMarks))
	m.queries.Set(float64(o.Applied.Queries))
	for _, e := range o.Events {
		switch kind := e.GetKind().(type) {
		case *storev1.Event_CheckPut, *storev1.Event_CheckStatus, *storev1.Event_CheckDeleted:
			m.changes.Inc()
		case *storev1.Event_SessionEnded:
			switch kind.SessionEnded.GetCause() {
			case storev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED,
				storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_DEREGISTERED,
				storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_CRITICAL:
				m.ended.Inc()
			default:
			}
		}
	}
}
