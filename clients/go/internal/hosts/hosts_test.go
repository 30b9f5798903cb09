package hosts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tenure-io/tenure/clients/go/internal/hosts"
)

func members(numbers ...int) []string {
	var list []string
	for _, n := range numbers {
		list = append(list, fmt.Sprintf("m%d:7400", n))
	}
	return list
}

// population is many clients, each connected to the first member that its list gives.
type population struct {
	lists     []*hosts.List
	connected []string
	moved     int
}

func newPopulation(n int, list []string) *population {
	p := &population{}
	for i := range n {
		l := hosts.New(list, rand.New(rand.NewPCG(uint64(i), 7)))
		p.lists = append(p.lists, l)
		p.connected = append(p.connected, l.Next())
		l.Connected()
	}
	return p
}

func (p *population) update(list []string) {
	p.moved = 0
	for i, l := range p.lists {
		if l.Update(list, p.connected[i]) {
			p.moved++
			p.connected[i] = l.Next()
			l.Connected()
		}
	}
}

func (p *population) demandEven(t *testing.T, list []string) {
	t.Helper()
	counts := map[string]int{}
	for _, address := range p.connected {
		counts[address]++
	}
	even := float64(len(p.connected)) / float64(len(list))
	for _, address := range list {
		if share := float64(counts[address]) / even; share < 0.9 || share > 1.1 {
			t.Errorf("%s has %.2f of an even share: %v", address, share, counts)
		}
	}
	if len(counts) != len(list) {
		t.Errorf("connected to %d members, want %d", len(counts), len(list))
	}
}

func TestClientsStayEvenlySpreadThroughChangesOfTheList(t *testing.T) {
	steps := []struct {
		list      []string
		movedFrom float64 // Share of clients that must move, by the rule.
	}{
		{members(1, 2, 3), 0},
		{members(1, 2, 3, 4, 5), 0.4},
		{members(1, 2, 3), 0.4},
		{members(1, 2, 3, 4, 5, 6, 7, 8, 9), 6.0 / 9},
		{members(1, 2, 3, 4, 5, 6, 7, 8), 1.0 / 9},
		{members(1, 2, 3, 4, 5, 6), 2.0 / 8},
		{members(1, 2, 3, 7, 8, 9, 10, 11), 0.5}, // Three are gone, five are new.
		{members(1, 2, 3, 7, 8, 9, 10, 12), 1.0 / 8},
		{members(21, 22), 1},
	}
	p := newPopulation(10_000, steps[0].list)
	for _, step := range steps {
		p.update(step.list)
		p.demandEven(t, step.list)
		if got := float64(p.moved) / 10_000; step.movedFrom != 0.5 && (got < step.movedFrom-0.03 || got > step.movedFrom+0.03) {
			t.Errorf("to %d members: %.3f of the clients moved, want %.3f", len(step.list), got, step.movedFrom)
		}
	}
}

func TestWhoMovesTriesTheNewMembersFirstThenTheOld(t *testing.T) {
	for seed := range uint64(50) {
		l := hosts.New(members(1, 2, 3), rand.New(rand.NewPCG(seed, 1)))
		if !l.Update(members(1, 2, 3, 4, 5), "m1:7400") {
			continue
		}
		var tried []string
		for l.Moving() {
			tried = append(tried, l.Next())
		}
		first, rest := slices.Sorted(slices.Values(tried[:2])), slices.Sorted(slices.Values(tried[2:]))
		if !slices.Equal(first, members(4, 5)) || !slices.Equal(rest, members(2, 3)) {
			t.Fatalf("tried %v, want the new ones first and then the old without the present one", tried)
		}
		return
	}
	t.Fatal("no client of 50 moved")
}

func TestNextWalksRoundRobinFromARandomStart(t *testing.T) {
	starts := map[string]int{}
	for seed := range uint64(300) {
		l := hosts.New(members(1, 2, 3), rand.New(rand.NewPCG(seed, 1)))
		round := []string{l.Next(), l.Next(), l.Next()}
		starts[round[0]]++
		if again := []string{l.Next(), l.Next(), l.Next()}; !slices.Equal(round, again) {
			t.Fatalf("second round %v, want %v", again, round)
		}
		slices.Sort(round)
		if !slices.Equal(round, members(1, 2, 3)) {
			t.Fatalf("one round tried %v", round)
		}
	}
	for address, n := range starts {
		if n < 60 {
			t.Errorf("%d of 300 began with %s", n, address)
		}
	}
}

func TestTheSameOrAnEmptyListChangesNothing(t *testing.T) {
	l := hosts.New(members(1, 2, 3), rand.New(rand.NewPCG(1, 1)))
	current := l.Next()
	l.Connected()
	for _, list := range [][]string{nil, members(3, 2, 1), members(1, 2, 3, 3)} {
		if l.Update(list, current) || l.Len() != 3 {
			t.Errorf("the list %v moved a client, or changed its list", list)
		}
	}
}
