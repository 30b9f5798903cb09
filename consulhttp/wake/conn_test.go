package wake_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/wake"
)

// busyMember counts the calls that it has, and answers them when it is told to.
type busyMember struct {
	grpc.ClientConnInterface
	calls  atomic.Int64
	answer chan struct{}
}

// Invoke waits until it may answer.
func (m *busyMember) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	m.calls.Add(1)
	<-m.answer
	return nil
}

// TestACallerLeavesTurnsForOthers makes more calls than there are turns, and then one of another caller, and one of another kind: these wait for
// nobody. What gets no turn in time fails.
func TestACallerLeavesTurnsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		member := &busyMember{answer: make(chan struct{})}
		conn := wake.NewConn(member, []int{8, 2}, func(method string, _ any) int { return len(method) })
		var mu sync.Mutex // guards ended
		ended := map[codes.Code]int{}
		call := func(who int, method string) {
			go func() {
				err := conn.Invoke(wake.WithCaller(t.Context(), caller(who)), method, nil, nil)
				mu.Lock()
				defer mu.Unlock()
				ended[status.Code(err)]++
			}()
			synctest.Wait()
		}
		has := func(what string, want int64) {
			t.Helper()
			if n := member.calls.Load(); n != want {
				t.Errorf("%s: the member has %d calls, want %d", what, n, want)
			}
		}
		for range 100 {
			call(0, "")
		}
		has("one alone gets half", 4)
		call(1, "")
		has("another one is served", 5)
		call(0, "x")
		has("so is another kind", 6)
		<-time.After(11 * time.Second)
		synctest.Wait()
		if ended[codes.DeadlineExceeded] != 96 {
			t.Errorf("after 11 s calls have ended so: %v, want that 96 were late", ended)
		}
		close(member.answer)
		synctest.Wait()
		if ended[codes.OK] != 6 {
			t.Errorf("in the end calls have ended so: %v, want that 6 were answered", ended)
		}
		call(0, "")
		has("all turns are given back", 7)
	})
}
