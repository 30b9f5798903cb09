package proof_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// retryInterval is how long a follower waits for a member that is not there.
const retryInterval = 20 * time.Millisecond

// pool is the connections to a member that is killed and started again.
type pool struct {
	mu      sync.Mutex // guards clients
	clients []*client
}

func (p *pool) set(clients []*client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.close()
	}
	p.clients = clients
}

func (p *pool) get(i int) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clients[i%len(p.clients)]
}

// mark says that a watch claimed to have sent everything through a revision when it had sent so many events.
type mark struct {
	through uint64
	events  int
}

// segment is what a follower got from one start, over all cuts, until compaction passed it.
type segment struct {
	start  uint64
	events []*tenurev1.Event
	marks  []mark
}

// follower is one watcher that is cut and goes on. Its fields belong to the goroutine in follow.
type follower struct {
	number    int
	selectors *tenurev1.WatchRequest
	after     uint64 // where it starts; zero: now
	steady    bool   // never cut on purpose
	random    *rand.Rand
	reached   func(through uint64) // told how far it is; nil: nobody asks
	tally     *tally

	segments  []*segment
	token     string
	inside    bool // of a revision that goes on in the next message
	through   uint64
	cuts      int
	compacted int
}

// follow watches until everything through the revision that end tells was sent.
func (f *follower) follow(ctx context.Context, p *pool, end <-chan uint64) error {
	last := uint64(0)
	for last == 0 || f.through < last {
		select {
		case last = <-end:
			continue
		default:
		}
		if err := f.stream(ctx, p.get(f.number), last); err != nil {
			if err = f.goOn(ctx, err); err != nil {
				return fmt.Errorf("follower %d: %w", f.number, err)
			}
		}
	}
	return nil
}

// goOn returns nil when a watch that ended with err may be opened again.
func (f *follower) goOn(ctx context.Context, err error) error {
	switch reason := rig.ErrorInfo(err).GetReason(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case reason == "REVISION_COMPACTED" || reason == "WATCHER_TOO_SLOW":
		at, parseErr := strconv.ParseUint(rig.ErrorInfo(err).GetMetadata()["compacted_revision"], 10, 64)
		if parseErr != nil || at < f.through {
			return fmt.Errorf("reached %d, and: %w (%v)", f.through, err, rig.ErrorInfo(err).GetMetadata())
		}
		f.compacted++
		f.tally.compacted.Add(1)
		f.segments = append(f.segments, &segment{start: at})
		f.token, f.through, f.inside, f.after = "", at, false, at
		return nil
	case status.Code(err) == codes.Unavailable || status.Code(err) == codes.Canceled:
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
		return nil
	default:
		return err
	}
}

// request returns how the watch goes on: by its token, or by the revision if it stands between two.
func (f *follower) request() *tenurev1.WatchRequest {
	r := proto.CloneOf(f.selectors)
	r.ProgressInterval = durationpb.New(200 * time.Millisecond)
	switch {
	case f.token == "":
		r.AfterRevision = f.after
	case f.inside || f.random.IntN(3) > 0:
		r.ResumeToken = f.token
	default:
		r.AfterRevision = f.through
	}
	return r
}

