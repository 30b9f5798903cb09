package tenure

import (
	"context"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// abandonPatience bounds how long a call that failed waits until its place is given up.
const abandonPatience = 2 * time.Second

// abandoned is a place that is being given up, or the hold that it became.
type abandoned struct {
	// done is closed when the cluster has nothing left of it, or the session is over; what follows is set before.
	done    chan struct{}
	granted bool // Whether it became a hold first.
	known   bool // Whether the cluster said so.
}

// outcome returns what became of it, if that is known soon; it goes on behind.
func (a *abandoned) outcome() *abandoned {
	if a == nil {
		return &abandoned{} // It is somebody else's, too.
	}
	timer := time.NewTimer(abandonPatience)
	defer timer.Stop()
	select {
	case <-a.done:
		return a
	case <-timer.C:
		return &abandoned{}
	}
}

// giveUp gives up a place that nobody here waits for, or the hold that it became.
func (s *Session) giveUp(own ownName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holdings.owe(own, 0)
	s.giveUpOwed(own)
}

// giveUpOwed has what is owed under a name given up, in the background until the cluster knows or the session is over; nil if there is nothing to
// give up yet. Call it under mu, whenever somebody stops using the name.
func (s *Session) giveUpOwed(own ownName) *abandoned {
	last, now := s.holdings.takeOwed(own)
	if !now {
		return nil
	}
	a := &abandoned{done: make(chan struct{})}
	if !s.work.start(func(ctx context.Context) {
		defer close(a.done)
		defer s.left(own)
		s.leave(ctx, own, last, a)
	}) {
		s.leftLocked(own)
		close(a.done)
	}
	return a
}

// left notes that something was given back.
func (s *Session) left(own ownName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leftLocked(own)
}

// leftLocked is left under mu.
func (s *Session) leftLocked(own ownName) {
	s.holdings.left(own)
	s.giveUpOwed(own)
}

// leave cancels a wait, and releases what it became, until no request up to the last can make another one.
func (s *Session) leave(ctx context.Context, name ownName, last uint64, a *abandoned) {
	pauses := &backoff.Backoff{}
	for s.Err() == nil {
		// Once the cluster knows that the request is done it refuses it, however late it comes.
		mark, moved := s.window.mark()
		err := s.leaveOnce(ctx, name, a)
		switch {
		case err != nil:
			if !pauses.Wait(ctx) {
				return
			}
		case mark > last:
			a.known = true
			return
		default:
			select {
			case <-moved:
			case <-s.done:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *Session) leaveOnce(ctx context.Context, name ownName, a *abandoned) error {
	var answer *tenurev1.CancelWaitResponse
	err := s.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) (err error) {
		o.Owner = name.owner
		answer, err = tenurev1.NewLockServiceClient(l).CancelWait(ctx, &tenurev1.CancelWaitRequest{
			Key: name.key, SessionId: s.id, Options: o,
		})
		return err
	})
	hold := answer.GetHold()
	if err != nil || hold == nil {
		return err
	}
	s.mu.Lock()
	known := s.holdings.inherits(hold) || s.holdings.known(hold) != nil
	s.mu.Unlock()
	if known {
		return nil // It was there before: the process that had it may believe in it, or somebody here does by now.
	}
	a.granted = true
	return s.release(ctx, &tenurev1.ReleaseLockRequest{
		Key: name.key, SessionId: s.id, LockIndex: hold.GetSequencer().GetLockIndex(),
	}, name.owner)
}
