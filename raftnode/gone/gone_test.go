package gone_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenure-io/tenure/raftnode/gone"
)

const timeout = time.Second

// ended is the end of member 1 of three, told to another one.
func ended(self uint64) gone.Ended {
	return gone.Ended{Member: 1, Self: self, Voters: []uint64{3, 1, 2}}
}

// led is a member that has followed member 1 from the beginning.
func led() gone.State {
	s, _ := gone.Step(gone.State{}, gone.Led{Leader: 1, Term: 1}, timeout, 0)
	return s
}

func TestWhoAsksAndWhen(t *testing.T) {
	tests := map[string]struct {
		ev     gone.Ended
		forget bool
		due    time.Duration // of the first round, after the end; 0 is at once, if it forgets
	}{
		"the lowest voter asks at once":          {ended(2), true, 0},
		"the next one a step later":              {ended(3), true, 50 * time.Millisecond},
		"a learner never":                        {ended(4), false, 0},
		"another member than the leader":         {gone.Ended{Member: 2, Self: 3, Voters: []uint64{1, 2, 3}}, false, 0},
		"a leader is not gone for itself":        {ended(1), false, 0},
		"a slow disk makes the steps longer":     {gone.Ended{Member: 1, Self: 3, Voters: []uint64{1, 2, 3}, Sync: 30 * time.Millisecond, RoundTrip: 10 * time.Millisecond}, true, 120 * time.Millisecond},
		"but no longer than an election timeout": {gone.Ended{Member: 1, Self: 3, Voters: []uint64{1, 2, 3}, Sync: time.Minute}, true, timeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			const now = 5 * time.Second
			s, fx := gone.Step(led(), test.ev, timeout, now)
			if want := test.forget && test.due == 0; fx.Forget != test.forget || fx.Campaign != want {
				t.Errorf("got %+v, want forget %t, campaign %t", fx, test.forget, want)
			}
			if test.due > 0 && s.Due() != now+test.due {
				t.Errorf("due at %v, want %v", s.Due(), now+test.due)
			}
			if !test.forget && s.Due() != 0 {
				t.Errorf("due at %v, want never", s.Due())
			}
		})
	}
}

// Time alone does nothing, however long a leader is silent.
func TestSilenceIsNoReason(t *testing.T) {
	s := led()
	for now := time.Duration(0); now < time.Hour; now += timeout / 3 {
		var fx gone.Effects
		if s, fx = gone.Step(s, gone.Passed{}, timeout, now); fx != (gone.Effects{}) || s.Due() != 0 {
			t.Fatalf("after %v: %+v, due at %v", now, fx, s.Due())
		}
	}
}

// A leader that is found ends the episode; without one there are three rounds.
func TestAnEpisodeHasThreeRounds(t *testing.T) {
	for _, found := range []int{0, 1, 2, 3} {
		now := 5 * time.Second
		s, fx := gone.Step(led(), ended(2), timeout, now)
		rounds := 0
		for i := 1; ; i++ {
			if fx.Campaign {
				rounds++
			}
			if i == found {
				s, _ = gone.Step(s, gone.Led{Leader: 3, Term: 2}, timeout, now)
			}
			if s.Due() == 0 {
				break
			}
			if s.Due() > now+100*time.Millisecond {
				t.Errorf("the next round begins %v later", s.Due()-now)
			}
			now = s.Due()
			s, fx = gone.Step(s, gone.Passed{}, timeout, now)
		}
		want := found
		if found == 0 {
			want = 3
		}
		if rounds != want {
			t.Errorf("%d rounds, want %d, if the leader is found in round %d", rounds, want, found)
		}
	}
}

// Whatever happens, episodes keep their distance: with each, as long as no leader stays, the pause is twice as long.
func TestPausesDouble(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		s, now, term := led(), time.Duration(0), uint64(1)
		var last, since time.Duration
		want, episodes := time.Duration(0), 0
		for range 400 {
			now += time.Duration(d.Int64N(int64(timeout)))
			if d.IntN(40) == 0 {
				now += time.Duration(d.Int64N(int64(200 * timeout)))
			}
			if want > 0 && now-since >= 10*want {
				want = 0
			}
			var fx gone.Effects
			s, fx = gone.Step(s, ended(2), timeout, now)
			if allowed := want == 0 || now >= last+want; fx.Forget != allowed {
				t.Fatalf("at %v forgets %t, the last time was at %v and the pause is %v", now, fx.Forget, last, want)
			}
			if fx.Forget {
				episodes++
				want, last = min(max(timeout, 2*want), 64*timeout), now
				term++
				now += 10 * time.Millisecond
				since = now
				s, _ = gone.Step(s, gone.Led{Leader: 1, Term: term}, timeout, now)
			}
		}
		if episodes < 4 {
			t.Errorf("floor: %d episodes", episodes)
		}
	}
}

// A member that stood still does not act on what it decided long ago.
func TestLateRoundsAreNotHeld(t *testing.T) {
	s, _ := gone.Step(led(), ended(3), timeout, 5*time.Second)
	s, fx := gone.Step(s, gone.Passed{}, timeout, 7*time.Second)
	if fx != (gone.Effects{}) || s.Due() != 0 {
		t.Errorf("got %+v, due at %v", fx, s.Due())
	}
}

func TestWhatCountsAsEnded(t *testing.T) {
	tests := map[string]struct {
		redial gone.Redial
		want   bool
	}{
		"cut and refused":                     {gone.Redial{Cut: true, Refused: true, Known: 3}, true},
		"cut and a later start answers":       {gone.Redial{Cut: true, Known: 3, Answered: 4}, true},
		"cut and the same start answers":      {gone.Redial{Cut: true, Known: 3, Answered: 3}, false},
		"cut and an earlier start answers":    {gone.Redial{Cut: true, Known: 3, Answered: 2}, false},
		"cut and silence":                     {gone.Redial{Cut: true, Known: 3}, false},
		"cut, and no start was known":         {gone.Redial{Cut: true, Answered: 4}, false},
		"closed in order, and refused":        {gone.Redial{Refused: true, Known: 3}, false},
		"closed in order, and started again":  {gone.Redial{Known: 3, Answered: 4}, false},
		"nothing happened to the connection":  {gone.Redial{}, false},
		"a start answers, and one is unknown": {gone.Redial{Cut: true}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.redial.Ended(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
