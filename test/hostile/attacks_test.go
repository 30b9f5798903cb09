package hostile_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// attack is one kind of attack.
type attack struct {
	entry, name string
	three       bool                                   // also in the short form it is made on three members, not on one
	flags       []string                               // of the members
	shows       string                                 // a metric of the attacked member that is above 0 when the attack is one
	files       int                                    // descriptors of a member in the short form; 0: as many as there are
	prepare     func(*scene)                           // what the test makes before
	attack      func(context.Context, *attacker) error // runs in the attacker's process; the attack stands when it returns
	alike       func(context.Context, *attacker) error // the same load by clients that mean well; nil: that of wellBehaved is as good
	after       func(*scene)                           // what must hold beside what judge checks
	pins        func(long bool) int                    // what the attack may pin by docs/operations.md, in MiB
}

// attacks returns all there are, with the entry of the list of attacks that each belongs to.
func attacks() []attack {
	return slices.Concat(callAttacks(), unfinishedAttacks(), unreadAttacks(), connectionAttacks(), fieldAttacks(), peerAttacks(), oddAttacks(), lineAttacks(), restAttacks(), consulAttacks())
}

// wellBehaved is what attacks are compared with: calls as clients make them.
var wellBehaved = attack{name: "well-behaved calls", attack: behaveWell}

// alikeEnd ends the name of an attack in the orders of those who make the same load and mean well.
const alikeEnd = ", by clients that mean well"

// idleMiB is what a member takes that little is asked of; see docs/operations.md.
const idleMiB = 256

// bound returns how much memory a member may take under an attack, in MiB: what it takes anyway, and twice what the attack
// may pin.
func (a attack) bound(long bool) int {
	if a.pins == nil {
		return idleMiB
	}
	return idleMiB + 2*a.pins(long)
}

// TestAQuietClientIsServed makes no attack: the harness itself must find nothing.
func TestAQuietClientIsServed(t *testing.T) {
	wellBehaved.make(t, 1)
}

// TestAttacks makes all attacks; with -short the first of each entry.
func TestAttacks(t *testing.T) {
	base := map[int]time.Duration{}
	made := map[string]bool{} // entries
	for _, a := range attacks() {
		if testing.Short() && made[a.entry] {
			continue
		}
		made[a.entry] = true
		t.Run(a.name, func(t *testing.T) {
			members := 1
			if a.three {
				members = 3
			}
			if !long() {
				a.make(t, members)
				return
			}
			for _, members := range []int{1, 3} {
				t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) {
					if a.alike != nil {
						b := a
						b.name, b.after, b.shows = a.name+alikeEnd, nil, ""
						p99, _ := b.make(t, members)
						a.compare(t, members, p99)
						return
					}
					if base[members] == 0 { // Also when this is the only attack of the run.
						base[members], _ = wellBehaved.make(t, members)
					}
					a.compare(t, members, base[members])
				})
			}
		})
	}
}

// compare makes the attack and compares how long the quiet client's puts take with how long they take beside well-behaved
// calls. It prints the attack's line of the table.
func (a attack) compare(t *testing.T, members int, base time.Duration) {
	t.Helper()
	const slowerMax = 5
	p99, found := a.make(t, members)
	t.Logf("| %s | %s | %d | %d | %d | %d | %d of %d MiB | %v | %v | %.1f |", a.entry, a.name, members, found.faults, found.panics,
		found.stopped, found.peak, a.bound(long()), p99.Round(time.Microsecond), base.Round(time.Microsecond), float64(p99)/float64(base))
	if p99 > slowerMax*base {
		t.Errorf("puts of the quiet client take %v, those beside well-behaved calls %v; want at most %d times that", p99, base, slowerMax)
	}
}

// make makes the attack on a cluster of its own, and returns how long the slowest of 100 puts of the quiet client took.
func (a attack) make(t *testing.T, members int) (time.Duration, findings) {
	t.Helper()
	s := setScene(t, a, members)
	s.quiet.forget()
	r := s.attack(a.name, a.shows)
	found := s.judge(r, a.bound(long()))
	if a.shows != "" && s.counted(a.shows) == 0 {
		t.Errorf("%s is 0: the attack was none", a.shows)
	}
	p99 := s.quiet.p99()
	if a.after != nil {
		a.after(s)
	}
	return p99, found
}
