package planted

import (
	"embed"
	"io/fs"
	"strings"
	"sync/atomic"
)

// Patches are the files of the folder patches.
//
//go:embed patches
var Patches embed.FS

// active is the name of the planted bug. It is state of the package because every room asks, down to pure functions; no
// program that is released has it.
var active atomic.Pointer[string]

// Is reports whether a bug is active.
func Is(name string) bool {
	p := active.Load()
	return p != nil && *p == name
}

// Plant makes one bug the active one. An empty name makes none active.
func Plant(name string) { active.Store(&name) }

// Bug is one deliberate mistake.
type Bug struct {
	// Name is the name of its patch without number and ending.
	Name string
	// Checkers are those of the simulator that must notice it. Empty: any of them.
	Checkers []string
	// Proof is the test of test/proof that must fail. Empty: the simulator must find it, unless Freshness is set and no checker is named.
	Proof string
	// Freshness is the test that must fail if the mistake is to leave out a rule about how fresh rights are; nil: it is another mistake.
	Freshness *Test
}

// Test is a test of a package.
type Test struct {
	// Package is its path from the root of the repository, such as ./storage.
	Package string
	// Name is that of its function.
	Name string
}

// Hunted reports whether the simulator must find a bug.
func (b Bug) Hunted() bool { return len(b.Checkers) > 0 || b.Proof == "" && b.Freshness == nil }

// Bugs returns all bugs, in the order of their patches.
func Bugs() ([]Bug, error) {
	files, err := fs.Glob(Patches, "patches/*.patch")
	if err != nil {
		return nil, err
	}
	bugs := make([]Bug, 0, len(files))
	for _, file := range files {
		text, err := Patches.ReadFile(file)
		if err != nil {
			return nil, err
		}
		bugs = append(bugs, parse(file, string(text)))
	}
	return bugs, nil
}

// parse reads the lines before the first file of a patch.
func parse(file, text string) Bug {
	name := strings.TrimSuffix(strings.TrimPrefix(file, "patches/"), ".patch")
	_, name, _ = strings.Cut(name, "-")
	b := Bug{Name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "--- ") {
			break
		}
		if of, ok := strings.CutPrefix(line, "Found by: "); ok {
			b.Checkers = strings.Split(of, ", ")
		}
		if test, ok := strings.CutPrefix(line, "Proof: "); ok {
			b.Proof = test
		}
		if test, ok := strings.CutPrefix(line, "Freshness: "); ok {
			b.Freshness = &Test{}
			b.Freshness.Package, b.Freshness.Name, _ = strings.Cut(test, " ")
		}
	}
	return b
}
