package consulhttp

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/mode"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
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
	entries  tenurev1.CatalogServiceClient
	queries  tenurev1.QueryServiceClient
	metrics  *metrics
	contact  contact
	mode     mode.Seen
	blocked  *share.Pool   // of requests that wait for a change
	shared   *wake.Watches // with which they wait
	// turns are those of requests that have waited, and read now. Stale ones have their own: they need no leader, and so do not wait for those that do.
	turns, turnsStale *share.Turns
	longs             *share.Turns // of answers that have more than a page; nil at a member, which bounds them itself
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
		entries:  tenurev1.NewCatalogServiceClient(o.Conn),
		queries:  tenurev1.NewQueryServiceClient(o.Conn),
		contact:  contact{began: time.Now()},
		blocked:  share.NewPool(int64(o.BlockedMax)),
		shared:   wake.NewWatches(),
		turns:    share.NewTurns(turnsMax), turnsStale: share.NewTurns(turnsMax),
	}
	if o.Agent != nil {
		c.longs = share.NewTurns(agentLongsMax)
	}
	var err error
	c.metrics, err = newMetrics(o.Registerer, func() float64 { return float64(c.blocked.Used()) }, func() float64 { return float64(c.shared.Open()) })
	return c, err
}

// beginLong waits for a turn to answer a request with more than a page. The turn ends with the request.
func (c *core) beginLong(ctx context.Context, q *request) error {
	if c.longs == nil || q.long {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, wake.TurnPatience)
	defer cancel()
	end, err := c.longs.Take(waiting, q.caller)
	switch {
	case ctx.Err() != nil && err != nil:
		return err
	case err != nil:
		return reply.Refusal(http.StatusTooManyRequests, "Too many long answers to this address are not read yet; all clients together can have %d.", agentLongsMax)
	}
	q.ends, q.long = append(q.ends, end), true
	return nil
}

// policy returns what becomes of requests that no rule is about, in Consul's words. It takes no longer than one looks for the leader.
func (c *core) policy(ctx context.Context) string {
	return c.mode.Policy(ctx, leaderWait, ask.Anonymous(ctx), func(ctx context.Context) (tenurev1.AuthMode, error) {
		// What it says is for all, and so it takes no client's turn.
		who, err := c.auth.WhoAmI(wake.WithCaller(ctx, share.Caller{}), &tenurev1.WhoAmIRequest{})
		return who.GetMode(), err
	})
}

// at is the header of a call that says no more than its revision.
func at(revision uint64) *tenurev1.ResponseHeader {
	return &tenurev1.ResponseHeader{Revision: revision}
}

// stateAt returns what the headers of a read say, after a wait, that shows what a call with a header has found.
func (c *core) stateAt(ctx context.Context, r read, waited outcome, header *tenurev1.ResponseHeader) (reply.State, error) {
	c.shared.Saw(header.GetRevision())
	s := reply.State{Index: header.GetRevision(), Consistency: r.consistency, KnownLeader: true, Filtered: header.GetFiltered()}
	// Of a part, it is not known what it was at the index: what its caller may see may have changed before the wait.
	if waited == unchanged && !s.Filtered {
		s.Index = r.blocking.index
	}
	if r.consistency != ask.Stale {
		s.Policy = c.policy(ctx)
		return s, nil
	}
	if r.leaderless {
		s.KnownLeader, s.LastContact, s.Policy = false, c.contact.since(false), c.mode.Last()
		return s, nil
	}
	// Both may take as long as one looks for the leader, but not one after the other.
	var asking sync.WaitGroup
	asking.Go(func() { s.Policy = c.policy(ctx) })
	known, err := c.knowsLeader(ctx)
	asking.Wait()
	s.KnownLeader = known
	s.LastContact = c.contact.since(known)
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
	case leaderless(err):
		return false, nil
	default:
		return false, err
	}
}

// leaderless reports whether a call that may not take longer than one looks for the leader has found none.
func leaderless(err error) bool {
	return errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NO_LEADER || status.Code(err) == codes.DeadlineExceeded
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
