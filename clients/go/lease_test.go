package tenure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// said returns effects as text, in the order in which they are carried out.
func said(e effects) string {
	var words []string
	for _, change := range e.changes[:e.changed] {
		words = append(words, strings.TrimSpace(change.State.String()+" "+string(change.Cause)))
	}
	if e.ranOut {
		words = append(words, "ran out")
	}
	if e.graceOver {
		words = append(words, "grace over")
	}
	return strings.Join(words, ", ")
}

// TestALeaseIsAValue shows what follows from what happens, second by second, for a TTL of 10 s: its margin is 200 ms.
func TestALeaseIsAValue(t *testing.T) {
	renewed := func(sent, now float64) func(*lease) effects {
		return func(l *lease) effects { _, e := l.renewed(seconds(sent), l.ttl, seconds(now)); return e }
	}
	down := func(now float64) func(*lease) effects {
		return func(l *lease) effects { return l.linkDown(seconds(now)) }
	}
	look := func(now float64) func(*lease) effects {
		return func(l *lease) effects { return l.look(seconds(now)) }
	}
	watch := func(now float64) func(*lease) effects {
		return func(l *lease) effects { _, e := l.watch(seconds(now), true); return e }
	}
	end := func(cause Cause, now float64) func(*lease) effects {
		return func(l *lease) effects { _, e := l.end(cause, seconds(now)); return e }
	}
	type step struct {
		event func(*lease) effects
		want  string
	}
	for name, steps := range map[string][]step{
		"a renewal connects, and another one says nothing new": {
			{renewed(0, 1), "CONNECTED"}, {renewed(3, 4), ""}, {look(12.7), ""}, {look(12.8), "JEOPARDY, ran out"},
		},
		"a lease counts from when its renewal was sent": {
			{renewed(0, 9.7), "CONNECTED"}, {look(9.8), "JEOPARDY, ran out"},
		},
		"an earlier renewal does not shorten it": {
			{renewed(3, 4), "CONNECTED"}, {renewed(0, 5), ""}, {look(12.7), ""},
		},
		"without a link it is suspended until it runs out": {
			{renewed(0, 0), "CONNECTED"}, {down(1), "SUSPENDED"}, {down(2), ""}, {look(9.8), "JEOPARDY, ran out"}, {down(10), ""},
		},
		"a link that mends in time loses nothing": {
			{renewed(0, 0), "CONNECTED"}, {down(1), "SUSPENDED"}, {renewed(2, 3), "CONNECTED"},
		},
		"what ran out unseen ran out before the renewal": {
			{renewed(0, 0), "CONNECTED"}, {renewed(9, 10), "JEOPARDY, CONNECTED, ran out"},
		},
		"what ran out unseen ran out before the end": {
			{renewed(0, 0), "CONNECTED"}, {end(CauseExpired, 10), "JEOPARDY, CLOSED expired, ran out"},
		},
		"an opening that takes longer than the lease is in jeopardy, and had nothing to lose": {
			{renewed(0, 9.8), "JEOPARDY"}, {renewed(9, 10), "CONNECTED"},
		},
		"calls wait for two TTLs, once": {
			{renewed(0, 0), "CONNECTED"}, {watch(9.8), "JEOPARDY, ran out"}, {watch(29.7), ""}, {watch(29.8), "grace over"}, {watch(31), ""},
		},
		"after a renewal calls wait again in the next jeopardy": {
			{renewed(0, 0), "CONNECTED"},
			{watch(10), "JEOPARDY, ran out"},
			{watch(30), "grace over"},
			{renewed(31, 31), "CONNECTED"},
			{watch(41), "JEOPARDY, ran out"},
			{watch(60), ""},
			{watch(61), "grace over"},
		},
		"only the first end counts": {
			{renewed(0, 0), "CONNECTED"},
			{end(CauseClosed, 1), "CLOSED closed"},
			{end(CauseExpired, 2), ""},
			{renewed(2, 3), ""},
			{down(4), ""},
			{watch(20), ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lease{ttl: 10 * time.Second}
			for i, s := range steps {
				if got := said(s.event(l)); got != s.want {
					t.Fatalf("step %d: got %q, want %q", i+1, got, s.want)
				}
			}
		})
	}
}

