package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
)

// problemWithoutTLS is the problem of a member that learned only after its start that there are tokens, which others can read on their way to it
// or do without. It is the heading of its runbook.
const problemWithoutTLS = "listener-without-tls"

// checkListeners refuses addresses that do not fit what the directory holds.
func (r *running) checkListeners() error {
	s := r.node.Status()
	if r.config.TLS.acceptsCleartext() && r.node.Store().Applied().AuthMode == storev1.AuthMode_AUTH_MODE_ENFORCE {
		return fmt.Errorf("%w: the cluster in %s enforces rules, and tokens that are sent without TLS can be read on their way: "+
			"start without --cleartext accept", ErrConfig, r.config.DataDir)
	}
	if members := len(s.Voters) + len(s.Learners); r.listeners.peer == nil && members > 1 {
		return fmt.Errorf("%w: --peer off is for a member that is alone; the cluster in %s has %d members", ErrConfig, r.config.DataDir, members)
	}
	if why := r.unsafeForTokens(); why != "" {
		return fmt.Errorf("%w: the cluster in %s has tokens, and %s", ErrConfig, r.config.DataDir, why)
	}
	return nil
}

// unsafeForTokens says why no tokens should be used here, and what to do; empty: they may be, or there are none as far as is known here.
func (r *running) unsafeForTokens() string {
	if r.node.Store().Applied().AuthChanges == 0 {
		return ""
	}
	if r.listeners.peer != nil && !r.config.TLS.peers() {
		return "without TLS on --peer any process that reaches it could act for every client: " +
			"give --peer-cert-file, --peer-key-file and --peer-ca-file, or --peer off to a member that is alone"
	}
	open, found := r.config.withoutTLS(Addresses{GRPC: r.addresses.GRPC, HTTP: r.addresses.HTTP}, r.advertised)
	switch {
	case !found:
		return ""
	case open.ofAgent:
		return fmt.Sprintf("any process that reaches %s %s, which has no TLS, acts with the rights of the agent: give a loopback address; --insecure does "+
			"not excuse it", open.flag, open.address)
	default:
		return fmt.Sprintf("clients send theirs to %s %s without TLS, where others can read them: give --cert-file and --key-file, or loopback "+
			"addresses only; --insecure does not excuse it", open.flag, open.address)
	}
}

// listenerMetric is 1 while there is that problem.
func (r auditPart) listenerMetric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tenure_certs_listener_without_tls",
		Help: "1 while the cluster has tokens and clients of other machines, or other members, reach this member without TLS.",
	}, func() float64 {
		if r.unsafeForTokens() == "" {
			return 0
		}
		return 1
	})
}

// listenerAlarms returns that this member should have been refused at its start, if it had known what it knows now.
func (r auditPart) listenerAlarms() []raftnode.Alarm {
	why := r.unsafeForTokens()
	if why == "" {
		return nil
	}
	return []raftnode.Alarm{{
		Name: problemWithoutTLS, Member: r.node.Status().MemberID,
		Message: "The cluster has tokens, and " + why + ". This member will not start again until that is done.",
	}}
}
