package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

const (
	// movedInterval is how often a waiter near the front is told at most that its position changed.
	movedInterval = 250 * time.Millisecond
	// movedIdleMax is how seldom it is looked where such a waiter stands in a queue that does not move.
	movedIdleMax = 2 * time.Second
	// movedNear is how many stand near the front. Behind them it is told more seldom the further back, so that a long queue
	// costs its lock no speed.
	movedNear = 64
)

// errWaitOver ends the watch of a wait that has ended.
var errWaitOver = errors.New("wait is over")

// waiting is a place in a queue that a call waits on. It keeps nothing of the request that is large: a call may wait for days.
type waiting struct {
	acquire  *storev1.AcquireLock // without the value, which the grant finds in the state
	secret   []byte               // of the session, as the caller gave it
	place    uint64
	attached bool
	after    watch.Position // where the watch begins: before anything that may end the wait
	position uint32
}

// newWaiting returns the place that a command got or found; secret is what the caller showed.
func newWaiting(acquire *storev1.AcquireLock, secret []byte, result *storev1.Result) *waiting {
	done := result.GetAcquireLock()
	w := &waiting{
		acquire: &storev1.AcquireLock{
			Key: acquire.GetKey(), Session: acquire.GetSession(), Owner: acquire.GetOwner(), Mode: acquire.GetMode(), Permits: acquire.GetPermits(),
		},
		secret:   secret,
		place:    done.GetPlace().GetPlace(),
		attached: done.GetAttached(),
		after:    watch.Position{Revision: result.GetRevision(), Index: watch.Whole},
		position: done.GetPlace().GetPosition(),
	}
	if result.GetChanged() {
		// What the command itself granted belongs to the wait.
		w.after.Revision--
	}
	return w
}

// AcquireLock serves LockService. It proposes, and if the lock is not free it watches the lock until the place is granted
// or left. The queue is replicated state: the call only tells of it.
func (a *Locks) AcquireLock(
	r *tenurev1.AcquireLockRequest, stream grpc.ServerStreamingServer[tenurev1.AcquireLockResponse],
) error {
	return a.acquireLock(r, false, stream)
}

// acquireLock is AcquireLock for a key that goes with the last use of the lock, as that of a lock, or stays, as that of an
// election.
func (a *Locks) acquireLock(
	r *tenurev1.AcquireLockRequest, keepKey bool, stream grpc.ServerStreamingServer[tenurev1.AcquireLockResponse],
) error {
	ctx := stream.Context()
	// From the proposal on, the request is not looked at again, so that its memory is free while the call waits.
	leaves, secret := r.GetLeaveOnDisconnect(), r.GetOptions().GetSessionSecret()
	acquire, err := a.acquireFromProto(ctx, r)
	if err != nil {
		return err
	}
	acquire.Value = r.GetValue()
	acquire.Queue, acquire.KeepKey = true, keepKey
	change := call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: acquire}},
	}
	var result *storev1.Result
	if leaves {
		result, err = a.proposeOrLeave(ctx, tenurev1.LockService_AcquireLock_FullMethodName, change)
	} else {
		result, err = a.Propose(ctx, change)
	}
	if err != nil {
		return err
	}
	done := result.GetAcquireLock()
	if hold := done.GetHold(); hold != nil {
		return stream.Send(&tenurev1.AcquireLockResponse{
			Header: a.HeaderOf(result),
			Step:   &tenurev1.AcquireLockResponse_Granted{Granted: call.HoldToProto(hold, a.History(), a.Timers)},
		})
	}
	w := newWaiting(acquire, secret, result)
	if err = a.queued(ctx, w, result, stream.Send); err == nil {
		return nil
	}
	if leaves {
		a.leaveQueue(ctx, w)
	}
	return reason.AfterChange(err)
}

// queued tells that a call waits, and then what becomes of that.
func (a *Locks) queued(
	ctx context.Context, w *waiting, result *storev1.Result, send func(*tenurev1.AcquireLockResponse) error,
) error {
	place, err := a.placeOf(w)
	if err != nil {
		return err
	}
	err = send(&tenurev1.AcquireLockResponse{
		Header: a.HeaderOf(result),
		Step: &tenurev1.AcquireLockResponse_Queued{Queued: &tenurev1.LockQueuedStep{
			Place: place,
			Lock:  a.LockTimes(ctx, call.LockToProto(result.GetAcquireLock().GetLock(), a.History(), a.Timers)),
		}},
	})
	if err != nil {
		return err
	}
	return a.await(ctx, w, send)
}

