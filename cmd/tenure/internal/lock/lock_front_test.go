package lock

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What people are told of a lock that "a" holds, without and with where that runs.
const (
	heldText  = `held by "a" (session s) since 2026-11-21T05:41:45Z`
	whereText = `held by "a" (session s, host h, pid 7) since 2026-11-21T05:41:45Z`
)

// waiting is a place in a queue of a member that answers how the lock is after a while, in fake time.
type waiting struct {
	*place

	held  *tenurev1.Lock
	asked atomic.Int64 // How often the lock was asked for.
	said  []string     // What people were told; the place's mu guards it.
}

// inQueue runs a test with a place in a queue.
func inQueue(t *testing.T, answersAfter time.Duration, test func(t *testing.T, w *waiting)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{held: &tenurev1.Lock{
			Key: "k", Holders: 1, Waiters: 3,
			Holds: []*tenurev1.Hold{{
				SessionName: "a", Sequencer: &tenurev1.Sequencer{SessionId: "s"},
				GrantTime: timestamppb.New(time.Date(2026, 11, 21, 5, 41, 45, 0, time.UTC)),
			}},
		}}
		member := &fake.Member{
			OnGetLock: func(ctx context.Context, _ *tenurev1.GetLockRequest) (*tenurev1.GetLockResponse, error) {
				w.asked.Add(1)
				answer := time.NewTimer(answersAfter)
				defer answer.Stop()
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-answer.C:
				}
				return &tenurev1.GetLockResponse{Lock: w.held, Sessions: []*tenurev1.Session{
					{SessionId: "s", Metadata: map[string]string{"host": "h", "pid": "7"}},
				}}, nil
			},
			OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
				<-s.Context().Done()
				return s.Context().Err()
			},
		}
		listener := bufconn.Listen(1 << 16)
		member.ServeOn(t, listener)
		client, err := tenure.Open("tenure://m:1", tenure.WithFixedMembers(),
			tenure.WithDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		}()
		w.place = &place{queue: &lockQueue{
			session: &session.Own{Session: &tenure.Session{}, Client: client}, key: "k", what: "it", timeout: fake.Patience,
			note: func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
		}}
		defer w.leave()
		test(t, w)
	})
}

// begin tells that the wait begins in the queue.
func (w *waiting) begin(ctx context.Context, position int) {
	w.tell(ctx, tenure.Queued{Position: position, Lock: &tenure.LockInfo{Message: w.held}})
}

// demand demands that people were told this alone, after what was begun has been done as far as it can be in this moment.
func (w *waiting) demand(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.said, want) {
		t.Errorf("said %q, want %q", w.said, want)
	}
}

// The library reads no grant while it tells of the place, and a wait that is over leaves nobody who goes on to tell.
func TestALookAtTheHoldersHoldsNoWaitUp(t *testing.T) {
	inQueue(t, time.Hour, func(t *testing.T, w *waiting) {
		began := time.Now()
		w.begin(t.Context(), 0)
		if took := time.Since(began); took != 0 {
			t.Errorf("the library waits for %v until it is told", took)
		}
		synctest.Wait()
		if n := w.asked.Load(); n != 1 {
			t.Errorf("asked %d times, want it once", n)
		}
		w.leave()
		if took := time.Since(began); took != 0 {
			t.Errorf("the wait goes on for %v after its end", took)
		}
		if got, want := w.queue.reason(), heldText+", position 1 of 3"; got != want {
			t.Errorf("got the reason %q, want %q", got, want)
		}
		w.begin(t.Context(), 0)
		w.begin(t.Context(), 2)
		<-time.NewTimer(2 * holderMax).C
		w.demand(t)
		if n := w.asked.Load(); n != 1 {
			t.Errorf("asked %d times, want it never after the end", n)
		}
	})
}

// Without an answer people are told what is known.
func TestTheFirstIsToldOfTheHolderAlsoWithoutAnAnswer(t *testing.T) {
	inQueue(t, time.Hour, func(t *testing.T, w *waiting) {
		w.begin(t.Context(), 0)
		w.demand(t)
		<-time.NewTimer(holderMax).C
		w.demand(t, "Waiting for it: "+heldText+", position 1 of 3")
	})
}

// The look of a place that is another one by now tells nothing.
func TestNothingOlderIsToldAfterANewerPlace(t *testing.T) {
	inQueue(t, holderMax/2, func(t *testing.T, w *waiting) {
		w.begin(t.Context(), 0)
		synctest.Wait()
		w.begin(t.Context(), 2)
		<-time.NewTimer(2 * holderMax).C
		w.demand(t, "Waiting for it: "+heldText+", position 3 of 3")
	})
}

// A thousand who wait for a lock ask for it once, not a thousand times.
func TestOnlyTheFirstInTheQueueAsksWhereTheHolderRuns(t *testing.T) {
	inQueue(t, 0, func(t *testing.T, w *waiting) {
		w.begin(t.Context(), 2)
		w.tell(t.Context(), tenure.Queued{Position: 1})
		behind := []string{"Waiting for it: " + heldText + ", position 3 of 3", "Waiting for it: position 2"}
		w.demand(t, behind...)
		if n := w.asked.Load(); n != 0 {
			t.Errorf("asked %d times behind the first, want it never", n)
		}
		w.begin(t.Context(), 0)
		w.demand(t, append(behind, "Waiting for it: "+whereText+", position 1 of 3")...)
		if w.asked.Load() == 0 {
			t.Error("the first did not ask")
		}
	})
}
