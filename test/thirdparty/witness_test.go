package thirdparty_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// witness knows who believes to be in, without asking Tenure. It is a folder, so that programs of all languages can use it: who is in has made
// one of its folders 0, 1 and so on, and of these there may be as many as may be in.
type witness struct {
	what   string
	dir    string
	places int
	faults atomic.Pointer[error]
}

// newWitness returns a witness of at most so many at the same time.
func newWitness(t *testing.T, what string, places int) *witness {
	t.Helper()
	return &witness{what: what, dir: t.TempDir(), places: places}
}

// enter notes that one is in, and returns its place.
func (w *witness) enter() string {
	for i := range w.places {
		place := filepath.Join(w.dir, strconv.Itoa(i))
		err := os.Mkdir(place, 0o700)
		if err == nil {
			return place
		}
		if !errors.Is(err, fs.ErrExist) {
			w.fault(err)
		}
	}
	w.fault(fmt.Errorf("%s: more than %d are in", w.what, w.places))
	return ""
}

// leave notes that one is no longer in.
func (w *witness) leave(place string) {
	if place == "" {
		return
	}
	if err := os.Remove(place); err != nil {
		w.fault(err)
	}
}

// fault keeps the first fault.
func (w *witness) fault(err error) { w.faults.CompareAndSwap(nil, &err) }

// check fails the test if there was a fault.
func (w *witness) check(t *testing.T) {
	t.Helper()
	if err := w.faults.Load(); err != nil {
		t.Errorf("the witness: %v", *err)
	}
}

// contender is one loop: how often it was in.
type contender struct {
	name   string
	rounds atomic.Int64
	ended  atomic.Pointer[error]
}

// race is contenders for the same thing.
type race struct {
	name       string
	witness    *witness
	contenders []*contender
}

// newRace returns a race whose contenders are still to come.
func newRace(t *testing.T, name string, places int) *race {
	t.Helper()
	return &race{name: name, witness: newWitness(t, name, places)}
}

// record makes a row of the table when the test has ended, for a program that took part in a race while so many leaders were killed.
func (r *race) record(t *testing.T, program string, members, kills int) {
	t.Helper()
	record(t, program, r.scenario(members),
		fmt.Sprintf("%d leaders killed: never more than %d in, every loop recovered", kills, r.witness.places))
}

// rounds is how often contenders were in.
func (r *race) rounds() int64 {
	var all int64
	for _, c := range r.contenders {
		all += c.rounds.Load()
	}
	return all
}

// scenario says what a race is, for the table.
func (r *race) scenario(members int) string { return r.name + ", " + countedMembers(members) }

// countedMembers is a number of members, for people.
func countedMembers(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

// run kills so many leaders, and waits after each until every contender has been in again.
func run(t *testing.T, c *cluster, races []*race, kills int) {
	t.Helper()
	for _, r := range races {
		awaitRounds(t, r.witness, r.contenders, 2)
	}
	var slowest time.Duration
	for range kills {
		began := time.Now()
		c.killLeader(t.Context())
		for _, r := range races {
			awaitRounds(t, r.witness, r.contenders, 1)
		}
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("%d leaders killed: every loop was in again after %v at most", kills, slowest.Round(time.Millisecond))
}

// awaitRounds waits until each contender has been in so often more.
func awaitRounds(t *testing.T, w *witness, contenders []*contender, more int64) {
	t.Helper()
	goal := map[*contender]int64{}
	for _, c := range contenders {
		goal[c] = c.rounds.Load() + more
	}
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		behind := ""
		for _, c := range contenders {
			if err := c.ended.Load(); err != nil {
				t.Fatalf("%s ended: %v", c.name, *err)
			}
			if c.rounds.Load() < goal[c] {
				behind = c.name
			}
		}
		w.check(t)
		if behind == "" || t.Failed() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was not in %d times within %v", behind, more, patience)
		}
	}
}

// TestTheWitnessSeesTwo lets more in than may be.
func TestTheWitnessSeesTwo(t *testing.T) {
	w := newWitness(t, "lock", 2)
	first, second := w.enter(), w.enter()
	if err := w.faults.Load(); err != nil {
		t.Fatalf("two are in: got %v, want no fault", *err)
	}
	w.leave(first)
	w.leave(w.enter())
	if err := w.faults.Load(); err != nil {
		t.Fatalf("one left and another came: got %v, want no fault", *err)
	}
	w.enter()
	w.enter()
	if w.faults.Load() == nil {
		t.Error("three are in: got no fault")
	}
	w.leave(second)
}
