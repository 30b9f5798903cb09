package line

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// manyCalls is how many calls a message has at most that is taken without a turn.
	manyCalls = 64
	// turnsMax is how many messages with more calls are served at a time, on all lines: one of each caller.
	turnsMax = 64
	// turnLasts is how long a message has its turn at most: its calls may wait for a leader, or for what they read.
	turnLasts = time.Second
)

// turn is that of a message with many calls, until all of them are made. The goroutines that make calls run in the order in which they were started:
// without turns, a caller who starts 1 000 calls on each of many lines has everybody wait until all of them had a processor. A nil one has few calls.
type turn struct {
	left atomic.Int64 // calls that are not made, and the reader that starts them
	end  func()
}

// turn waits until a message may be taken.
func (l *line) turn(message *tenurev1.LineRequest) (*turn, error) {
	if len(message.GetCalls()) <= manyCalls {
		return nil, nil //nolint:nilnil // Most messages need none.
	}
	ctx := l.stream.Context()
	give, err := l.turns.Take(ctx, l.options.Gate.CallerOf(ctx))
	if err != nil {
		return nil, context.Cause(ctx)
	}
	end := sync.OnceFunc(give)
	late := time.AfterFunc(turnLasts, end)
	t := &turn{end: func() {
		late.Stop()
		end()
	}}
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
