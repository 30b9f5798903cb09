package consulhttp

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

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
	// turnsMax is how many requests may read at a time what they waited for: one change may end many waits, and their reads together would be more
	// calls than a member serves.
	turnsMax = 256
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
	index, err := q.number("index")
	if err != nil {
		return blocking{}, err
	}
	wait, err := q.duration("wait")
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

// selection is what a request shows, and so waits for.
type selection struct {
	request *tenurev1.WatchRequest
	// also returns what else counts, if it must be read to be known; nil, or no request, is nothing.
	also func(ctx context.Context) (selection, error)
	// counts reports whether an event is a change of what is shown; nil is always. It may call.
	counts func(ctx context.Context, e *tenurev1.Event) (bool, error)
}

// read is a read that may wait for a change.
type read struct {
	request     *request
	blocking    blocking
	consistency string
	selection   selection
	// settled returns up to which revision it is known without history that nothing has changed after an index; 0 if it is not
	// known. nil is never.
	settled func(ctx context.Context, index uint64) (uint64, error)
}

// await waits until something has changed after the index, or the time is up.
func (c *core) await(ctx context.Context, r read) (outcome, error) {
	if r.blocking.index == 0 {
		return unknown, nil
	}
	caller := c.options.Callers.OfText(r.request.RemoteAddr)
	if !c.blocked.Take(caller, 1) {
		return unknown, refusal(http.StatusTooManyRequests,
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
	defer time.AfterFunc(wait, cancel).Stop()
	out, err := c.awaitAfter(inTime, r, r.blocking.index)
	if compacted(err) && r.settled != nil {
		var after uint64
		if after, err = r.settled(inTime, r.blocking.index); err == nil && after > 0 {
			out, err = c.awaitAfter(inTime, r, after)
		}
	}
	switch {
	case err == nil:
	case compacted(err):
		out = unknown
	case ctx.Err() == nil && inTime.Err() != nil:
		out = vain
	default:
		return unknown, err
	}
	if out == changed {
		c.metrics.wakes.Inc()
	}
	select {
	case c.turns <- struct{}{}:
		r.request.turn = func() { <-c.turns }
		return out, nil
	case <-ctx.Done():
		return unknown, ctx.Err()
	}
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

// awaitAfter waits for the first event after a revision that counts.
func (c *core) awaitAfter(ctx context.Context, r read, after uint64) (outcome, error) {
	if r.consistency == consistencyStale {
		// A member that is behind is not asked about the future, but waited for.
		if err := c.awaitRevision(ctx, after); err != nil {
			return unknown, err
		}
	}
	if r.selection.also == nil {
		return c.awaitEvent(ctx, r.selection, after)
	}
	also, err := r.selection.also(ctx)
	switch {
	case err != nil:
		return unknown, err
	case also.request == nil:
		return c.awaitEvent(ctx, r.selection, after)
	}
	ctx, cancel := context.WithCancel(ctx)
	type end struct {
		out outcome
		err error
	}
	ends := make(chan end, 2)
	for _, s := range []selection{r.selection, also} {
		go func() {
			out, err := c.awaitEvent(ctx, s, after)
			ends <- end{out, err}
		}()
	}
	first := <-ends
	cancel()
	<-ends
	return first.out, first.err
}

// awaitEvent waits for the first event after a revision that counts for a selection. At an agent it continues with another member when
// the one that it watches is gone: all know the same history.
func (c *core) awaitEvent(ctx context.Context, s selection, after uint64) (outcome, error) {
	for {
		out, err := c.awaitEventOnce(ctx, s, after)
		if c.options.Agent == nil || !broken(err) {
			return out, err
		}
		pause := time.NewTimer(rewatchPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return unknown, ctx.Err()
		}
	}
}

// awaitEventOnce is awaitEvent with one member.
func (c *core) awaitEventOnce(ctx context.Context, s selection, after uint64) (outcome, error) {
	request := s.request
	request.KeysOnly = true
	request.AfterRevision = after
	request.ProgressInterval = durationpb.New(progressInterval)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.watches.Watch(ctx, request)
	if err != nil {
		return unknown, err
	}
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return unknown, nil
		case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:
			if after == indexEmpty && revisionOf(err) == 0 {
				return c.awaitEventOnce(ctx, s, 0)
			}
			return unknown, nil
		case err != nil:
			return unknown, err
		}
		for _, e := range message.GetEvents().GetEvents() {
			if s.counts == nil {
				return changed, nil
			}
			if counts, err := s.counts(ctx, e); counts || err != nil {
				return changed, err
			}
		}
	}
}

// broken reports whether a watch ended with the connection to its member, or could not begin for want of one.
func broken(err error) bool {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return true
	case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
	default:
		return false
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// awaitRevision waits until the answering member shows a revision.
func (c *core) awaitRevision(ctx context.Context, revision uint64) error {
	for {
		_, err := c.kv.List(ctx, &tenurev1.ListRequest{
			PageSize: 1, KeysOnly: true, Read: &tenurev1.ReadOptions{Stale: true, MinRevision: revision},
		})
		// A member does not wait for ever.
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED || ctx.Err() != nil {
			return err
		}
	}
}

// stateAt returns what the headers of a read say that shows a revision, after a wait.
func (c *core) stateAt(ctx context.Context, r read, waited outcome, revision uint64) (state, error) {
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
