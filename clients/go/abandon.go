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

// ownName names what a session has of a lock: a hold or a place.
type ownName struct {
	key   string // With namespace.
	owner string
}

// abandoned is a place that is being given up, or the hold that it became.
type abandoned struct {
	// done is closed when the cluster has nothing left of it, or the session is over; what follows is set before.
	done    chan struct{}
	granted bool // Whether it became a hold first.
	known   bool // Whether the cluster said so.
}

// abandon gives up a place in a queue, or the hold that it became, in the background until the cluster knows or the session is
// over. Last is the number of the last request that may still be on its way to make such a place.
func (s *Session) abandon(name ownName, last uint64) *abandoned {
	a := &abandoned{done: make(chan struct{})}
	s.mu.Lock()
	s.leaving[name]++
	s.mu.Unlock()
	end := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leftLocked(name)
		close(a.done)
	}
	started := s.work.start(func(ctx context.Context) {
		defer end()
		s.leave(ctx, name, last, a)
	})
	if !started {
		end()
	}
	return a
}

// leftLocked notes that something is given back. Call it under mu.
func (s *Session) leftLocked(name ownName) {
	if s.leaving[name]--; s.leaving[name] == 0 {
		delete(s.leaving, name)
	}
}

// leave cancels a wait, and releases what it became, until no request can make another one.
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
	a.granted = true
	return s.release(ctx, &tenurev1.ReleaseLockRequest{
		Key: name.key, SessionId: s.id, LockIndex: hold.GetSequencer().GetLockIndex(),
	}, name.owner)
}

// awaitGivenBack waits until what the session had under the same name, and gave up, is given back: an acquire would find it again.
func (s *Session) awaitGivenBack(ctx context.Context, own ownName) error {
	for {
		s.mu.Lock()
		waiting := s.leaving[own] > 0
		for name, o := range s.orphans {
			waiting = waiting || name.key == own.key && o.owner == own.owner
		}
		state := s.state
		s.mu.Unlock()
		switch {
		case !waiting:
			return nil
		case state == StateClosed:
			return s.over()
		case !backoff.Pause(ctx, givenBackEvery):
			return interrupted(ctx, false, nil)
		}
	}
}

// givenBackEvery is how often an acquire looks whether it may begin.
const givenBackEvery = 25 * time.Millisecond

// beginWait notes a wait, which the function that is returned ends; an error says that the session begins none any more.
func (s *Session) beginWait(w *waiter, cancel context.CancelCauseFunc) (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leavesQueues || s.state == StateClosed {
		return nil, s.overLocked()
	}
	s.waits[w] = cancel
	s.waiting.Add(1)
	return func() {
		s.mu.Lock()
		delete(s.waits, w)
		s.mu.Unlock()
		s.waiting.Done()
	}, nil
}

// shared tells whether what an acquire has of its lock is another wait's or a Held's, too.
func (s *Session) shared(own ownName, wait *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.waits {
		if other != wait && other.name() == own {
			return true
		}
	}
	for h := range s.helds {
		if h.sequencer.GetKey() == own.key && h.owner == own.owner {
			return true
		}
	}
	return false
}

// leaveQueues ends all waits, and waits until their places are given up, as far as members answer.
func (s *Session) leaveQueues() {
	s.mu.Lock()
	s.leavesQueues = true
	for _, cancel := range s.waits {
		cancel(s.overLocked())
	}
	s.mu.Unlock()
	s.waiting.Wait()
}
