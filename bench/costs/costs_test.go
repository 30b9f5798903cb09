package main

import (
	"bytes"
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryKindOfCommandIsMeasured(t *testing.T) {
	measured := map[string]bool{}
	for _, c := range cases() {
		measured[c.kind] = true
	}
	kinds := (&storev1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	for i := range kinds.Len() {
		if kind := string(kinds.Get(i).Name()); !measured[kind] {
			t.Errorf("%s: no case measures it", kind)
		}
	}
}

// TestCommandsAreMeasured applies each command on a small scale.
func TestCommandsAreMeasured(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-scale", "512", "-runs", "1", "-keys", "100", "-dir", t.TempDir()}, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, c := range cases() {
		if line := "| " + c.kind + " | " + c.name + " |"; !strings.Contains(stdout.String(), line) {
			t.Errorf("got no line that begins with %q", line)
		}
	}
	if !strings.Contains(stdout.String(), "The slowest command is ") {
		t.Error("the slowest command is not named")
	}
}
