package renewal

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/server/call"
)

// Renewer renews sessions: those of this member's clients, wherever the leader is, and those of other members' clients where
// it is here.
type Renewer struct {
	*call.Caller
	hints    *Hinter
	renewals *relayedRenewals
	proofs   proofs
	// streamSessionsMax is how many sessions one KeepAlive stream renews.
	streamSessionsMax int
	// looked counts how often the state was asked for a session.
	looked atomic.Uint64
}

// Options are what a renewer needs.
type Options struct {
	// Caller is shared with the services.
	Caller *call.Caller
	// Hints tells streams what happens to the locks of their sessions.
	Hints *Hinter
	// StreamSessionsMax is how many sessions one KeepAlive stream renews.
	StreamSessionsMax int
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
}

// New returns what renews sessions, and registers its metrics. Its Run carries renewals to the leader.
func New(o Options) (*Renewer, error) {
	renewals, err := newRelayedRenewals(o.Caller.Relay, o.Caller.Log, o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Renewer{Caller: o.Caller, hints: o.Hints, renewals: renewals, streamSessionsMax: o.StreamSessionsMax}, nil
}

// Run carries renewals to whoever leads, until ctx ends.
func (a *Renewer) Run(ctx context.Context) { a.renewals.run(ctx) }

// CheckShown refuses sessions that another member's client acts as, and whose secret is not the one that was shown; shown is
// its hash.
func (a *Renewer) CheckShown(ctx context.Context, sessions [][]byte, shown []byte) error {
	return shownSecrets{a}.check(ctx, sessions, shown)
}
