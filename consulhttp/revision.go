package consulhttp

import (
	"context"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// awaitRevision waits until the answering member shows a revision. It reports false at once if the cluster does not have it.
func (c *core) awaitRevision(ctx context.Context, r read, revision uint64) (bool, error) {
	if has, err := c.revisionOf(ctx, r, &tenurev1.ReadOptions{Stale: true}); err != nil || has >= revision {
		return err == nil, err
	}
	asking, cancel := context.WithTimeout(ctx, leaderWait)
	has, err := c.revisionOf(asking, r, nil)
	cancel()
	if err == nil {
		return has >= revision, nil
	}
	// There is no leader, or the member needs longer to catch up.
	for {
		_, err = c.revisionOf(ctx, r, &tenurev1.ReadOptions{Stale: true, MinRevision: revision})
		// A member does not wait for ever.
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED || ctx.Err() != nil {
			return err == nil, err
		}
	}
}

// reached reports whether the answering member shows a revision, as far as it can be known.
func (c *core) reached(ctx context.Context, r read, revision uint64) bool {
	has, err := c.revisionOf(ctx, r, &tenurev1.ReadOptions{Stale: true})
	return err != nil || has >= revision
}

// revisionOf returns the revision that a read shows now. It reads as little as it can of what the request shows: other things its caller may have no right to.
func (c *core) revisionOf(ctx context.Context, r read, how *tenurev1.ReadOptions) (uint64, error) {
	var answer interface {
		GetHeader() *tenurev1.ResponseHeader
	}
	var err error
	switch shown := r.selection.request; {
	case len(shown.GetKeys()) > 0:
		answer, err = c.kv.Get(ctx, &tenurev1.GetRequest{Key: shown.GetKeys()[0], Read: how})
	case len(shown.GetPrefixes()) > 0:
		answer, err = c.kv.List(ctx, &tenurev1.ListRequest{Prefix: shown.GetPrefixes()[0], KeysOnly: true, PageSize: 1, Read: how})
	case len(shown.GetSessionIds()) > 0:
		answer, err = c.sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: shown.GetSessionIds()[0], Read: how})
	case shown.GetAllSessions():
		answer, err = c.sessions.ListSessions(ctx, &tenurev1.ListSessionsRequest{PageSize: 1, Read: how})
	case len(shown.GetNodes()) > 0:
		answer, err = c.entries.ListChecks(ctx, &tenurev1.ListChecksRequest{Node: shown.GetNodes()[0], PageSize: 1, Read: how})
	case shown.GetAllNodes():
		answer, err = c.entries.ListNodes(ctx, &tenurev1.ListNodesRequest{PageSize: 1, Read: how})
	case len(shown.GetServices()) > 0:
		answer, err = c.entries.ListInstances(ctx, &tenurev1.ListInstancesRequest{Service: shown.GetServices()[0], PageSize: 1, Read: how})
	case shown.GetAllServices():
		answer, err = c.entries.ListServices(ctx, &tenurev1.ListServicesRequest{PageSize: 1, Read: how})
	default:
		answer, err = c.queries.ListQueries(ctx, &tenurev1.ListQueriesRequest{PageSize: 1, Read: how})
	}
	if missing := reply.RevisionOf(err); missing > 0 {
		return missing, nil
	}
	if err != nil {
		return 0, err
	}
	return answer.GetHeader().GetRevision(), nil
}
