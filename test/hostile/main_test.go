package hostile_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/rig"
)

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

// TestMain runs the tests, or, in a process that a test started for it, one attack.
func TestMain(m *testing.M) {
	if orders := os.Getenv(ordersVariable); orders != "" {
		if err := obey(orders); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rig.Main(m, &binary, func() error { return goleak.Find() })
}
