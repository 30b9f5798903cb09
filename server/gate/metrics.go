package gate

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// unknownLabel stands for methods that do not exist, whatever name a client made up.
const unknownLabel = "unknown"

// callMetrics counts calls. Labels are closed sets: the methods served, and the reasons of the API.
type callMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
	methods  map[string]*methodMetrics // read only once the server runs
}

// methodMetrics are one method's, found beforehand.
type methodMetrics struct {
	label    string
	ok       prometheus.Counter
	duration prometheus.Observer
}

// newCallMetrics registers the metrics.
func newCallMetrics(r prometheus.Registerer) (*callMetrics, error) {
	m := &callMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tenure_server_requests_total",
			Help: "Calls that ended, by method, gRPC code and reason of the API. REST calls are among them.",
		}, []string{"method", "code", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tenure_server_request_duration_seconds",
			Help:    "How long calls with one answer took.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tenure_server_streams",
			Help: "Open streams.",
		}),
		methods: map[string]*methodMetrics{},
	}
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.streams} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	m.methods[unknownLabel] = m.of(unknownLabel)
	return m, nil
}

// of makes the metrics of one method.
func (m *callMetrics) of(label string) *methodMetrics {
	return &methodMetrics{
		label:    label,
		ok:       m.requests.WithLabelValues(label, codeName(0), reason.Label(0)),
		duration: m.duration.WithLabelValues(label),
	}
}

// know adds a method that is served, by its full name: "/tenure.v1.KVService/Get".
func (m *callMetrics) know(fullMethod string) {
	if m.methods[fullMethod] == nil {
		m.methods[fullMethod] = m.of(fullMethod[1:])
	}
}

// call counts a call that ended. Zero took is that of a stream.
func (m *callMetrics) call(fullMethod string, why tenurev1.ErrorReason, took time.Duration) {
	method := m.methods[fullMethod]
	if method == nil {
		method = m.methods[unknownLabel]
	}
	if took > 0 {
		method.duration.Observe(took.Seconds())
	}
	if why == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		method.ok.Inc()
		return
	}
	m.requests.WithLabelValues(method.label, codeName(why), reason.Label(why)).Inc()
}

// codeName returns the gRPC code of a call that ended with a reason, or without one.
func codeName(why tenurev1.ErrorReason) string {
	if why == tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
		return "OK"
	}
	return reason.Code(why).String()
}
