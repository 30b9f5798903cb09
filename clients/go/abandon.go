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
	custody *custody
	own     ownName
	last    uint64 // The number up to which a request may still make another place.

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

// leave cancels a wait, and releases what it became, until no request up to the last can make another one.
func (a *abandoned) leave(ctx context.Context) {
	s, pauses := a.custody.session, &backoff.Backoff{}
	for s.Err() == nil {
		// Once the cluster knows that the request is done it refuses it, however late it comes.
		mark, moved := s.calls.window.mark()
		err := a.leaveOnce(ctx)
		switch {
		case err != nil:
			if !pauses.Wait(ctx) {
				return
			}
		case mark > a.last:
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

// leaveOnce asks once to cancel the wait.
func (a *abandoned) leaveOnce(ctx context.Context) error {
	s := a.custody.session
	var answer *tenurev1.CancelWaitResponse
	err := s.calls.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) (err error) {
		o.Owner = a.own.owner
		answer, err = tenurev1.NewLockServiceClient(l).CancelWait(ctx, &tenurev1.CancelWaitRequest{
			Key: a.own.key, SessionId: s.id, Options: o,
		})
		return err
	})
	hold := answer.GetHold()
	if err != nil || hold == nil {
		return err
	}
	s.mu.Lock()
	known := a.custody.holdings.inherits(hold) || a.custody.holdings.known(hold) != nil
	s.mu.Unlock()
	if known {
		return nil // It was there before: the process that had it may believe in it, or somebody here does by now.
	}
	a.granted = true
	return a.custody.release(ctx, &returning{owner: a.own.owner, request: &tenurev1.ReleaseLockRequest{
		Key: a.own.key, SessionId: s.id, LockIndex: hold.GetSequencer().GetLockIndex(),
	}})
}
