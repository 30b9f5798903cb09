package tenure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// taking is a way to take a lock.
type taking func(ctx context.Context, l *tenure.Lock) (*tenure.Held, error)

func acquire(ctx context.Context, l *tenure.Lock) (*tenure.Held, error) { return l.Acquire(ctx) }

func try(ctx context.Context, l *tenure.Lock) (*tenure.Held, error) {
	held, _, err := l.TryAcquire(ctx)
	return held, err
}

// taken is what came of it.
type taken struct {
	held *tenure.Held
	err  error
}

// inBackground takes a lock in the background.
func (take taking) inBackground(ctx context.Context, l *tenure.Lock) <-chan taken {
	result := make(chan taken, 1)
	go func() {
		held, err := take(ctx, l)
		result <- taken{held: held, err: err}
	}()
	synctest.Wait()
	return result
}

// demandUndecided demands that a lock is neither taken nor refused yet.
func demandUndecided(t *testing.T, result <-chan taken) {
	t.Helper()
	synctest.Wait()
	if len(result) > 0 {
		t.Error("taken too early")
	}
}

// demandHeld demands that a lock was taken, and that this is what the cluster has.
func (b *bubble) demandHeld(t *testing.T, key string, got taken) {
	t.Helper()
	b.mu.Lock()
	hold := b.locks.holds[key]
	b.mu.Unlock()
	if got.err != nil || got.held == nil || !got.held.Safe() || hold == nil || got.held.LockIndex() != hold.GetSequencer().GetLockIndex() {
		t.Errorf("took %+v, while %v is held", got, hold)
	}
}

// unexpired keeps the cluster from expiring the session.
func (b *bubble) unexpired() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[b.session.ID()].deadline = time.Now().Add(24 * time.Hour)
}

func TestAHoldThatIsBeingReleasedIsNotTakenForANewOne(t *testing.T) {
	tests := map[string]struct {
		take   taking
		before bool // Whether it is applied before the release begins, and answered after.
	}{
		"by an acquire after the release began":  {acquire, false},
		"by a try after the release began":       {try, false},
		"by a try whose answer waited meanwhile": {try, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				lock := b.session.Lock("a", tenure.WithOwner("x"))
				first, err := lock.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				release := b.hold(&b.locks.lateReleases)
				defer release()
				var second <-chan taken
				if test.before {
					answer := b.hold(&b.locks.lateAnswers)
					defer answer()
					second = test.take.inBackground(t.Context(), lock)
					time.AfterFunc(2*time.Second, answer) // While the release is under way.
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := first.Release(ctx); !errors.Is(err, tenure.ErrOutcomeUnknown) {
					t.Fatalf("released: %v", err)
				}
				if !test.before {
					second = test.take.inBackground(t.Context(), lock)
				}
				pass(2 * time.Second)
				demandUndecided(t, second)
				release()
				b.demandHeld(t, "app/a", <-second)
			})
		})
	}
}

func TestATryWhoseAnswerComesAfterALapseTakesTheLockAnew(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lock := b.session.Lock("a", tenure.WithOwner("x"))
		first, err := lock.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.unexpired()
		answer := b.hold(&b.locks.lateAnswers)
		defer answer()
		second := taking(try).inBackground(t.Context(), lock)
		b.each(func(m *fakeMember) { m.Refuse(true) })
		<-first.Lost()
		b.each(func(m *fakeMember) { m.Refuse(false) })
		pass(3 * time.Second) // The hold is given back, and the try made again.
		answer()              // It is the first answer.
		b.demandHeld(t, "app/a", <-second)
		if first.Safe() {
			t.Error("what ended is safe again")
		}
	})
}

func TestWhatIsLostBeforeItsGrantComesIsTakenAnew(t *testing.T) {
	tests := map[string]func(b *bubble){
		"as a hint tells": func(b *bubble) {
			b.breakLock("app/a", true)
			pass(ttl / 2)
		},
		"as is seen after the connection broke": func(b *bubble) {
			b.breakLock("app/a", false)
			b.each(func(m *fakeMember) { m.Cut() })
			pass(time.Second)
		},
	}
	for name, lose := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				answer := b.hold(&b.locks.lateAnswers)
				defer answer()
				result := taking(try).inBackground(t.Context(), b.session.Lock("a"))
				lose(b)
				answer()
				b.demandHeld(t, "app/a", <-result)
			})
		})
	}
}

