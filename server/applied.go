package server

import (
	"context"
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/compaction"
	"github.com/tenure-io/tenure/storage"
)

// newCompaction returns the leader task that forgets old history.
func newCompaction(r *running) *compaction.Task {
	return compaction.New(compaction.Options{
		Propose: func(ctx context.Context, c *storev1.Command) (*storev1.Result, error) {
			return r.node.Propose(ctx, c)
		},
		Applied: func() storage.Applied { return r.node.Store().Applied() },
		Limits: func() (*storev1.Limits, error) {
			s := r.node.Store().NewReader()
			limits, err := s.Limits()
			return limits, errors.Join(err, s.Close())
		},
		Logger: r.log,
	})
}

// applied passes on what the member applied. It runs on the apply goroutine.
func (r *running) applied(o storage.Outcome) {
	r.timers.Publish(o)
	r.hub.Publish(o)
	r.hints.Publish(o.Events)
	r.secrets.Publish(o.Events)
	r.counts.Publish(o)
	r.arrivals.Publish()
	r.compaction.Publish(o)
	r.pool.Publish(o)
	auditPart{r}.events(o)
}
