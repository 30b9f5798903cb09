package wake_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tenure-io/tenure/consulhttp/wake"
	"github.com/tenure-io/tenure/internal/share"
)

// caller returns the caller with a number.
func caller(i int) share.Caller { return share.Callers{}.OfText(fmt.Sprintf("10.0.0.%d:1", i)) }

// scene is watches of a cluster whose events a test makes.
type scene struct {
	*wake.Watches
	opened atomic.Int64
	ends   chan wake.End // of the watches, in any order
}

func newScene(seen uint64) *scene {
	s := &scene{Watches: wake.NewWatches(), ends: make(chan wake.End)}
	s.Saw(seen)
	return s
}

// wait waits as a request of a caller does, and returns where the revision comes that woke it; 0 stands for an end without an event.
func (s *scene) wait(ctx context.Context, credentials string, from share.Caller, after uint64) <-chan uint64 {
	out := make(chan uint64, 1)
	go func() {
		defer close(out)
		w, err := s.Await(ctx, wake.Wait{
			Key: wake.Key{Credentials: credentials, Events: "k"}, Caller: from, After: after,
			Watch: func(ctx context.Context) wake.End {
				s.opened.Add(1)
				select {
				case end := <-s.ends:
					return end
				case <-ctx.Done():
					return wake.End{Err: ctx.Err()}
				}
			},
		})
		if err == nil {
			out <- w.End().Revision
		}
	}()
	return out
}

// ended returns whether a wait has ended, and the revision.
func ended(c <-chan uint64) (revision uint64, ended bool) {
	select {
	case revision, ended = <-c:
		return revision, ended
	default:
		return 0, false
	}
}

// TestRequestsForTheSameShareAWatch lets a thousand requests from many addresses wait: they open one watch, and its event wakes all.
func TestRequestsForTheSameShareAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		var waits []<-chan uint64
		for i := range 1000 {
			waits = append(waits, s.wait(t.Context(), "me", caller(i%200), uint64(5+i%5)))
			synctest.Wait()
		}
		if s.opened.Load() != 1 || s.Open() != 1 {
			t.Errorf("%d watches were opened, and %d are open; want one", s.opened.Load(), s.Open())
		}
		s.ends <- wake.End{Revision: 10}
		synctest.Wait()
		for i, w := range waits {
			if revision, woken := ended(w); !woken || revision != 10 {
				t.Fatalf("request %d: woken %v by %d, want by 10", i, woken, revision)
			}
		}
		if s.Open() != 0 {
			t.Errorf("%d watches are open at the end", s.Open())
		}
	})
}

// TestWhatIsNotTheSameIsNotShared opens watches that must be apart.
func TestWhatIsNotTheSameIsNotShared(t *testing.T) {
	tests := map[string]struct {
		credentials string
		after       uint64
	}{
		"other credentials":                      {"other", 5},
		"an index before the watch":              {"me", 4},
		"an index that the cluster may not have": {"me", 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(9)
				ctx, cancel := context.WithCancel(t.Context())
				s.wait(ctx, "me", caller(1), 5)
				synctest.Wait()
				s.wait(ctx, tc.credentials, caller(1), tc.after)
				synctest.Wait()
				if s.Open() != 2 {
					t.Errorf("%d watches are open, want two", s.Open())
				}
				cancel()
				synctest.Wait()
				if s.Open() != 0 {
					t.Errorf("%d watches are open once nobody waits", s.Open())
				}
			})
		})
	}
}

// TestAnEventThatARequestHasSeenDoesNotWakeIt joins a watch that is behind: its event is of before the request's index.
func TestAnEventThatARequestHasSeenDoesNotWakeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		early := s.wait(t.Context(), "me", caller(1), 5)
		synctest.Wait()
		late := s.wait(t.Context(), "me", caller(1), 8)
		synctest.Wait()
		s.ends <- wake.End{Revision: 7}
		synctest.Wait()
		if revision, woken := ended(early); !woken || revision != 7 {
			t.Errorf("the early one: woken %v by %d, want by 7", woken, revision)
		}
		if revision, woken := ended(late); woken {
			t.Errorf("the late one was woken by %d", revision)
		}
		s.ends <- wake.End{Revision: 12}
		synctest.Wait()
		if revision, woken := ended(late); !woken || revision != 12 {
			t.Errorf("the late one: woken %v by %d, want by 12", woken, revision)
		}
	})
}

