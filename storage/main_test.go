package storage_test

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// gcPercent lets the collector run a quarter as often as it would, which takes a fifth of the CPU away. Databases in memory are soon garbage.
const gcPercent = 400

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	goleak.VerifyTestMain(m)
}
