package transport

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are about peers, by their names, of which a cluster has at most a handful.
type metrics struct {
	sent, dropped, received   *prometheus.CounterVec
	sentBytes, receivedBytes  *prometheus.CounterVec
	connects, refused         *prometheus.CounterVec
	connected, roundTripTimes *prometheus.GaugeVec
	registerer                prometheus.Registerer
}

// The lanes, as labels.
const (
	laneUrgent  = "urgent"
	laneAppends = "appends"
)

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"peer"})
	}
	m := &metrics{
		sent: counter("tenure_peer_messages_sent_total", "Raft messages sent to a peer.", "peer", "lane"),
		dropped: counter("tenure_peer_messages_dropped_total",
			"Raft messages for a peer dropped, as it was not connected or too slow.", "peer", "lane"),
		received:      counter("tenure_peer_messages_received_total", "Raft messages received from a peer.", "peer"),
		sentBytes:     counter("tenure_peer_sent_bytes_total", "Bytes of raft messages sent to a peer.", "peer"),
		receivedBytes: counter("tenure_peer_received_bytes_total", "Bytes of raft messages received from a peer.", "peer"),
		connects:      counter("tenure_peer_connects_total", "How often a connection to a peer was accepted by it.", "peer"),
		refused: counter("tenure_peer_refused_total",
			"Calls of members refused: wrong cluster, wrong member, wrong certificate, removed, or on an old or copied disk.", "reason"),
		connected:      gauge("tenure_peer_connected", "1 while the peer accepts this member's messages."),
		roundTripTimes: gauge("tenure_peer_round_trip_seconds", "Time the peer took for its last answer to a ping."),
	}
	// Shown from the start, so that a query for them finds zeros.
	for _, r := range reasons {
		m.refused.WithLabelValues(r.reason)
	}
	return m
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{
		m.sent, m.dropped, m.received, m.sentBytes, m.receivedBytes, m.connects, m.refused, m.connected, m.roundTripTimes,
	}
}

// register shows the metrics until hide.
func (m *metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	m.registerer = r
	for _, c := range m.all() {
		if err := r.Register(c); err != nil {
			m.hide()
			return err
		}
	}
	return nil
}

func (m *metrics) hide() {
	if m.registerer == nil {
		return
	}
	for _, c := range m.all() {
		m.registerer.Unregister(c)
	}
}

// forget drops a peer that is none any more.
func (m *metrics) forget(name string) {
	labels := prometheus.Labels{"peer": name}
	for _, v := range []*prometheus.CounterVec{
		m.sent, m.dropped, m.received, m.sentBytes, m.receivedBytes, m.connects,
	} {
		v.DeletePartialMatch(labels)
	}
	m.connected.DeletePartialMatch(labels)
	m.roundTripTimes.DeletePartialMatch(labels)
}

// refuse counts a refusal.
func (m *metrics) refuse(err error) {
	if r := reasonOf(err); r != "" {
		m.refused.WithLabelValues(r).Inc()
	}
}
