package tenure_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fakeLocks are the locks of a fakeCluster, whose mu guards them: exclusive ones with a queue, and with requests that are known again by
// their numbers.
type fakeLocks struct {
	holds    map[string]*tenurev1.Hold // By key.
	places   map[string][]*fakePlace
	marks    map[string]uint64     // By session and epoch: requests below are done.
	answers  map[string]*fakePlace // By session, epoch and number.
	acquires []*tenurev1.AcquireLockRequest
	releases []*tenurev1.ReleaseLockRequest
	released []string
	full     int  // How many releases find the window full.
	busy     bool // Whether acquires are refused at present.
	cancels  int  // How many requests there were to give up a wait.
	small    bool // Whether releases that do something to the key are larger than what gRPC takes.
	pageSize int  // Of AttachSession; zero is all.
	tries    fates
	resigns  fates
	frees    fates // Of releases.
	// Acquires and tries, and releases, are applied when these open, whoever still waits for them.
	late, lateReleases gate
	// Tries and resignations are applied at once, and answered when this opens.
	lateAnswers gate
}

// gate holds back who comes until it is closed; nil is open.
type gate chan struct{}

func (g gate) pass() {
	if g != nil {
		<-g
	}
}

// hold puts up a gate, and returns what opens it; opening it again does nothing.
func (f *fakeCluster) hold(g *gate) (open func()) {
	up := make(gate)
	f.mu.Lock()
	defer f.mu.Unlock()
	*g = up
	return sync.OnceFunc(func() {
		f.mu.Lock()
		*g = nil
		f.mu.Unlock()
		close(up)
	})
}

// gated returns a gate as it is now.
func (f *fakeCluster) gated(g *gate) gate {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *g
}

// fakePlace is a wait; the hold that it became is set before granted is closed, and nil if it was cancelled.
type fakePlace struct {
	session, owner string
	granted        chan struct{}
	hold           *tenurev1.Hold
}

// takeOver raises the epoch, and names all holds anew, unless the same instance did so before. Call it under mu.
func (f *fakeCluster) takeOver(r *tenurev1.AttachSessionRequest, s *fakeSession) tenurev1.ErrorReason {
	id, instance := r.GetSessionId(), string(r.GetInstanceId())
	switch replaces := r.GetOptions().GetEpoch(); {
	case replaces == s.epoch:
	case replaces+1 == s.epoch && instance == s.instance:
		return 0
	default:
		return tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH
	}
	s.epoch, s.instance = s.epoch+1, instance
	for key, hold := range f.locks.holds {
		if hold.GetSequencer().GetSessionId() == id {
			f.locks.holds[key] = f.newHold(key, id, hold.GetOwner())
		}
	}
	return 0
}

// breakLock takes a lock from its holder, and with a hint tells so.
func (f *fakeCluster) breakLock(key string, hint bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	hold := f.locks.holds[key]
	delete(f.locks.holds, key)
	f.revision++
	if hint {
		f.hints = append(f.hints, &tenurev1.SessionHint{
			SessionId: hold.GetSequencer().GetSessionId(), Kind: &tenurev1.SessionHint_Lost{Lost: hold},
		})
	}
}

// newHold returns a hold. Call it under mu.
func (f *fakeCluster) newHold(key, session, owner string) *tenurev1.Hold {
	f.revision++
	return &tenurev1.Hold{Owner: owner, Mode: tenurev1.LockMode_LOCK_MODE_EXCLUSIVE, Sequencer: &tenurev1.Sequencer{
		Key: key, LockIndex: f.revision, SessionId: session, FencingToken: f.revision,
	}}
}