func TestWhatAnotherCallOfTheNameIsToldOfIsNotGivenUp(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lock := b.session.Lock("a", tenure.WithOwner("x"))
		answer := b.hold(&b.locks.lateAnswers)
		defer answer()
		told := taking(try).inBackground(t.Context(), lock)
		apply := b.hold(&b.locks.late)
		defer apply()
		ctx, cancel := context.WithCancel(t.Context())
		given := taking(acquire).inBackground(ctx, lock)
		cancel()
		if got := <-given; !errors.Is(got.err, context.Canceled) {
			t.Errorf("gave up with %v", got.err)
		}
		apply()
		pass(3 * time.Second)
		answer()
		got := <-told
		pass(3 * time.Second)
		b.demandHeld(t, "app/a", got)
	})
}

func TestWhatSeveralCallsOfANameMadeIsGivenUpByTheLast(t *testing.T) {
	tests := map[string]func(t *testing.T, b *bubble, lock *tenure.Lock){
		"one that asked for nothing yet": func(t *testing.T, b *bubble, lock *tenure.Lock) {
			first, giveUp := context.WithCancel(t.Context())
			waits := taking(acquire).inBackground(first, lock)
			b.each(func(m *fakeMember) { m.Refuse(true) })
			pass(time.Second)
			second, giveUpToo := context.WithCancel(t.Context())
			unsent := taking(acquire).inBackground(second, lock)
			giveUp()
			<-waits
			giveUpToo()
			<-unsent
			b.each(func(m *fakeMember) { m.Refuse(false) })
		},
		"one that was refused": func(t *testing.T, b *bubble, lock *tenure.Lock) {
			first, giveUp := context.WithCancel(t.Context())
			waits := taking(acquire).inBackground(first, lock)
			answer := b.hold(&b.locks.lateAnswers)
			second := taking(try).inBackground(t.Context(), lock)
			giveUp()
			<-waits
			answer()
			if got := <-second; got.held != nil || got.err != nil {
				t.Errorf("tried %+v", got)
			}
		},
	}
	for name, giveUp := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				holder := b.acquire(t, "a")
				giveUp(t, b, b.session.Lock("a", tenure.WithOwner("x")))
				pass(3 * time.Second)
				if n := b.queue("app/a"); n != 0 {
					t.Errorf("%d wait, want none", n)
				}
				b.demandHeld(t, "app/a", taken{held: holder})
			})
		})
	}
}

func TestATryThatComesAfterTheReleaseOfItsNameLeavesNothing(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		lock := b.session.Lock("a", tenure.WithOwner("x"))
		held, err := lock.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		move := b.keepMark(t)
		apply := b.hold(&b.locks.late)
		defer apply()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := try(ctx, lock); !errors.Is(err, tenure.ErrOutcomeUnknown) {
			t.Errorf("tried: %v", err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		apply()
		synctest.Wait()
		move()
		pass(time.Second)
		b.demandFree(t, "app/a")
	})
}

func TestAnExportWaitsForWhatIsGivenBack(t *testing.T) {
	tests := map[string]struct {
		answered bool
		want     time.Duration
	}{
		"until it is":            {true, time.Second},
		"as long as it has time": {false, 2 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				held := b.acquire(t, "a")
				release := b.hold(&b.locks.lateReleases)
				defer release()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := held.Release(ctx); !errors.Is(err, tenure.ErrOutcomeUnknown) {
					t.Fatalf("released: %v", err)
				}
				begun := time.Now()
				if test.answered {
					time.AfterFunc(test.want, release)
				}
				if _, err := b.session.Export(t.Context()); err != nil || time.Since(begun) != test.want {
					t.Errorf("exported after %v, %v, want %v", time.Since(begun), err, test.want)
				}
			})
		})
	}
}

