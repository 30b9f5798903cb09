package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	"github.com/tenure-io/tenure/test/rig"
)

// TestMain makes this test binary the program `tenure` for scripts, and the guardian of commands, and finds goroutines that tests leave behind.
func TestMain(m *testing.M) {
	testscript.Main(leakFinder{m}, map[string]func(){
		"tenure":             func() { os.Exit(run()) },
		process.GuardianName: func() { os.Exit(process.RunGuardian()) },
	})
}

// leakFinder runs tests and fails if goroutines are left.
type leakFinder struct {
	m *testing.M
}

// Run runs the tests.
func (f leakFinder) Run() int {
	rig.Beside(6)
	code := f.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
