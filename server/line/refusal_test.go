package line_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// poor lets every call pass, but the caller has no share left for any refusal.
type poor struct {
	open
	cut chan struct{} // gets one for each cut
}

func (poor) Owe(context.Context, proto.Message) (func(), bool) { return func() {}, false }
func (p poor) Cut(context.Context)                             { p.cut <- struct{}{} }

// counting lets every call pass, and counts the refusals that are not sent yet.
type counting struct {
	open
	owed *atomic.Int64
}

func (c counting) Owe(context.Context, proto.Message) (func(), bool) {
	c.owed.Add(1)
	return func() { c.owed.Add(-1) }, true
}

// TestARefusalCountsUntilItIsSent refuses calls on a line that is not read, and reads it then; another line breaks before it is read.
func TestARefusalCountsUntilItIsSent(t *testing.T) {
	for name, read := range map[string]bool{"read": true, "broken": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const refused = 50
				owed := &atomic.Int64{}
				c := startWith(t, counting{owed: owed})
				request := &tenurev1.LineRequest{}
				for number := uint64(1); number <= refused; number++ {
					call := put(number, 1)
					call.RemainingTime = durationpb.New(0)
					request.Calls = append(request.Calls, call)
				}
				c.to <- request
				synctest.Wait()
				if got := owed.Load(); got != refused {
					t.Errorf("%d refusals count before they are read, want %d", got, refused)
				}
				if read {
					c.answers(t, refused)
				} else {
					c.gone()
				}
				synctest.Wait()
				if got := owed.Load(); got != 0 {
					t.Errorf("%d refusals count at the end", got)
				}
			})
		})
	}
}

// TestUnreadRefusalsBeyondTheShareCutTheConnection has calls fail whose client has no share left. A client that reads them is
// served, and one that sends few calls at a time is no longer read.
func TestUnreadRefusalsBeyondTheShareCutTheConnection(t *testing.T) {
	const failing = 1000
	fail := func(first, n uint64) *tenurev1.LineRequest {
		request := &tenurev1.LineRequest{}
		for number := first; number < first+n; number++ {
			c := put(number, 1)
			c.RemainingTime = durationpb.New(0)
			request.Calls = append(request.Calls, c)
		}
		return request
	}
	for name, tc := range map[string]struct {
		few        uint64
		reads, cut bool
	}{
		"many are read":        {100, true, false},
		"many are not read":    {failing, false, true},
		"one by one, not read": {1, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cut := make(chan struct{}, failing)
				c := startWith(t, poor{cut: cut})
				if !tc.reads {
					c.to <- fail(1, 1) // Its answer is being sent: all others queue.
					synctest.Wait()
				}
				sending := func() {
					for first := uint64(2); first < failing; first += tc.few {
						select {
						case c.to <- fail(first, tc.few):
						case <-c.ctx.Done():
							return
						}
						if tc.reads {
							c.answers(t, int(tc.few))
						}
					}
				}
				if tc.reads {
					sending()
				} else {
					go sending() // It may be stopped.
				}
				synctest.Wait()
				if got := len(cut) > 0; got != tc.cut {
					t.Errorf("cut is %v, want %v", got, tc.cut)
				}
			})
		})
	}
}