// TestALeaseWithoutTTLNeverRunsOut lets a year pass.
func TestALeaseWithoutTTLNeverRunsOut(t *testing.T) {
	l := &lease{}
	connected, _ := l.renewed(0, 0, time.Second)
	if e := l.look(365 * 24 * time.Hour); !connected || said(e) != "" || l.state != StateConnected {
		t.Errorf("it is %v after %q", l.state, said(e))
	}
}

// TestWhatWasInheritedIsBelievedLate asks when a resume may believe what it found.
func TestWhatWasInheritedIsBelievedLate(t *testing.T) {
	l := &lease{ttl: 10 * time.Second, believedAt: seconds(12)}
	if wait := l.belief(0, false); wait != lookEvery {
		t.Errorf("CONNECTING: wait %v", wait)
	}
	l.renewed(seconds(5), l.ttl, seconds(5))
	for now, want := range map[float64]time.Duration{6: lookEvery, 11.9: 100 * time.Millisecond, 12: 0} {
		if wait := l.belief(seconds(now), true); wait.Round(time.Millisecond) != want {
			t.Errorf("at %v s: wait %v, want %v", now, wait, want)
		}
	}
	if wait := l.belief(seconds(6), false); wait != 0 {
		t.Errorf("what it acquired itself waits %v", wait)
	}
	l.believedAt = never
	if wait := l.belief(seconds(12), true); wait != never {
		t.Errorf("without TTL, and not handed over: wait %v", wait)
	}
}

// TestALeaseIsNeverBelievedTooLong lets random things happen in random order, and holds the lease to its promise: at no moment is the session certain
// that is not covered by an acknowledged renewal; what is held ends exactly when that ends; and CLOSED is final.
func TestALeaseIsNeverBelievedTooLong(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		l := &lease{ttl: time.Duration(random.IntN(20_000)+100) * time.Millisecond}
		var now, covered time.Duration
		for range 200 {
			now += time.Duration(random.Int64N(int64(l.ttl) / 2))
			before := *l
			var e effects
			var what string
			switch random.IntN(8) {
			case 0, 1, 2:
				sent := max(0, now-time.Duration(random.Int64N(int64(l.ttl))))
				what = fmt.Sprintf("renewed, sent %v", sent)
				_, e = l.renewed(sent, l.ttl, now)
				if before.state != StateClosed {
					covered = max(covered, sent+l.ttl)
				}
			case 3:
				what = "link down"
				e = l.linkDown(now)
			case 4, 5:
				what = "look"
				e = l.look(now)
			case 6:
				what = "watch"
				var wait time.Duration
				wait, e = l.watch(now, random.IntN(2) == 0)
				if l.certain() && now+wait > l.safeUntil || wait <= 0 {
					t.Fatalf("seed %d: at %v the next look may wait for %v, past %v", seed, now, wait, l.safeUntil)
				}
			default:
				if random.IntN(10) > 0 {
					continue
				}
				what = "end"
				_, e = l.end(CauseExpired, now)
			}
			certain := l.safeFor(now) > 0
			if certain && (now >= covered || l.safeFor(now) > covered-now-marginMin) {
				t.Fatalf("seed %d: after %q at %v the session is certain for %v, and acknowledged until %v", seed, what, now, l.safeFor(now), covered)
			}
			if lapsed := before.certain() && now >= before.safeUntil; e.ranOut != lapsed {
				t.Fatalf("seed %d: after %q at %v: ran out is %v, but the lease was good until %v", seed, what, now, e.ranOut, before.safeUntil)
			}
			if before.state == StateClosed && (l.state != StateClosed || e != (effects{})) {
				t.Fatalf("seed %d: %q at %v changed a session that was over: %v, %q", seed, what, now, l.state, said(e))
			}
			if e.changed > 0 && e.changes[e.changed-1].State != l.state {
				t.Fatalf("seed %d: after %q at %v the state is %v, and the last one told was %q", seed, what, now, l.state, said(e))
			}
		}
	}
}

// seconds returns a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
