package consulhttp

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// stateAt returns what the headers of a read say that shows a revision, after a wait.
func (c *core) stateAt(ctx context.Context, r read, waited outcome, revision uint64) (state, error) {
	c.shared.Saw(revision)
	s := state{index: revision, consistency: r.consistency, knownLeader: true, policy: c.policy(ctx)}
	if waited == unchanged {
		s.index = r.blocking.index
	}
	if r.consistency != consistencyStale {
		return s, nil
	}
	known, err := c.knowsLeader(ctx)
	s.knownLeader = known
	s.lastContact = c.contact.since(known)
	return s, err
}

// leaderWait is for how long a stale read looks for the leader.
const leaderWait = time.Second

// knowsLeader reports whether there is a leader that answers the member.
func (c *core) knowsLeader(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	members, err := c.cluster.ListMembers(asking, &tenurev1.ListMembersRequest{})
	switch {
	case err == nil:
		return slices.ContainsFunc(members.GetMembers(), (*tenurev1.Member).GetLeader), nil
	case ctx.Err() != nil:
		return false, err
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, status.Code(err) == codes.DeadlineExceeded:
		return false, nil
	default:
		return false, err
	}
}

// contact remembers when a leader was known.
type contact struct {
	began time.Time    // when this began to serve
	last  atomic.Int64 // after that, in nanoseconds
}

// since returns how long no leader has been known: 0 if one is. A member forgets a leader that it has not heard for an election time-out.
func (c *contact) since(known bool) time.Duration {
	now := time.Since(c.began)
	if known {
		c.last.Store(int64(now))
		return 0
	}
	return now - time.Duration(c.last.Load())
}