func TestAnInheritedHoldIsNotGivenUpWithAWaitForIt(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		apply := b.hold(&b.locks.late)
		defer apply()
		ctx, cancel := context.WithCancel(t.Context())
		result := taking(acquire).inBackground(ctx, s.Lock("a", tenure.WithOwner("me")))
		cancel()
		if got := <-result; !errors.Is(got.err, context.Canceled) {
			t.Errorf("got %+v", got)
		}
		apply()
		pass(3 * time.Second)
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != 1 {
			t.Fatalf("inherited %v, %v", holds, err)
		}
		b.demandHeld(t, "app/a", taken{held: holds[0]})
	})
}

func TestAGrantThatComesInJeopardyIsBelievedWhenTheSessionIsSafe(t *testing.T) {
	tests := map[string]struct {
		take  taking
		after time.Duration
		want  error
	}{
		"an acquire":                          {acquire, time.Second, nil},
		"a try":                               {try, time.Second, nil},
		"a try for which that comes too late": {try, 3 * ttl, tenure.ErrOutcomeUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				b.unexpired()
				b.mu.Lock()
				b.refuse = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
				b.mu.Unlock()
				pass(ttl)
				if state, _ := b.session.State(); state != tenure.StateJeopardy {
					t.Fatalf("the session is %v", state)
				}
				result := test.take.inBackground(t.Context(), b.session.Lock("a", tenure.WithValue(nil)))
				demandUndecided(t, result)
				pass(test.after)
				b.mu.Lock()
				b.refuse = 0
				b.mu.Unlock()
				got := <-result
				if !errors.Is(got.err, test.want) {
					t.Errorf("got %+v, want %v", got, test.want)
				}
				if test.want == nil {
					b.demandHeld(t, "app/a", got)
					return
				}
				pass(5 * time.Second)
				b.demandFree(t, "app/a")
			})
		})
	}
}

// unrenewed makes the session lose its stream, and have another one that has not renewed it: no hints come over that. What it returns lets it renew.
func (b *bubble) unrenewed() (renew func()) {
	b.mu.Lock()
	b.refuse = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
	b.mu.Unlock()
	b.each(func(m *fakeMember) { m.Cut() })
	pass(time.Second)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refuse = 0
	}
}

// TestALossOfWhichNoHintCameIsFoundBeforeItIsBelieved takes a lock away without a hint before the first renewal over a stream, when the session holds
// nothing, and is told of its grant after that renewal.
func TestALossOfWhichNoHintCameIsFoundBeforeItIsBelieved(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		renew := b.unrenewed()
		answer := b.hold(&b.locks.lateAnswers)
		defer answer()
		result := taking(try).inBackground(t.Context(), b.session.Lock("a"))
		b.breakLock("app/a", false)
		renew()
		pass(2 * time.Second)
		demandUndecided(t, result)
		answer()
		b.demandHeld(t, "app/a", <-result)
	})
}

// TestAnInheritedHoldThatIsLostWithoutAHintIsNotBelieved takes away what a session inherited before anybody asks for it.
func TestAnInheritedHoldThatIsLostWithoutAHintIsNotBelieved(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		s, end := b.inherit(t)
		defer end()
		b.breakLock("app/a", false)
		pass(30 * time.Second)
		if holds, err := s.Holds(t.Context()); err != nil || len(holds) != 0 {
			t.Errorf("inherited %v, %v, want nothing", holds, err)
		}
	})
}

// TestALossOfWhichNoHintCameIsFound takes a lock away without a hint: at any time, and between the answer to what the session has and the first
// renewal over a new stream, before which no hints come.
func TestALossOfWhichNoHintCameIsFound(t *testing.T) {
	tests := map[string]struct {
		lose   func(b *bubble)
		within time.Duration
	}{
		"within half a minute": {func(b *bubble) { b.breakLock("app/a", false) }, 30 * time.Second},
		"with the first renewal over a new stream": {func(b *bubble) {
			renew := b.unrenewed()
			b.breakLock("app/a", false)
			renew()
		}, 2 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				held, other := b.acquire(t, "a"), b.acquire(t, "b")
				pass(time.Minute)
				test.lose(b)
				pass(test.within)
				if held.Safe() || held.Cause() != tenure.EndTakenAway {
					t.Errorf("after %v: safe %v, cause %v; want that it was taken away", test.within, held.Safe(), held.Cause())
				}
				if !other.Safe() {
					t.Errorf("the other hold ended: %v", other.Cause())
				}
			})
		})
	}
}
