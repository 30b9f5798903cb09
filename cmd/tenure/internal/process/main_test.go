package process

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes this test binary the guardian of commands, too.
func TestMain(m *testing.M) {
	if os.Args[0] == GuardianName {
		os.Exit(RunGuardian())
	}
	goleak.VerifyTestMain(m)
}
