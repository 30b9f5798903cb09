package line_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/line"
)

// fromKey is the key of a context whose stream comes from a caller.
type fromKey struct{}

// several has lines of several callers.
type several struct{ open }

func (several) CallerOf(ctx context.Context) share.Caller {
	c, _ := ctx.Value(fromKey{}).(share.Caller)
	return c
}

// lineOf serves a line of a caller, and returns its client, who has read the bounds. Puts wait for let.
func lineOf(t *testing.T, s *line.Service, from string) *client {
	t.Helper()
	ctx, gone := context.WithCancel(context.WithValue(t.Context(), fromKey{}, (&share.Callers{}).OfText(from)))
	c := &client{ctx: ctx, to: make(chan *tenurev1.LineRequest), from: make(chan *tenurev1.LineResponse), gone: gone, err: make(chan error, 1)}
	go func() {
		c.err <- s.Line(c)
		gone()
	}()
	t.Cleanup(func() { gone(); synctest.Wait() })
	<-c.from
	return c
}

// many returns a message with so many calls.
func many(n int, one func(number uint64) *tenurev1.LineCall) *tenurev1.LineRequest {
	m := &tenurev1.LineRequest{}
	for i := range n {
		m.Calls = append(m.Calls, one(uint64(i+1)))
	}
	return m
}

// TestMessagesWithManyCallsTakeTurns has a caller send as many calls as make a turn, on two lines, while nothing is answered on the first.
func TestMessagesWithManyCallsTakeTurns(t *testing.T) {
	const few, lots = 64, 65
	puts := func(number uint64) *tenurev1.LineCall { return put(number, 1) }
	gets := func(number uint64) *tenurev1.LineCall { return get(number, "k") }
	for what, c := range map[string]struct {
		calls   int
		from    string
		at      time.Duration // when the calls on the second line are made
		letGone bool          // the calls on the first are made, or their line breaks
	}{
		"another message of the caller":                    {calls: lots, from: "10.0.0.1:1", at: time.Second},
		"another message of the caller, and the calls end": {calls: lots, from: "10.0.0.1:1", letGone: true},
		"few calls of the caller":                          {calls: few, from: "10.0.0.1:1"},
		"another caller":                                   {calls: lots, from: "10.0.0.2:1"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping, stop := context.WithCancel(t.Context())
				defer stop()
				let := make(chan struct{})
				s := line.New(line.Options{Gate: several{}, Stopping: stopping, KV: &keys{let: let}})
				first, second := lineOf(t, s, "10.0.0.1:1"), lineOf(t, s, c.from)
				began := time.Now()
				first.to <- many(lots, puts)
				synctest.Wait()
				second.to <- many(c.calls, gets)
				synctest.Wait()
				if c.letGone {
					select {
					case <-second.from:
						t.Error("calls are answered before those that have the turn were made")
					default:
					}
					close(let)
					first.answers(t, lots)
				}
				second.answers(t, c.calls)
				if took := time.Since(began); took != c.at {
					t.Errorf("the calls were made after %v, want %v", took, c.at)
				}
			})
		})
	}
}
