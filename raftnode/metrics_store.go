package raftnode

import "github.com/tenure-io/tenure/storage"

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
