package consulhttp

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tenure-io/tenure/consulhttp/wake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
)

// core is what all endpoints need: the services that they call, and the means to wait for a change.
type core struct {
	options  Options
	sessions tenurev1.SessionServiceClient
	kv       tenurev1.KVServiceClient
	watches  tenurev1.WatchServiceClient
	cluster  tenurev1.ClusterServiceClient
	auth     tenurev1.AuthServiceClient
	metrics  *metrics
	contact  contact
	mode     atomic.Pointer[modeAt]
	blocked  *share.Pool   // of requests that wait for a change
	shared   *wake.Watches // with which they wait
	// turns are those of requests that have waited, and read now. Stale ones have their own: they need no leader, and so do not wait for those that do.
	turns, turnsStale *wake.Turns
}

// newCore returns a core. The options are valid and complete.
func newCore(o Options) (*core, error) {
	c := &core{
		options:  o,
		sessions: tenurev1.NewSessionServiceClient(o.Conn),
		kv:       tenurev1.NewKVServiceClient(o.Conn),
		watches:  tenurev1.NewWatchServiceClient(o.Conn),
		cluster:  tenurev1.NewClusterServiceClient(o.Conn),
		auth:     tenurev1.NewAuthServiceClient(o.Conn),
		contact:  contact{began: time.Now()},
		blocked:  share.NewPool(int64(o.BlockedMax)),
		shared:   wake.NewWatches(),
		turns:    wake.NewTurns(turnsMax), turnsStale: wake.NewTurns(turnsMax),
	}
	var err error
	c.metrics, err = newMetrics(o.Registerer, func() float64 { return float64(c.blocked.Used()) }, func() float64 { return float64(c.shared.Open()) })
	return c, err
}

// modeFor is for how long the mode is known that was asked for.
const modeFor = time.Second

// modeAt is what the policy of requests without a rule was at a time.
type modeAt struct {
	at     time.Time
	policy string
}

// Policies for requests that no rule is about, in Consul's words.
const (
	policyAllow = "allow"
	policyDeny  = "deny"
)

// policy returns what becomes of requests that no rule is about: they are refused only where rules are enforced. A mode that is not known
// is the last one, or else says allow, as a cluster without rules.
func (c *core) policy(ctx context.Context) string {
	known := c.mode.Load()
	if known != nil && time.Since(known.at) < modeFor {
		return known.policy
	}
	now := &modeAt{at: time.Now(), policy: policyAllow}
	who, err := c.auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	switch {
	case err != nil && known != nil:
		return known.policy
	case err != nil:
		return policyAllow
	case who.GetMode() == tenurev1.AuthMode_AUTH_MODE_ENFORCE:
		now.policy = policyDeny
	}
	c.mode.Store(now)
	return now.policy
}
