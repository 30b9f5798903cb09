package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Each kind of change is found where it stands, and the overlay holds just that change.
func TestSites(t *testing.T) {
	const source = `package p

import "sync"

type file interface{ Sync() error }

type box struct {
	mu sync.Mutex
	n  int
}

func (b *box) add(f file, m int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m < 10 {
		b.n += m
	}
	return f.Sync()
}
`
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := sitesOf(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.Kind+": "+m.was+" -> "+m.text)
	}
	slices.Sort(got)
	want := []string{
		"condition: m < 10 -> !(m < 10)",
		"left out: b.mu.Lock()\n\tdefer b.mu.Unlock() -> ",
		"left out: f.Sync() -> error(nil)",
		"number: 10 -> 11",
		"operator: < -> <=",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// The same seed chooses the same mutants, and all kinds have their turn.
func TestChoose(t *testing.T) {
	var all []mutant
	for i := range 40 {
		all = append(all, mutant{Kind: kinds[min(i/12, 3)], File: "f.go", Nth: i})
	}
	first, again := choose(slices.Clone(all), 8, 7), choose(slices.Clone(all), 8, 7)
	if !slices.Equal(first, again) {
		t.Error("the same seed chose other mutants")
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(first, func(m mutant) bool { return m.Kind == kind }) {
			t.Errorf("none of kind %s among %v", kind, first)
		}
	}
	fewer := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return m == first[0] })
	if got := choose(fewer, 8, 7); !slices.Equal(got[1:4], first[1:4]) {
		t.Errorf("without the first one others are chosen, too: %v, not %v", got, first)
	}
	if other := choose(slices.Clone(all), 8, 8); slices.Equal(first, other) {
		t.Error("another seed chose the same mutants")
	}
}
