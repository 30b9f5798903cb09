package consulhttp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	waitDefault = 300 * time.Second
	waitMax     = 600 * time.Second
	// waitJitter is the part of a wait that is added to it at most, so that clients do not all come back at once.
	waitJitter = 16
	// indexEmpty is the index of an empty store, and of the first change of all, which so may have been seen or not.
	indexEmpty = 1
	// waitEmpty is how long a wait for what follows that index may take: then the answer shows what there is.
	waitEmpty = time.Second
	// blockedMaxDefault is how many requests may block at a time; half of them for one client.
	blockedMaxDefault = 32_768
	// turnsMax is how many requests may read at a time what they waited for, and as many stale ones: one change may end many waits, and their reads
	// together would be more calls than a member serves.
	turnsMax = 256
	// rightsTriesMax is how often an answer is read again during which rights changed.
	rightsTriesMax = 3
	// rewatchPause is how long an agent waits before it watches again, after it lost its member.
	rewatchPause = 200 * time.Millisecond
	// progressInterval is how often a watch proves that it is current; nobody looks at that.
	progressInterval = 10 * time.Minute
)

// blocking says for which change a request waits.
type blocking struct {
	index uint64 // 0 does not wait
	wait  time.Duration
}

// blocking returns for which change a request waits.
func (q *request) blocking() (blocking, error) {
	index, err := q.Number("index")
	if err != nil {
		return blocking{}, err
	}
	wait, err := q.Duration("wait")
	if err != nil {
		return blocking{}, err
	}
	if wait <= 0 {
		wait = waitDefault
	}
	wait = min(wait, waitMax)
	jitter := rand.Int64N(int64(wait/waitJitter) + 1) //nolint:gosec // Nobody gains by knowing it.
	return blocking{index: index, wait: wait + time.Duration(jitter)}, nil
}

// outcome is how a wait ended.
type outcome int

const (
	// unknown means that it cannot be said whether something has changed: history is forgotten, or the index is ahead.
	unknown outcome = iota
	// changed means that something has.
	changed
	// unchanged means that nothing has for the whole wait.
	unchanged
)

// read is a read that may wait for a change.
type read struct {
	request     *request
	blocking    blocking
	consistency string
	selection   selection
	// settled returns up to which revision it is known without history that nothing has changed after an index; 0 if it is not
	// known. nil is never.
	settled func(ctx context.Context, index uint64) (uint64, error)
	// leaderless says that the leader was asked for already, in vain.
	leaderless bool
}

// answered waits until something has changed after the index, or the time is up, and returns what respond makes then. What one change wakes, and
// asks for the same, gets one answer.
func (c *core) answered(ctx context.Context, r read, respond func(context.Context, outcome) (*reply.Answer, error)) (*reply.Answer, error) {
	settled := func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		for tries := 1; ; tries++ {
			a, err := respond(ctx, waited)
			if !rightsChanged(err) || tries == rightsTriesMax || ctx.Err() != nil {
				return a, err
			}
		}
	}
	if r.blocking.index == 0 {
		return settled(ctx, unknown)
	}
	waited, watch, err := c.await(ctx, r)
	if err != nil {
		return nil, err
	}
	inTurn := func() (*reply.Answer, error) { return c.inTurn(ctx, r, waited, settled) }
	if watch == nil {
		return inTurn()
	}
	name := r.request.caller.String() + " " + r.request.Shows()
	made, err := watch.Once(ctx, name, func() (any, bool, error) {
		a, failure := inTurn()
		return a, failure == nil && !a.Long, failure
	})
	if err != nil {
		return nil, err
	}
	a, ok := made.(*reply.Answer)
	if !ok {
		return nil, fmt.Errorf("the shared answer is a %T, not an answer of HTTP", made)
	}
	return a, nil
}

// inTurn makes an answer within a turn. One that is read while it is written keeps its turn until then.
func (c *core) inTurn(ctx context.Context, r read, waited outcome, respond func(context.Context, outcome) (*reply.Answer, error)) (*reply.Answer, error) {
	turns := c.turns
	if r.consistency == ask.Stale {
		turns = c.turnsStale
	}
	end, err := turns.Take(ctx, r.request.caller)
	if err != nil {
		return nil, err
	}
	a, err := respond(ctx, waited)
	if err == nil && a.Long {
		r.request.ends = append(r.request.ends, end)
		return a, nil
	}
	defer end()
	if err != nil {
		return nil, err
	}
	return a.Whole(r.request.Has("pretty"))
}

// await waits until something has changed after the index, or the time is up. It returns the watch that woke the request, if others may have waited
// with it.
func (c *core) await(ctx context.Context, r read) (outcome, *wake.Watch, error) {
	caller := r.request.caller
	if !c.blocked.Take(caller, 1) {
		return unknown, nil, reply.Refusal(http.StatusTooManyRequests,
			"Too many requests from this address are blocked; all clients together can have %d.", c.options.BlockedMax)
	}
	defer c.blocked.Give(caller, 1)
	// Not a deadline, which the services would see, too: who ends the wait is known.
	inTime, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, vain := r.blocking.wait, unchanged
	if r.blocking.index == indexEmpty {
		wait, vain = min(wait, waitEmpty), unknown
	}
	r.request.Outlast(wait)
	defer time.AfterFunc(wait, cancel).Stop()
	out, watch, err := c.awaitShared(inTime, r)
	switch {
	case err == nil:
	case compacted(err), rightsChanged(err):
		out = unknown
	case ctx.Err() == nil && inTime.Err() != nil:
		if r.consistency == ask.Stale && vain == unchanged && !c.reached(ctx, r, r.blocking.index) {
			vain = unknown // A later wait with this index would be in vain, too.
		}
		return vain, nil, nil
	default:
		return unknown, nil, err
	}
	if out == changed {
		c.metrics.wakes.Inc()
	}
	return out, watch, nil
}

