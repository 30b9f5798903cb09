package wake

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenure-io/tenure/internal/share"
)

// joinsMax is how many watches of others a request waits with that end without an answer for it. Then it opens one that it shares with no other.
const joinsMax = 3

// Key names requests that may wait with one watch: they show the same credentials, and the same events wake them.
type Key struct{ Credentials, Events string }

// End is how a watch ended. The zero End says that it is not known whether something has changed.
type End struct {
	// Revision is that of the event that ended the watch; 0 if none did.
	Revision uint64
	// Err says why the watch could not begin, or go on.
	Err error
	// Own says that Err is about the share of the caller that opened the watch: others may have better luck.
	Own bool
	// All says that Err is about all requests that wait with the watch, whichever revision they wait after.
	All bool
}

// Wait is what a request waits for.
type Wait struct {
	Key    Key
	Caller share.Caller
	// After is the revision after which a change counts.
	After uint64
	// Watch returns at the first event after After that counts, or when its context ends. The values of the context are those of the request.
	Watch func(ctx context.Context) End
}

// Watches are the watches with which requests wait. Its methods may be called by any goroutine.
type Watches struct {
	seen atomic.Uint64 // the cluster has this revision

	mu   sync.Mutex // guards what follows, and the users of all watches; no other lock is taken under it
	open map[Key][]*Watch
	n    int
}

// NewWatches returns an empty set.
func NewWatches() *Watches { return &Watches{open: map[Key][]*Watch{}} }

// Watch is one watch of requests that wait for the same change.
type Watch struct {
	wait  Wait // of the request that opened it
	users int
	stop  context.CancelFunc
	done  chan struct{} // closed once end is set
	end   End

	answers
}

// End is how the watch ended. It must have.
func (w *Watch) End() End { return w.end }

// Saw notes a revision that the cluster has: requests that wait for what comes after it wait for no future.
func (s *Watches) Saw(revision uint64) {
	for {
		seen := s.seen.Load()
		if revision <= seen || s.seen.CompareAndSwap(seen, revision) {
			return
		}
	}
}

// Open returns how many watches are open.
func (s *Watches) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// Await waits until a watch has ended in a way that answers the request, and returns the watch. An error is that of the context.
func (s *Watches) Await(ctx context.Context, wait Wait) (*Watch, error) {
	for joins := 0; ; joins++ {
		w := s.join(ctx, wait, joins >= joinsMax)
		select {
		case <-w.done:
			s.leave(w)
		case <-ctx.Done():
			s.leave(w)
			return nil, ctx.Err()
		}
		if w.answersTo(wait) {
			return w, nil
		}
	}
}

// answersTo reports whether the end of the watch answers a request that waited with it.
func (w *Watch) answersTo(wait Wait) bool {
	switch {
	case w.end.All:
		return true
	case w.end.Revision > 0:
		return w.end.Revision > wait.After || w.wait.After == wait.After
	case w.end.Err != nil && w.end.Own:
		return w.wait.Caller == wait.Caller
	default:
		// What is not known of changes after one revision may be known of those after a later one.
		return w.wait.After == wait.After
	}
}

// join returns a watch that sees what a request waits for: one that is open, or a new one. One that is private is shared with no other.
func (s *Watches) join(ctx context.Context, wait Wait, private bool) *Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !private {
		for _, w := range s.open[wait.Key] {
			// Its member has not said that there is a later revision, so it must be known.
			if w.wait.After == wait.After || w.wait.After < wait.After && wait.After <= s.seen.Load() {
				w.users++
				return w
			}
		}
	}
	w := &Watch{wait: wait, users: 1, done: make(chan struct{})}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.n++
	if !private {
		s.open[wait.Key] = append(s.open[wait.Key], w)
	}
	go func() {
		w.end = wait.Watch(ctx)
		s.mu.Lock()
		s.n--
		s.close(w)
		s.mu.Unlock()
		close(w.done)
	}()
	return w
}

// close makes sure that nobody joins a watch any more. The caller holds mu.
func (s *Watches) close(w *Watch) {
	left := slices.DeleteFunc(s.open[w.wait.Key], func(other *Watch) bool { return other == w })
	if len(left) == 0 {
		delete(s.open, w.wait.Key)
		return
	}
	s.open[w.wait.Key] = left
}

// leave ends a request's part in a watch. The last one waits until the watch has ended.
func (s *Watches) leave(w *Watch) {
	s.mu.Lock()
	w.users--
	last := w.users == 0
	if last {
		s.close(w)
	}
	s.mu.Unlock()
	if last {
		w.stop()
		<-w.done
	}
}