// page adds what a session has to an answer, in pages if they are small.
func (l *fakeLocks) page(answer *tenurev1.AttachSessionResponse, r *tenurev1.AttachSessionRequest) *tenurev1.AttachSessionResponse {
	for key, hold := range l.holds {
		if hold.GetSequencer().GetSessionId() == r.GetSessionId() && key > r.GetPageToken() {
			answer.Holds = append(answer.Holds, hold)
		}
	}
	slices.SortFunc(answer.GetHolds(), func(a, b *tenurev1.Hold) int {
		return strings.Compare(a.GetSequencer().GetKey(), b.GetSequencer().GetKey())
	})
	if l.pageSize > 0 && len(answer.GetHolds()) > l.pageSize {
		answer.Holds = answer.GetHolds()[:l.pageSize]
		answer.NextPageToken = answer.GetHolds()[l.pageSize-1].GetSequencer().GetKey()
		return answer
	}
	for key, places := range l.places {
		for i, p := range places {
			if p.session == r.GetSessionId() {
				answer.Places = append(answer.Places, &tenurev1.Place{
					Key: key, Position: uint32(i), SessionId: p.session, Owner: p.owner, Mode: tenurev1.LockMode_LOCK_MODE_EXCLUSIVE,
				})
			}
		}
	}
	return answer
}

// number looks at a request's number: below the mark it is refused, and the first answer under it is given again.
func (f *fakeCluster) number(o *tenurev1.CallOptions) (name string, first *fakePlace, err error) {
	id := o.GetRequestId()
	if id == nil {
		return "", nil, nil
	}
	l := &f.locks
	window := fmt.Sprint(id.GetSessionId(), " ", o.GetEpoch())
	l.marks[window] = max(l.marks[window], id.GetDoneBelow())
	name = fmt.Sprint(window, " ", id.GetSequence())
	if first = l.answers[name]; first == nil && id.GetSequence() < l.marks[window] {
		err = refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE, "no")
	}
	return name, first, err
}

// acquire finds what session and owner have of a lock, or makes it. Call it under mu.
func (f *fakeCluster) acquire(r *tenurev1.AcquireLockRequest) (*fakePlace, error) {
	name, first, err := f.number(r.GetOptions())
	if err != nil || first != nil {
		return first, err
	}
	l := &f.locks
	session, owner := r.GetSessionId(), r.GetOptions().GetOwner()
	p := &fakePlace{session: session, owner: owner, granted: make(chan struct{})}
	hold := l.holds[r.GetKey()]
	own := slices.IndexFunc(l.places[r.GetKey()], func(p *fakePlace) bool { return p.session == session && p.owner == owner })
	switch {
	case owns(hold, session, r.GetOptions()):
		p.hold = hold
		close(p.granted)
	case own >= 0:
		p = l.places[r.GetKey()][own]
	default:
		l.places[r.GetKey()] = append(l.places[r.GetKey()], p)
		f.grant(r.GetKey())
	}
	l.answers[name] = p
	return p, nil
}

// grant grants to the first who waits, if the lock is free. Call it under mu.
func (f *fakeCluster) grant(key string) {
	places := f.locks.places[key]
	if f.locks.holds[key] != nil || len(places) == 0 {
		return
	}
	p := places[0]
	f.locks.places[key] = places[1:]
	p.hold = f.newHold(key, p.session, p.owner)
	f.locks.holds[key] = p.hold
	close(p.granted)
}

func (m *fakeMember) AcquireLock(
	r *tenurev1.AcquireLockRequest, stream grpc.ServerStreamingServer[tenurev1.AcquireLockResponse],
) error {
	f := m.cluster
	f.mu.Lock()
	f.locks.acquires = append(f.locks.acquires, r)
	busy := f.locks.busy
	f.mu.Unlock()
	if busy {
		return refusal(codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS, "no")
	}
	f.gated(&f.locks.late).pass()
	f.mu.Lock()
	p, err := f.acquire(r)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-p.granted:
	default:
		queued := &tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Queued{Queued: &tenurev1.LockQueuedStep{
			Place: &tenurev1.Place{Key: r.GetKey(), Owner: p.owner}, Lock: &tenurev1.Lock{Key: r.GetKey()},
		}}}
		if err := stream.Send(queued); err != nil {
			return err
		}
	}
	select {
	case <-p.granted:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	if p.hold == nil {
		return stream.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Rejected{Rejected: &tenurev1.LockRejectedStep{
			Cause: tenurev1.WaitEndCause_WAIT_END_CAUSE_CANCELLED,
		}}})
	}
	return stream.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Granted{Granted: p.hold}})
}

