package fault_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/rig"
)

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

// long says that runs are as long as is needed to believe them.
var long = os.Getenv("TENURE_SOAK") == "1"

func TestMain(m *testing.M) {
	rig.Main(m, &binary, func() error { return goleak.Find() })
}
