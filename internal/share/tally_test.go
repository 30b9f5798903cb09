package share_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tenure-io/tenure/internal/share"
)

// kept is what a store keeps for callers, and the tally of it.
type kept struct {
	*share.Tally
	by     map[share.Caller]int64
	counts int
	at     time.Time
	takes  time.Duration
}

func newKept() *kept {
	k := &kept{by: map[share.Caller]int64{}, at: time.Unix(1, 0)}
	k.Tally = share.NewTally(func(add func(share.Caller)) error {
		k.counts++
		k.at = k.at.Add(k.takes)
		for c, n := range k.by {
			for range n {
				add(c)
			}
		}
		return nil
	}, func() time.Time { return k.at })
	return k
}

// open keeps one more for a caller, if that is allowed.
func (k *kept) open(t *testing.T, c share.Caller, total int64) bool {
	t.Helper()
	used := int64(0)
	for _, n := range k.by {
		used += n
	}
	allowed, err := k.Allow(c, total, used)
	if err != nil {
		t.Fatal(err)
	}
	if allowed {
		k.by[c]++
	}
	return allowed
}

func TestATallySharesAsAPoolDoes(t *testing.T) {
	all := callers(t, []string{"10.0.9.0/24"}, "10.0.0.1", "10.0.0.2", "10.0.9.1")
	k := newKept()
	greedy, other, exempt := all[0], all[1], all[2]
	for k.open(t, greedy, 100) {
	}
	for k.open(t, other, 100) {
	}
	if k.by[greedy] != 50 || k.by[other] != 25 {
		t.Errorf("one caller has %d of 100 and then another %d, want 50 and 25", k.by[greedy], k.by[other])
	}
	for range 10 {
		if !k.open(t, exempt, 100) {
			t.Error("one that is exempt is refused")
		}
	}
	if k.Refused() != 2 {
		t.Errorf("%d were refused, want 2", k.Refused())
	}
}

func TestATallyCountsOnlyUnderPressure(t *testing.T) {
	k := newKept()
	one := callers(t, nil, "10.0.0.1")[0]
	for range 500 {
		k.open(t, one, 1000)
	}
	if k.counts != 0 {
		t.Errorf("it counted %d times while half was free", k.counts)
	}
	for range 1000 {
		if k.open(t, one, 1000) {
			t.Fatal("a caller gets more than half")
		}
	}
	if k.counts != 1 {
		t.Errorf("it counted %d times while nothing changed, want once", k.counts)
	}
}

// TestATallyForgetsWhatEnded ends some of what a caller has while others take as much: it may have that again soon after.
func TestATallyForgetsWhatEnded(t *testing.T) {
	k := newKept()
	k.takes = time.Second // So that a second is not enough.
	all := callers(t, nil, "10.0.0.1", "10.0.0.2", "10.0.0.3")
	for k.open(t, all[0], 1000) {
	}
	for k.open(t, all[1], 1000) {
	}
	before := k.counts
	k.by[all[1]] -= 5
	k.by[all[2]] += 5
	if k.open(t, all[1], 1000) || k.counts != before {
		t.Error("it counts again at once")
	}
	k.at = k.at.Add(25 * time.Second)
	if !k.open(t, all[1], 1000) {
		t.Error("a caller is refused although there is room for it")
	}
}

func TestATallyThatCannotCountSaysSo(t *testing.T) {
	failure := errors.New("no")
	tally := share.NewTally(func(func(share.Caller)) error { return failure }, time.Now)
	if _, err := tally.Allow(share.Caller{}, 10, 9); !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}