// TryAcquireLock acquires without waiting.
func (m *fakeMember) TryAcquireLock(
	_ context.Context, r *tenurev1.TryAcquireLockRequest,
) (*tenurev1.TryAcquireLockResponse, error) {
	f := m.cluster
	f.gated(&f.locks.late).pass()
	answer, err := f.try(r)
	f.gated(&f.locks.lateAnswers).pass()
	return answer, err
}

// try acquires if the lock is free or the owner's, or if that is what the first answer said.
func (f *fakeCluster) try(r *tenurev1.TryAcquireLockRequest) (*tenurev1.TryAcquireLockResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	refused, lost := f.locks.tries.next()
	if refused != nil {
		return nil, refused
	}
	answer := &tenurev1.TryAcquireLockResponse{Header: f.header(), Lock: &tenurev1.Lock{Key: r.GetKey()}}
	_, first, err := f.number(r.GetOptions())
	if err != nil {
		return nil, err
	}
	hold := f.locks.holds[r.GetKey()]
	if first == nil && hold != nil && !owns(hold, r.GetSessionId(), r.GetOptions()) {
		return answer, nil
	}
	p, err := f.acquire(&tenurev1.AcquireLockRequest{Key: r.GetKey(), SessionId: r.GetSessionId(), Options: r.GetOptions()})
	if err != nil {
		return nil, err
	}
	answer.Acquired, answer.Hold = true, p.hold
	return answer, lost
}

// owns tells whether a hold is that of a session and an owner.
func owns(hold *tenurev1.Hold, session string, o *tenurev1.CallOptions) bool {
	return hold.GetSequencer().GetSessionId() == session && hold.GetOwner() == o.GetOwner()
}

func (m *fakeMember) CancelWait(_ context.Context, r *tenurev1.CancelWaitRequest) (*tenurev1.CancelWaitResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locks.cancels++
	if _, _, err := f.number(r.GetOptions()); err != nil {
		return nil, err
	}
	answer := &tenurev1.CancelWaitResponse{Header: f.header()}
	session, owner := r.GetSessionId(), r.GetOptions().GetOwner()
	f.locks.places[r.GetKey()] = slices.DeleteFunc(f.locks.places[r.GetKey()], func(p *fakePlace) bool {
		own := p.session == session && p.owner == owner
		if own {
			answer.Cancelled = true
			close(p.granted)
		}
		return own
	})
	if hold := f.locks.holds[r.GetKey()]; owns(hold, session, r.GetOptions()) {
		answer.Hold = hold
	}
	return answer, nil
}

func (m *fakeMember) ReleaseLock(
	_ context.Context, r *tenurev1.ReleaseLockRequest,
) (*tenurev1.ReleaseLockResponse, error) {
	f := m.cluster
	f.gated(&f.locks.lateReleases).pass()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locks.releases = append(f.locks.releases, r)
	if f.locks.full > 0 {
		f.locks.full--
		return nil, refusal(codes.ResourceExhausted, tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL, "no")
	}
	refused, lost := f.locks.frees.next()
	if refused != nil {
		return nil, refused
	}
	if f.locks.small && r.GetValueOp() != nil {
		return nil, status.Error(codes.ResourceExhausted, "grpc: received message larger than max")
	}
	if _, _, err := f.number(r.GetOptions()); err != nil {
		return nil, err
	}
	hold := f.locks.holds[r.GetKey()]
	released := hold.GetSequencer().GetLockIndex() == r.GetLockIndex() && owns(hold, r.GetSessionId(), r.GetOptions())
	if released {
		delete(f.locks.holds, r.GetKey())
		f.locks.released = append(f.locks.released, r.GetKey())
		f.grant(r.GetKey())
	}
	return &tenurev1.ReleaseLockResponse{Header: f.header(), Released: released}, lost
}
