package thirdparty_test

import (
	"os"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

// fetched is the folder with the programs that `make thirdparty` fetched; empty without them. Short says that only some of them are to run, in a
// short form, as in CI. Kills is how often a leader is killed.
var (
	fetched = os.Getenv("TENURE_THIRDPARTY")
	short   = os.Getenv("TENURE_THIRDPARTY_SHORT") != ""
	kills   = 1
)

func TestMain(m *testing.M) {
	if fetched != "" && !short {
		kills = 10
	}
	rig.Main(m, &binary, writeTable)
}
