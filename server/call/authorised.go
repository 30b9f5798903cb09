package call

import (
	"context"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
)

// Authorised returns on whose behalf a call runs, and one more than the deny revision at which it was allowed. An error says that it
// began before rights were asked for.
func (c *Caller) Authorised(ctx context.Context) (principal string, below uint64, err error) {
	return access.Authorised(ctx, c.Node.Store().Rights.Now())
}

// SeesInstances returns what reports whether the caller may see an instance of a service; nil: it may see all.
func (c *Caller) SeesInstances(ctx context.Context) func(*tenurev1.ServiceInstance) bool {
	return access.Of(ctx).Instances()
}

// AuthoriseAgain decides again about a call, on what the cluster has.
func (c *Caller) AuthoriseAgain(ctx context.Context) error {
	if err := c.Node.ReadIndex(ctx); err != nil {
		return err
	}
	if grant := access.Of(ctx); grant != nil {
		return grant.Again(ctx)
	}
	return nil
}

// AllowedStill refuses, where this member leads, what was allowed before rights were taken away, by all that the cluster has. below
// is as Authorised returned it, perhaps to another member; zero is older than any.
func (c *Caller) AllowedStill(ctx context.Context, below uint64) error {
	if _, err := c.Node.ReadIndexLeader(ctx); err != nil {
		return err
	}
	return access.AllowedStill(c.Node.Store().Rights.Now(), below)
}
