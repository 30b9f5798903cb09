package certs

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Register shows metrics of certificates, by what they are for, and of handshakes, by listener. Those that are nil show zeros.
func Register(r prometheus.Registerer, sources map[string]*Source, handshakers map[string]*Handshaker) error {
	var all []prometheus.Collector
	for purpose, s := range sources {
		all = append(all, s.metrics(purpose)...)
	}
	for listener, h := range handshakers {
		all = append(all, h.metrics(listener)...)
	}
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// metrics are those of certificates. A nil source has none.
func (s *Source) metrics(purpose string) []prometheus.Collector {
	end := func(which string, of func(*material) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "tenure_certs_end_seconds",
			Help:        "When the certificate in use ends, or the last of the CAs, in seconds since 1970; 0 if there is none.",
			ConstLabels: prometheus.Labels{"purpose": purpose, "certificate": which},
		}, func() float64 {
			if s == nil {
				return 0
			}
			return float64(of(s.current.Load()))
		})
	}
	return []prometheus.Collector{
		end("own", func(m *material) int64 {
			if m.pair == nil {
				return 0
			}
			return firstEnding(m.sent).NotAfter.Unix()
		}),
		end("ca", func(m *material) int64 {
			if len(m.cas) == 0 {
				return 0
			}
			return lastEnd(m.cas).Unix()
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "tenure_certs_expiring",
			Help:        "Certificates in use, and CAs, that end within two weeks, or certificates in the last third of a shorter life.",
			ConstLabels: prometheus.Labels{"purpose": purpose},
		}, func() float64 {
			if s == nil {
				return 0
			}
			return float64(len(s.expiring()))
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "tenure_certs_not_loaded",
			Help:        "1 while the files of certificates cannot be used, so that the previous ones are.",
			ConstLabels: prometheus.Labels{"purpose": purpose},
		}, func() float64 {
			if s == nil {
				return 0
			}
			if _, notTaken := s.problem(); notTaken == nil {
				return 0
			}
			return 1
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "tenure_certs_reloads_total",
			Help:        "How often changed files of certificates were taken.",
			ConstLabels: prometheus.Labels{"purpose": purpose},
		}, func() float64 {
			if s == nil {
				return 0
			}
			return float64(s.taken.Load())
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "tenure_certs_connections_ended_total",
			Help:        "Connections that were ended because the certificate of their other side was no longer valid.",
			ConstLabels: prometheus.Labels{"purpose": purpose},
		}, func() float64 {
			if s == nil {
				return 0
			}
			return float64(s.finished.Load())
		}),
	}
}

// metrics are those of handshakes. A nil handshaker has made none.
func (h *Handshaker) metrics(listener string) []prometheus.Collector {
	all := []prometheus.Collector{prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "tenure_certs_handshakes_total",
		Help:        "TLS handshakes that were made.",
		ConstLabels: prometheus.Labels{"listener": listener},
	}, func() float64 {
		if h == nil {
			return 0
		}
		return float64(h.made.Load())
	})}
	all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "tenure_certs_cleartext_connections_total",
		Help:        "Connections that came without TLS to a listener that has it, and were let in.",
		ConstLabels: prometheus.Labels{"listener": listener},
	}, func() float64 {
		if h == nil {
			return 0
		}
		came, _ := h.strangers.counts()
		return float64(came)
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "tenure_certs_cleartext_accepted",
		Help:        "1 while a listener that has TLS also accepts connections without.",
		ConstLabels: prometheus.Labels{"listener": listener},
	}, func() float64 {
		if h == nil || h.o.Cleartext == nil || !h.o.Cleartext() {
			return 0
		}
		return 1
	}), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "tenure_certs_cleartext_connections",
		Help:        "Those of them that are open.",
		ConstLabels: prometheus.Labels{"listener": listener},
	}, func() float64 {
		if h == nil {
			return 0
		}
		_, open := h.strangers.counts()
		return float64(open)
	}))
	for c := range causes {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "tenure_certs_handshakes_failed_total",
			Help:        "TLS handshakes that failed, by cause.",
			ConstLabels: prometheus.Labels{"listener": listener, "cause": c.String()},
		}, func() float64 {
			if h == nil {
				return 0
			}
			return float64(h.failed[c].Load())
		}))
	}
	return all
}
