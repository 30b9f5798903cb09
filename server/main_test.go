package server

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/test/rig"
)

// gcPercent lets the collector run a quarter as often as it would. Databases in memory are soon garbage.
const gcPercent = 400

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	rig.Beside(8)
	goleak.VerifyTestMain(m)
}
