package raftnode

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/storage"
)

// stalls adds what the store and its disk make wait.
func (m *metrics) stalls(n *Node) {
	counter := func(name, help string, value func() float64) {
		m.collectors = append(m.collectors, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	gauge := func(name, help string, value func() float64) {
		m.collectors = append(m.collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter("tenure_storage_write_stalls_total", "How often the state machine's store held writes back.", func() float64 {
		count, _, _ := n.o.stalls.Total()
		return float64(count)
	})
	counter("tenure_storage_write_stall_seconds_total", "For how long the state machine's store held writes back.", func() float64 {
		_, took, _ := n.o.stalls.Total()
		return took.Seconds()
	})
	gauge("tenure_storage_write_stalled", "1 while the state machine's store holds writes back.", func() float64 {
		if _, _, stalled := n.o.stalls.Total(); stalled {
			return 1
		}
		return 0
	})
	counter("tenure_health_slow_writes_total", "Writes and syncs of files that took 5 s or longer.",
		func() float64 { return float64(n.o.guard.SlowWrites()) })
	gauge("tenure_health_oldest_write_seconds", "For how long the oldest write or sync of a file has been running.",
		func() float64 { return n.o.guard.OldestWrite().Seconds() })
}

// storeGauges adds what the state machine says of itself.
func storeGauges(gauge func(name, help string, value func() float64), n *Node) {
	of := func(field func(storage.Applied) uint64) func() float64 {
		return func() float64 { return float64(field(n.Store().Applied())) }
	}
	usage := func(field func(storage.Usage) uint64) func() float64 {
		return func() float64 {
			r := n.Store().NewReader()
			u, err := r.Usage()
			if r.Close() != nil || err != nil {
				return 0 // The store is closed.
			}
			return float64(field(u))
		}
	}
	gauge("tenure_storage_revision", "Store-wide revision.", of(func(a storage.Applied) uint64 { return a.Revision }))
	gauge("tenure_storage_keys", "Live keys.", of(func(a storage.Applied) uint64 { return a.Keys }))
	gauge("tenure_storage_sessions", "Live sessions.", of(func(a storage.Applied) uint64 { return a.Sessions }))
	gauge("tenure_storage_live_bytes", "Bytes of live keys and their values.",
		of(func(a storage.Applied) uint64 { return a.LiveBytes }))
	gauge("tenure_storage_history_bytes", "Bytes of kept history.",
		of(func(a storage.Applied) uint64 { return a.HistoryBytes }))
	gauge("tenure_storage_state_bytes", "Bytes of the whole state, as its limit counts them.",
		of(func(a storage.Applied) uint64 { return a.StoreBytes }))
	gauge("tenure_storage_state_bytes_max", "Limit of the bytes of the whole state.",
		usage(func(u storage.Usage) uint64 { return u.BytesMax }))
	gauge("tenure_storage_full", "1 while nothing is taken that makes the state grow.",
		usage(func(u storage.Usage) uint64 {
			if u.Full {
				return 1
			}
			return 0
		}))
}
