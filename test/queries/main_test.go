package queries_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tenure-queries-")
	if err == nil {
		binary, err = rig.Binary(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
