package line

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// manyCalls is how many calls, and cancels, a message has at most that is taken without a turn.
	manyCalls = 64
	// goingMax is how many calls with parts are begun at a time, or ended, in a turn.
	goingMax = 64
	// turnsMax is how many messages with more calls are served at a time, on all lines: one of each caller.
	turnsMax = 64
	// turnLasts is how long a message has its turn at most: its calls may wait for a leader, or for what they read.
	turnLasts = time.Second
)

// turn is that of a message with many calls or cancels, until all of them are made. The goroutines that make calls run in the order in which they were
// started: without turns, a caller who starts 1 000 calls on each of many lines has everybody wait until all of them had a processor. A nil one has few
// calls.
type turn struct {
	left  atomic.Int64  // calls that are not made, and the reader that starts them
	going atomic.Int64  // those of them that have parts
	fewer chan struct{} // 1 slot: they have become few
	over  chan struct{} // closed with the turn
	end   func()
}

// turn waits until a message may be taken.
func (l *line) turn(message *tenurev1.LineRequest) (*turn, error) {
	if max(len(message.GetCalls()), len(message.GetCancels())) <= manyCalls {
		return nil, nil //nolint:nilnil // Most messages need none.
	}
	ctx := l.stream.Context()
	give, err := l.turns.Take(ctx, l.options.Gate.CallerOf(ctx))
	if err != nil {
		return nil, context.Cause(ctx)
	}
	t := &turn{fewer: make(chan struct{}, 1), over: make(chan struct{})}
	end := sync.OnceFunc(func() {
		close(t.over)
		give()
	})
	late := time.AfterFunc(turnLasts, end)
	t.end = func() {
		late.Stop()
		end()
	}
	t.join()
	return t, nil
}

// join says that there is one more call to be made.
func (t *turn) join() {
	if t != nil {
		t.left.Add(1)
	}
}

// leave says that a call was made.
func (t *turn) leave() {
	if t != nil && t.left.Add(-1) == 0 {
		t.end()
	}
}

// joinGoing is join for a call with parts, which is made when it has come to its first part; and for its end.
func (t *turn) joinGoing() {
	if t != nil {
		t.going.Add(1)
		t.join()
	}
}

// leaveGoing is leave for those.
func (t *turn) leaveGoing() {
	if t == nil {
		return
	}
	if t.going.Add(-1) == goingMax/2 {
		select {
		case t.fewer <- struct{}{}:
		default:
		}
	}
	t.leave()
}

// pace waits while too many calls with parts are being made, until they are half as many, or the turn is over: a line may have 4 096 of them.
func (t *turn) pace(ctx context.Context) {
	if t == nil || t.going.Load() < goingMax {
		return
	}
	for t.going.Load() > goingMax/2 {
		select {
		case <-t.fewer:
		case <-t.over:
			return
		case <-ctx.Done():
			return
		}
	}
}
