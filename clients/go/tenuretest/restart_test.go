package tenuretest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/clients/go/tenuretest"
)

// recorded makes the program write down how it is called, and returns what tells of it.
func recorded(t *testing.T) (calls func() []string) {
	t.Helper()
	program := os.Getenv("TENURE_BINARY")
	if program == "" {
		program, _ = exec.LookPath("tenure") // Without any, the start skips the test.
	}
	if program == "" {
		return func() []string { return nil }
	}
	dir := t.TempDir()
	list, script := filepath.Join(dir, "calls"), filepath.Join(dir, "tenure")
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>'%s'\nexec '%s' \"$@\"\n", list, program)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TENURE_BINARY", script)
	return func() []string {
		data, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
}

func TestARestartKeepsTheFlagsOfTheStart(t *testing.T) {
	calls := recorded(t)
	member := tenuretest.Start(t, "--log-level", "warn")
	member.Restart()
	member.Restart("--log-format", "json")
	member.Restart()
	want := []string{"--log-level warn", "--log-level warn", "--log-level warn --log-format json", "--log-level warn"}
	got := calls()
	if len(got) != len(want) {
		t.Fatalf("started %d times, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("start %d was %q, want the end %q", i, got[i], want[i])
		}
	}
}

// failing is a test that notes how it failed.
type failing struct {
	testing.TB

	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestAMemberThatWasKilledCannotBePaused(t *testing.T) {
	inner := &failing{TB: t}
	member := tenuretest.Start(inner)
	member.Kill()
	for name, signal := range map[string]func(){"pause": member.Pause, "resume": member.Resume} {
		inner.text = ""
		ended := make(chan any, 1)
		go func() {
			defer func() { ended <- recover() }()
			signal()
		}()
		if panicked := <-ended; panicked != nil || !strings.Contains(inner.text, "not running") {
			t.Errorf("%s: panic %v, failed by %q, want that the member is not running", name, panicked, inner.text)
		}
	}
}
