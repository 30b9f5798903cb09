package audit

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count lines.
type metrics struct{ lines, dropped, refused prometheus.Counter }

// newMetrics registers the metrics of a log.
func newMetrics(r prometheus.Registerer, l *Log) (*metrics, error) {
	m := &metrics{
		lines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_audit_lines_total", Help: "Lines that were written to the audit log.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_audit_dropped_total", Help: "Lines of the audit log that are lost.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_audit_refused_total", Help: "Changes that were refused because their lines would be lost.",
		}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			l.mu.Lock()
			defer l.mu.Unlock()
			return value()
		})
	}
	return m, errors.Join(
		r.Register(m.lines), r.Register(m.dropped), r.Register(m.refused),
		r.Register(gauge("tenure_audit_queue_lines", "Lines of the audit log that wait to be written.",
			func() float64 { return float64(len(l.queue) + l.writing) })),
		r.Register(gauge("tenure_audit_failing", "1 while the audit log cannot be written.", func() float64 {
			if l.failing != nil {
				return 1
			}
			return 0
		})),
	)
}
