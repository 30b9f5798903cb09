package process

import (
	"slices"
	"testing"
	"time"
)

// happening is what a script of TestWatchdog does at a moment.
type happening struct {
	at    time.Duration
	renew time.Duration // Deadline to move to, if not zero.
	lose  bool
	want  order
}

func TestWatchdog(t *testing.T) {
	const grace = 2 * time.Second
	for name, test := range map[string]struct {
		deadline  time.Duration
		unlimited bool
		script    []happening
	}{
		"terminates a grace before the lease ends, and kills at its end": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 0},
				{at: 8*time.Second - 1},
				{at: 8 * time.Second, want: orderTerminate},
				{at: 9 * time.Second},
				{at: 10*time.Second - 1},
				{at: 10 * time.Second, want: orderKill},
				{at: 11 * time.Second},
			},
		},
		"a renewal moves the end": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 7 * time.Second, renew: 15 * time.Second},
				{at: 12 * time.Second},
				{at: 13 * time.Second, want: orderTerminate},
				{at: 15 * time.Second, want: orderKill},
			},
		},
		"a lease that turns out to be shorter, as after sleep, ends sooner": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 0},
				{at: 1 * time.Second, renew: 4 * time.Second},
				{at: 2 * time.Second, want: orderTerminate},
				{at: 2 * time.Second, renew: 2 * time.Second, want: orderKill},
			},
		},
		"a renewal after the order changes nothing": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 8 * time.Second, want: orderTerminate},
				{at: 9 * time.Second, renew: 19 * time.Second},
				{at: 10 * time.Second, want: orderKill},
			},
		},
		"after a long sleep there is no time to ask": {
			deadline: 10 * time.Second,
			script:   []happening{{at: time.Hour, want: orderKill}, {at: 2 * time.Hour}},
		},
		"a loss terminates at once and kills a grace later": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: time.Second, lose: true, want: orderTerminate},
				{at: 3*time.Second - 1},
				{at: 3 * time.Second, want: orderKill},
			},
		},
		"a loss near the end kills at the end": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 7900 * time.Millisecond, renew: 10100 * time.Millisecond},
				{at: 8050 * time.Millisecond, lose: true, want: orderTerminate},
				{at: 10050*time.Millisecond - 1},
				{at: 10050 * time.Millisecond, want: orderKill},
			},
		},
		"a loss told twice is ordered once": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: time.Second, lose: true, want: orderTerminate},
				{at: 2 * time.Second, lose: true},
				{at: 3 * time.Second, want: orderKill},
			},
		},
		"a loss after the lease's end kills at once": {
			deadline: 10 * time.Second,
			script: []happening{
				{at: 11 * time.Second, lose: true, want: orderTerminate},
				{at: 11 * time.Second, want: orderKill},
			},
		},
		"a lease without end ends by a loss only": {
			unlimited: true,
			script: []happening{
				{at: time.Hour},
				{at: 2 * time.Hour, lose: true, want: orderTerminate},
				{at: 2*time.Hour + grace, want: orderKill},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dog := &watchdog{grace: grace, deadline: test.deadline, unlimited: test.unlimited}
			for _, h := range test.script {
				if h.renew != 0 {
					dog.leased(h.at, h.renew-h.at)
				}
				if h.lose {
					dog.lose()
				}
				if got, _ := dog.step(h.at); got != h.want {
					t.Errorf("at %v: got order %d, want %d", h.at, got, h.want)
				}
			}
		})
	}
}

// TestWatchdogNeverOversleeps follows the waits that step asks for, without anything else happening.
// What was killed is waited for only so long: nobody may take note that it has ended.
func TestAKillIsNotWaitedForForEver(t *testing.T) {
	for name, dog := range map[string]*watchdog{
		"asked before":        {deadline: 10 * time.Second, given: orderTerminate, killAt: 10 * time.Second},
		"no time left to ask": {deadline: 10 * time.Second},
		"lost, without end":   {unlimited: true, lost: true, given: orderTerminate, killAt: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			const at = 12 * time.Second
			if dog.killed(at) {
				t.Error("it was not killed yet")
			}
			if what, _ := dog.step(at); what != orderKill {
				t.Fatalf("got order %d, want to kill", what)
			}
			what, wait := dog.step(at + time.Second)
			if what != orderNone || wait <= 0 || wait > stepMax {
				t.Errorf("got order %d and the next step after %v, want none and at most %v", what, wait, stepMax)
			}
			if dog.killed(at + killPatience - 1) {
				t.Error("it is not waited for as long as it takes the system")
			}
			if !dog.killed(at + killPatience) {
				t.Error("it is waited for although nobody may take note of its end")
			}
		})
	}
}

func TestWatchdogNeverOversleeps(t *testing.T) {
	dog := &watchdog{grace: time.Second, deadline: 10 * time.Second}
	var orders []time.Duration
	for now := time.Duration(0); dog.given != orderKill; {
		got, wait := dog.step(now)
		if got != orderNone {
			orders = append(orders, now)
		}
		if wait > stepMax && !dog.ended() {
			t.Fatalf("at %v: wait %v, want at most %v", now, wait, stepMax)
		}
		if wait <= 0 && dog.given != orderKill {
			t.Fatalf("at %v: wait %v, want more than nothing", now, wait)
		}
		now += wait
	}
	if want := []time.Duration{9 * time.Second, 10 * time.Second}; !slices.Equal(orders, want) {
		t.Errorf("got orders at %v, want %v", orders, want)
	}
}
