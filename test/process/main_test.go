package process_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/rig"
)

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) {
	rig.Beside(3)
	rig.Main(m, &binary, func() error { return goleak.Find() })
}
