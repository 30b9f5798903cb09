package rig

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// Main is the TestMain of a package whose tests start members: it makes binary the path of the program, runs the tests, and
// ends the process. If all pass, the checks that come after them may still fail the run.
func Main(m *testing.M, binary *string, checks ...func() error) {
	dir, err := os.MkdirTemp("", "tenure-test-")
	if err == nil {
		*binary, err = Binary(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, check := range checks {
		if code != 0 {
			break
		}
		if err := check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