// awaitShared waits for the first event after the index that counts, with a watch that others may wait with.
func (c *core) awaitShared(ctx context.Context, r read) (outcome, *wake.Watch, error) {
	if r.blocking.index == indexEmpty {
		// Whether the first change of all counts depends on when the watch begins.
		revision, err := c.awaitSettled(ctx, r)
		if revision > 0 {
			return changed, nil, err
		}
		return unknown, nil, err
	}
	name, err := r.selection.name()
	if err != nil {
		return unknown, nil, err
	}
	watch, err := c.shared.Await(ctx, wake.Wait{
		Key:    wake.Key{Credentials: ask.Credentials(ctx), Events: r.consistency + " " + name},
		Caller: r.request.caller,
		After:  r.blocking.index,
		Watch: func(ctx context.Context) wake.End {
			revision, failure := c.awaitSettled(ctx, r)
			return wake.End{Revision: revision, Err: failure, Own: ofShare(failure), All: rightsChanged(failure)}
		},
	})
	if err != nil {
		return unknown, nil, err
	}
	switch end := watch.End(); {
	case end.All: // All see now what their caller may see, or that it may not.
		return unknown, watch, nil
	case end.Err != nil:
		return unknown, nil, end.Err
	case end.Revision > 0:
		return changed, watch, nil
	default:
		return unknown, nil, nil
	}
}

// ofShare reports whether a call was refused for the share of its caller.
func ofShare(err error) bool {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED:
		return true
	default:
		return status.Code(err) == codes.ResourceExhausted
	}
}

// rightsChanged reports whether a call, or the reading of an answer, ended because rights have changed.
func rightsChanged(err error) bool {
	return errors.Is(err, reply.ErrRightsChanged) || errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED
}

// compacted reports whether a watch could not begin, or go on, for want of history.
func compacted(err error) bool {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED, tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW:
		return true
	default:
		return false
	}
}

// awaitSettled waits for the first event after the index that counts, and returns its revision; 0 if none came, and it is not known whether one will.
func (c *core) awaitSettled(ctx context.Context, r read) (uint64, error) {
	revision, err := c.awaitAfter(ctx, r, r.blocking.index)
	if !compacted(err) || r.settled == nil {
		return revision, err
	}
	after, err := r.settled(ctx, r.blocking.index)
	if err != nil || after == 0 {
		return 0, err
	}
	return c.awaitAfter(ctx, r, after)
}

// awaitAfter waits for the first event after a revision that counts.
func (c *core) awaitAfter(ctx context.Context, r read, after uint64) (uint64, error) {
	if r.consistency == ask.Stale {
		// A member that is behind is not asked about the future, but waited for.
		if there, err := c.awaitRevision(ctx, r, after); !there || err != nil {
			return 0, err
		}
	}
	if r.selection.also == nil {
		return c.awaitEvent(ctx, r.selection, after)
	}
	also, err := r.selection.also(ctx)
	switch {
	case err != nil:
		return 0, err
	case also.request == nil:
		return c.awaitEvent(ctx, r.selection, after)
	}
	ctx, cancel := context.WithCancel(ctx)
	type end struct {
		revision uint64
		err      error
	}
	ends := make(chan end, 2)
	go func() {
		revision, err := c.awaitEvent(ctx, r.selection, after)
		ends <- end{revision, err}
	}()
	go func() {
		revision, err := c.awaitEvent(ctx, also, after)
		if status.Code(err) == codes.PermissionDenied { // Members of before visible_only take the right to read all services for it.
			<-ctx.Done()
			err = ctx.Err()
		}
		ends <- end{revision, err}
	}()
	first := <-ends
	cancel()
	<-ends
	return first.revision, first.err
}

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
		answer, err = c.kv.List(ctx, &tenurev1.ListRequest{Prefix: shown.GetPrefixes()[0], KeysOnly: true, PageSize: 1, Read: how, VisibleOnly: true})
	case len(shown.GetSessionIds()) > 0:
		answer, err = c.sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: shown.GetSessionIds()[0], Read: how})
	case shown.GetAllSessions():
		answer, err = c.sessions.ListSessions(ctx, &tenurev1.ListSessionsRequest{PageSize: 1, Read: how, VisibleOnly: true})
	case len(shown.GetNodes()) > 0:
		answer, err = c.entries.ListChecks(ctx, &tenurev1.ListChecksRequest{Node: shown.GetNodes()[0], PageSize: 1, Read: how, VisibleOnly: true})
	case shown.GetAllNodes():
		answer, err = c.entries.ListNodes(ctx, &tenurev1.ListNodesRequest{PageSize: 1, Read: how, VisibleOnly: true})
	case len(shown.GetServices()) > 0:
		answer, err = c.entries.ListInstances(ctx, &tenurev1.ListInstancesRequest{Service: shown.GetServices()[0], PageSize: 1, Read: how, VisibleOnly: true})
	case shown.GetAllServices():
		answer, err = c.entries.ListServices(ctx, &tenurev1.ListServicesRequest{PageSize: 1, Read: how, VisibleOnly: true})
	default:
		answer, err = c.queries.ListQueries(ctx, &tenurev1.ListQueriesRequest{PageSize: 1, Read: how, VisibleOnly: true})
	}
	if missing := reply.RevisionOf(err); missing > 0 {
		return missing, nil
	}
	if err != nil {
		return 0, err
	}
	return answer.GetHeader().GetRevision(), nil
}