// placeOf returns the place that a call waits on. One that was found, not made, has moved since it was made; so the call
// watches what comes after the present, and a takeover before that must be told here.
func (a *Locks) placeOf(w *waiting) (*tenurev1.Place, error) {
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	place := &tenurev1.Place{
		Key:       w.acquire.GetKey(),
		Place:     w.place,
		SessionId: call.SessionText(w.acquire.GetSession().GetSessionId()),
		Owner:     w.acquire.GetOwner(),
		Mode:      call.ModeToProto(w.acquire.GetMode()),
		Permits:   w.acquire.GetPermits(),
	}
	if id, idErr := storage.SessionIDFromBytes(w.acquire.GetSession().GetSessionId()); idErr == nil {
		record, _, readErr := s.Session(id)
		if readErr != nil {
			return nil, readErr
		}
		if w.attached { // The watch of any other call meets the takeover itself.
			if readErr = takenOver(w.acquire, record.GetEpoch()); readErr != nil {
				return nil, readErr
			}
		}
		place.SessionName = record.GetName()
	}
	waiter, err := s.Waiter(w.acquire.GetKey(), w.place)
	if err != nil {
		return nil, err
	}
	if waiter != nil {
		if w.attached {
			// The snapshot shows the place waiting, so what comes after it is all that counts.
			before, err := s.Position(w.acquire.GetKey(), w.place)
			if err != nil {
				return nil, err
			}
			w.position = uint32(before)
			w.after = watch.Position{Revision: s.At.Revision, Index: watch.Whole}
		}
		place.QueueTime = call.TimeToProto(waiter.GetQueueTimeMs())
	}
	place.Position = w.position
	return place, nil
}

// await waits until a place is granted or left, and sends what happens to it; the last message says how it ended. Nobody
// is woken by what happens to other places: where a waiter stands is looked up now and then.
func (a *Locks) await(ctx context.Context, w *waiting, send func(*tenurev1.AcquireLockResponse) error) error {
	teller := &placeTeller{api: a, waiting: w, send: send, told: w.position}
	defer teller.close()
	teller.mu.Lock()
	teller.lookLater(true)
	teller.mu.Unlock()
	selectors := watch.Selectors{Places: []watch.Place{{Key: w.acquire.GetKey(), Number: w.place}}}
	if id, err := storage.SessionIDFromBytes(w.acquire.GetSession().GetSessionId()); err == nil {
		// Whoever the session is taken from must not be told of what is granted to it from then on.
		selectors.Sessions = []storage.SessionID{id}
	}
	selectors = selectors.Normal()
	for {
		err := a.hub.Watch(ctx, watch.Request{Selectors: selectors, After: w.after, Near: true}, teller.take)
		if errors.Is(err, watch.ErrCompacted) || errors.Is(err, watch.ErrFar) {
			err = teller.lookUp()
		}
		if err != nil {
			return ignore(err, errWaitOver)
		}
	}
}

// placeTeller turns events of a lock into what happens to one place.
type placeTeller struct {
	api  *Locks
	send func(*tenurev1.AcquireLockResponse) error

	mu      sync.Mutex // guards what follows, and sending
	waiting *waiting
	told    uint32 // position that was told last
	closed  bool
	later   *time.Timer   // looks where the place stands
	moves   uint64        // of the queue, before it was looked last; zero: it was not
	pause   time.Duration // until it is looked again
}

// take looks at a batch of events.
func (t *placeTeller) take(b watch.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range b.Events {
		if err := t.look(e); err != nil {
			return err
		}
	}
	return nil
}