// TestWhatIsUnknownOfAnOlderIndexIsAskedAgain ends a watch whose history is gone: that says nothing of those that joined with a later index.
func TestWhatIsUnknownOfAnOlderIndexIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		old := s.wait(t.Context(), "me", caller(1), 5)
		synctest.Wait()
		later := s.wait(t.Context(), "me", caller(1), 8)
		synctest.Wait()
		s.ends <- wake.End{Err: errors.New("compacted")}
		synctest.Wait()
		if _, over := ended(old); !over {
			t.Error("the request of the watch waits on")
		}
		if _, over := ended(later); over || s.opened.Load() != 2 {
			t.Errorf("the later one has ended: %v; %d watches were opened, want two", over, s.opened.Load())
		}
		s.ends <- wake.End{Revision: 9}
		synctest.Wait()
		if revision, _ := ended(later); revision != 9 {
			t.Errorf("the later one: woken by %d, want 9", revision)
		}
	})
}

// TestARefusalForAShareIsOfItsCaller refuses the watch that a caller without a share opens: another caller that has joined it gets its own.
func TestARefusalForAShareIsOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		greedy := s.wait(t.Context(), "me", caller(1), 5)
		synctest.Wait()
		other := s.wait(t.Context(), "me", caller(2), 5)
		synctest.Wait()
		s.ends <- wake.End{Err: errors.New("no room"), Own: true}
		synctest.Wait()
		if _, over := ended(greedy); !over {
			t.Error("the refused one waits on")
		}
		if _, over := ended(other); over {
			t.Error("the other one was refused, too")
		}
		s.ends <- wake.End{Revision: 9}
		synctest.Wait()
		if revision, _ := ended(other); revision != 9 {
			t.Errorf("the other one: woken by %d, want 9", revision)
		}
	})
}

// TestAnEndForAllAnswersAll ends a watch for a reason that is about all that wait with it, such as that rights changed: whichever revision they wait after.
func TestAnEndForAllAnswersAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		var waits []<-chan uint64
		for i := range 5 {
			waits = append(waits, s.wait(t.Context(), "me", caller(i), uint64(5+i)))
			synctest.Wait()
		}
		s.ends <- wake.End{Err: errors.New("rights changed"), All: true}
		synctest.Wait()
		for i, w := range waits {
			if _, over := ended(w); !over {
				t.Errorf("request %d waits on", i)
			}
		}
		if s.opened.Load() != 1 {
			t.Errorf("%d watches were opened, want one", s.opened.Load())
		}
	})
}

// TestWhoLeavesDoesNotEndTheWatchOfOthers ends the request that opened a watch.
func TestWhoLeavesDoesNotEndTheWatchOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(9)
		ctx, leave := context.WithCancel(t.Context())
		s.wait(ctx, "me", caller(1), 5)
		synctest.Wait()
		other := s.wait(t.Context(), "me", caller(2), 5)
		synctest.Wait()
		leave()
		synctest.Wait()
		if s.Open() != 1 {
			t.Errorf("%d watches are open, want one", s.Open())
		}
		s.ends <- wake.End{Revision: 9}
		synctest.Wait()
		if revision, _ := ended(other); revision != 9 || s.opened.Load() != 1 {
			t.Errorf("woken by %d with %d watches opened, want by 9 with one", revision, s.opened.Load())
		}
	})
}

// TestAnAnswerIsMadeOnce makes answers for what one event has woken.
func TestAnAnswerIsMadeOnce(t *testing.T) {
	gone, left := context.WithCancel(t.Context())
	left()
	tests := map[string]struct {
		do   func(n int64) (any, bool, error) // for the n-th that is made
		ctx  context.Context                  // of the first
		want []any
		made int64
	}{
		"for all":                           {func(n int64) (any, bool, error) { return n, true, nil }, t.Context(), []any{int64(1), int64(1), int64(1)}, 1},
		"for each, if it is not for others": {func(n int64) (any, bool, error) { return n, false, nil }, t.Context(), []any{int64(1), int64(2), int64(3)}, 3},
		"a failure is one, too":             {func(int64) (any, bool, error) { return nil, false, errors.New("no") }, t.Context(), []any{nil, nil, nil}, 1},
		"again, if the first has gone":      {func(n int64) (any, bool, error) { return n, n > 1, map[bool]error{true: gone.Err()}[n == 1] }, gone, []any{int64(1), int64(2), int64(2)}, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(9)
				done := make(chan *wake.Watch, 1)
				go func() {
					w, err := s.Await(t.Context(), wake.Wait{After: 5, Watch: func(context.Context) wake.End { return wake.End{Revision: 6} }})
					if err != nil {
						t.Error(err)
					}
					done <- w
				}()
				w := <-done
				var made int64
				for i, want := range tc.want {
					ctx := t.Context()
					if i == 0 {
						ctx = tc.ctx
					}
					if got, _ := w.Once(ctx, "a", func() (any, bool, error) { made++; return tc.do(made) }); got != want {
						t.Errorf("request %d got %v, want %v", i, got, want)
					}
				}
				if made != tc.made {
					t.Errorf("%d answers were made, want %d", made, tc.made)
				}
			})
		})
	}
}