// stream opens the watch and reads until it is cut, or has all through last; zero: it reads on.
func (f *follower) stream(ctx context.Context, c *client, last uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Watch(ctx, f.request())
	if err != nil {
		return err
	}
	for left := 1 + f.random.IntN(40); f.steady || left > 0; left-- {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := f.take(r); err != nil {
			return err
		}
		if f.steady && last == 0 && left < 0 {
			return nil // Looks whether there is an end.
		}
		if last > 0 && f.through >= last {
			return nil
		}
	}
	f.cuts++
	f.tally.cuts.Add(1)
	if f.random.IntN(3) == 0 {
		select {
		case <-time.After(time.Duration(f.random.IntN(400)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// take checks one message against the ones before it, and keeps it.
func (f *follower) take(r *tenurev1.WatchResponse) error {
	if started := r.GetStarted(); started != nil {
		if len(f.segments) == 0 {
			f.segments = append(f.segments, &segment{start: started.GetAfterRevision()})
			f.through = started.GetAfterRevision()
		}
		if at := started.GetAfterRevision(); at > f.through {
			return fmt.Errorf("goes on after %d, and had reached %d", at, f.through)
		}
		if f.token == "" {
			f.token = r.GetResumeToken()
		}
		return nil
	}
	s := f.segments[len(f.segments)-1]
	for _, e := range r.GetEvents().GetEvents() {
		if n := len(s.events); n > 0 && !before(s.events[n-1], e) || e.GetRevision() <= s.start {
			return fmt.Errorf("event %d.%d comes again or out of order", e.GetRevision(), e.GetIndex())
		}
		s.events = append(s.events, e)
	}
	through := r.GetHeader().GetRevision()
	if through < f.through {
		return fmt.Errorf("reached %d, then %d", f.through, through)
	}
	f.through, f.token, f.inside = through, r.GetResumeToken(), r.GetEvents().GetMore()
	s.marks = append(s.marks, mark{through: through, events: len(s.events)})
	if f.reached != nil {
		f.reached(through)
	}
	return nil
}

// before tells whether a comes before b in the history.
func before(a, b *tenurev1.Event) bool {
	return a.GetRevision() < b.GetRevision() || a.GetRevision() == b.GetRevision() && a.GetIndex() < b.GetIndex()
}

// compare fails unless a follower got exactly what it selected of a history, and claimed nothing that it had not sent.
func (f *follower) compare(history []*tenurev1.Event) error {
	for _, s := range f.segments {
		through := s.start
		if n := len(s.marks); n > 0 {
			through = s.marks[n-1].through
		}
		n, marks := 0, s.marks
		for _, e := range history {
			if e.GetRevision() <= s.start || !selects(f.selectors, e) {
				continue
			}
			for len(marks) > 0 && marks[0].through < e.GetRevision() {
				if marks[0].events < n {
					return fmt.Errorf("follower %d claimed revision %d with %d of %d events", f.number, marks[0].through, marks[0].events, n)
				}
				marks = marks[1:]
			}
			if n >= len(s.events) {
				if e.GetRevision() <= through {
					return fmt.Errorf("follower %d misses event %d.%d, and claimed %d", f.number, e.GetRevision(), e.GetIndex(), through)
				}
				break
			}
			if !sameEvent(s.events[n], e) {
				return fmt.Errorf("follower %d of %v: got %v, want %v", f.number, f.selectors, s.events[n], e)
			}
			n++
		}
		for _, m := range marks {
			if m.events < n {
				return fmt.Errorf("follower %d claimed revision %d with %d of %d events", f.number, m.through, m.events, n)
			}
		}
		if n != len(s.events) {
			return fmt.Errorf("follower %d got %d events, want %d", f.number, len(s.events), n)
		}
	}
	return nil
}

// sameEvent tells whether two deliveries are of one event. What is told of other things, such as the name of a session, is
// told as it is at the time of the delivery.
func sameEvent(a, b *tenurev1.Event) bool {
	return a.GetRevision() == b.GetRevision() && a.GetIndex() == b.GetIndex() && a.GetType() == b.GetType() &&
		a.GetKey() == b.GetKey() && proto.Equal(a.GetKv(), b.GetKv()) && a.GetPlace().GetPlace() == b.GetPlace().GetPlace() &&
		proto.Equal(a.GetHold().GetSequencer(), b.GetHold().GetSequencer()) &&
		a.GetSession().GetSessionId() == b.GetSession().GetSessionId()
}

// selects tells whether a watch is about an event. It is written from the description of the API, not from the server.
func selects(r *tenurev1.WatchRequest, e *tenurev1.Event) bool {
	begins := func(prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e.GetKey(), p) })
	}
	filter := r.GetFilter()
	switch e.GetType() {
	case tenurev1.EventType_EVENT_TYPE_PUT, tenurev1.EventType_EVENT_TYPE_DELETED, tenurev1.EventType_EVENT_TYPE_HOLDER_GRANTED,
		tenurev1.EventType_EVENT_TYPE_HOLDER_RELEASED, tenurev1.EventType_EVENT_TYPE_HOLDER_LOST:
		put := e.GetType() == tenurev1.EventType_EVENT_TYPE_PUT
		deleted := e.GetType() == tenurev1.EventType_EVENT_TYPE_DELETED
		if put && filter.GetNoPuts() || deleted && filter.GetNoDeletes() || !put && !deleted && filter.GetNoHolderChanges() {
			return false
		}
		return slices.Contains(r.GetKeys(), e.GetKey()) || begins(r.GetPrefixes()) ||
			r.GetRangeEnd() != "" && r.GetRangeStart() <= e.GetKey() && e.GetKey() < r.GetRangeEnd()
	case tenurev1.EventType_EVENT_TYPE_SESSION_BEGUN, tenurev1.EventType_EVENT_TYPE_SESSION_ENDED,
		tenurev1.EventType_EVENT_TYPE_SESSION_TAKEN_OVER:
		return r.GetAllSessions()
	case tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED, tenurev1.EventType_EVENT_TYPE_LOCK_LEFT:
		return !filter.GetNoQueue() && (slices.Contains(r.GetLocks(), e.GetKey()) || begins(r.GetLockPrefixes()))
	default:
		return slices.Contains(r.GetLocks(), e.GetKey()) || begins(r.GetLockPrefixes())
	}
}
