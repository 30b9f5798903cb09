package consulhttp

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count what is served.
type metrics struct {
	requests   *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	wakes      prometheus.Counter
	notOffered *prometheus.CounterVec
}

// newMetrics registers the metrics.
func newMetrics(r prometheus.Registerer, blocked, watches func() float64) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_consul_requests_total",
			Help: "Requests over Consul's HTTP, by endpoint and status.",
		}, []string{"endpoint", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tenure_consul_request_seconds",
			Help:    "Time of requests over Consul's HTTP, including the time that they block.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}, []string{"endpoint"}),
		wakes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenure_consul_wakes_total",
			Help: "Blocked requests that a change woke.",
		}),
		notOffered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_consul_not_offered_total",
			Help: "Requests for parts of Consul's API that are not offered, by endpoint.",
		}, []string{"endpoint"}),
	}
	return m, errors.Join(
		r.Register(m.requests), r.Register(m.seconds), r.Register(m.wakes), r.Register(m.notOffered),
		r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tenure_consul_blocked",
			Help: "Requests over Consul's HTTP that wait for a change.",
		}, blocked)),
		r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tenure_consul_watches",
			Help: "Watches with which blocked requests over Consul's HTTP wait; those that wait for the same share one.",
		}, watches)),
	)
}

// request counts a request.
func (m *metrics) request(endpoint string, status int, took time.Duration) {
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(endpoint).Observe(took.Seconds())
}