// look takes the event that ends the wait.
func (t *placeTeller) look(e *storev1.Event) error {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_SessionTakenOver:
		return t.superseded(kind.SessionTakenOver.GetEpoch())
	case *storev1.Event_LockGranted:
		step, err := t.api.grantedStep(t.waiting.acquire, call.GrantOf(e))
		if err != nil {
			return err
		}
		return t.end(e.GetRevision(), step)
	case *storev1.Event_LockLeft:
		lock, err := t.api.lockNow(t.waiting.acquire.GetKey())
		if err != nil {
			return err
		}
		return t.end(e.GetRevision(), &tenurev1.AcquireLockResponse{
			Step: &tenurev1.AcquireLockResponse_Rejected{Rejected: &tenurev1.LockRejectedStep{
				Cause:  tenurev1.WaitEndCause(kind.LockLeft.GetCause()),
				Reason: kind.LockLeft.GetReason(),
				Lock:   lock,
			}},
		})
	}
	return nil
}

// superseded ends the wait of a process whose session another one has taken over. The place stays: it is the session's.
func (t *placeTeller) superseded(epoch uint64) error {
	err := takenOver(t.waiting.acquire, epoch)
	t.closed = t.closed || err != nil
	return err
}

// end sends the last message.
func (t *placeTeller) end(revision uint64, step *tenurev1.AcquireLockResponse) error {
	t.closed = true
	step.Header = t.api.Header(t.api.Node.Store().Applied())
	step.Header.Revision = revision
	if err := t.send(step); err != nil {
		return err
	}
	return errWaitOver
}

// lookLater has the position looked up when it may be told again: the later, the longer the queue has not moved. The first in the queue moves no
// more. The caller holds mu, or nobody else knows t yet.
func (t *placeTeller) lookLater(moved bool) {
	if t.told == 0 {
		return
	}
	shortest := movedInterval * time.Duration(1+t.told/movedNear)
	if t.pause = min(2*t.pause, max(shortest, movedIdleMax)); moved || t.pause < shortest {
		t.pause = shortest
	}
	t.later = time.AfterFunc(t.pause, t.tellMoved)
}

// tellMoved looks where the place stands, and tells if it moved. What goes wrong here goes wrong for the watch, too, which
// ends the call. Close waits for it, so the store outlives the look.
func (t *placeTeller) tellMoved() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	moves := t.api.hub.Moves(t.waiting.acquire.GetKey()) + 1
	if moves == t.moves {
		t.lookLater(false)
		return
	}
	t.moves = moves
	position, revision, err := t.api.positionOf(t.waiting)
	if err == nil && position < t.told {
		t.told = position
		step := &tenurev1.AcquireLockResponse{
			Header: t.api.Header(t.api.Node.Store().Applied()),
			Step:   &tenurev1.AcquireLockResponse_Moved{Moved: &tenurev1.LockMovedStep{Position: t.told}},
		}
		step.Header.Revision = revision
		err = t.send(step)
	}
	if err == nil || errors.Is(err, errPlaceGone) {
		t.lookLater(true)
	}
}

// errPlaceGone says that a place is none any more; the event that tells why is on its way.
var errPlaceGone = errors.New("the place is gone")

// positionOf returns how many wait before a place, and the revision that shows it.
func (a *Locks) positionOf(w *waiting) (uint32, uint64, error) {
	s, err := a.LocalSnapshot()
	if err != nil {
		return 0, 0, err
	}
	defer a.CloseSnapshot(s)
	waiter, err := s.Waiter(w.acquire.GetKey(), w.place)
	if err != nil {
		return 0, 0, err
	}
	if waiter == nil {
		return 0, 0, errPlaceGone
	}
	before, err := s.Position(w.acquire.GetKey(), w.place)
	return uint32(before), s.At.Revision, err
}

// close keeps a late timer from sending.
func (t *placeTeller) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.later != nil {
		t.later.Stop()
	}
}

// ignore returns err unless it is the one that means nothing.
func ignore(err, nothing error) error {
	if errors.Is(err, nothing) {
		return nil
	}
	return err
}

// lockNow returns a lock as this member has it; nil if there is none.
func (a *Locks) lockNow(key string) (*tenurev1.Lock, error) {
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	info, _, err := s.Lock(key)
	if err != nil {
		return nil, err
	}
	return call.LockToProto(info.State, s.At.HistoryID, a.Timers), nil
}
