package process

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// withoutFirstName is what this test binary is called as which it works on after the end of its first thread.
const withoutFirstName = "without-first"

// TestMain makes this test binary the guardian of commands, too, and what else a test starts by its name.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case GuardianName:
		os.Exit(RunGuardian())
	case withoutFirstName:
		os.Exit(runWithoutFirst())
	}
	goleak.VerifyTestMain(m)
}
