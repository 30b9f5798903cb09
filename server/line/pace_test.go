package line_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/line"
)

// slow has watches that begin when first lets them, and end when last does.
type slow struct {
	tenurev1.UnimplementedWatchServiceServer
	begun, canceled atomic.Int64
	first, last     chan struct{}
}

func (w *slow) Watch(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	w.begun.Add(1)
	<-w.first
	err := s.Send(&tenurev1.WatchResponse{})
	<-s.Context().Done()
	w.canceled.Add(1)
	<-w.last
	return err
}

// slowLine serves a line with such watches, and returns its client.
func slowLine(t *testing.T) (*client, *slow) {
	t.Helper()
	stopping, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	w := &slow{first: make(chan struct{}), last: make(chan struct{})}
	return lineOf(t, line.New(line.Options{Gate: several{}, Stopping: stopping, Watches: w}), "10.0.0.1:1"), w
}

// counted fails unless a count is as wanted once nothing goes on.
func counted(t *testing.T, what string, n *atomic.Int64, want int64) {
	t.Helper()
	synctest.Wait()
	if got := n.Load(); got != want {
		t.Errorf("%s: got %d watches, want %d", what, got, want)
	}
}

// TestManyWatchesBeginAndEndAFewAtATime begins and cancels more watches with one message than are to run at the same time.
func TestManyWatchesBeginAndEndAFewAtATime(t *testing.T) {
	const few, lots = 64, 200
	synctest.Test(t, func(t *testing.T) {
		c, w := slowLine(t)
		began := time.Now()
		// Without credit none sends its first message: it has begun when it would.
		c.to <- many(lots, func(number uint64) *tenurev1.LineCall { return watch(number, 0, 0, 0) })
		counted(t, "begun while none goes on", &w.begun, few)
		for range few / 2 {
			w.first <- struct{}{}
		}
		counted(t, "begun when half of them go on", &w.begun, few+few/2)
		close(w.first)
		counted(t, "begun when all go on", &w.begun, lots)
		m := &tenurev1.LineRequest{}
		for n := range uint64(lots) {
			m.Cancels = append(m.Cancels, n+1)
		}
		c.to <- m
		counted(t, "canceled while none ends", &w.canceled, few)
		close(w.last)
		counted(t, "canceled when they end", &w.canceled, lots)
		c.answers(t, lots)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v, want no waiting", took)
		}
	})
}

// TestATurnEndsWithItsWatches has watches canceled that have not begun, and then sends as much again: no turn lasts longer than its watches need.
func TestATurnEndsWithItsWatches(t *testing.T) {
	const lots = 65
	for what, few := range map[string]bool{"by the message that begins them": false, "one, by a message with few cancels": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, w := slowLine(t)
				began := time.Now()
				close(w.last)
				m := many(lots, func(number uint64) *tenurev1.LineCall { return watch(number, 0, 0, 0) })
				if few {
					c.to <- m
					for range lots / 2 { // So that the last begins, too.
						w.first <- struct{}{}
					}
					c.to <- &tenurev1.LineRequest{Cancels: []uint64{lots}}
				} else {
					for n := range uint64(lots) {
						m.Cancels = append(m.Cancels, n+1)
					}
					c.to <- m
				}
				synctest.Wait()
				close(w.first)
				synctest.Wait()
				c.to <- many(lots, func(number uint64) *tenurev1.LineCall { return watch(lots+number, 0, 0, 0) })
				counted(t, "begun in both turns", &w.begun, 2*lots)
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %v, want no waiting", took)
				}
			})
		})
	}
}

// TestWatchesThatDoNotBeginHoldOthersForASecond has watches that wait for what they read, as a linearizable one does without a leader.
func TestWatchesThatDoNotBeginHoldOthersForASecond(t *testing.T) {
	const few, lots = 64, 200
	synctest.Test(t, func(t *testing.T) {
		c, w := slowLine(t)
		defer close(w.last)
		defer close(w.first)
		c.to <- many(lots, func(number uint64) *tenurev1.LineCall { return watch(number, 0, 0, 0) })
		<-time.After(time.Second - time.Nanosecond)
		counted(t, "begun within a second", &w.begun, few)
		<-time.After(time.Nanosecond)
		counted(t, "begun after a second", &w.begun, lots)
		c.gone()
	})
}
