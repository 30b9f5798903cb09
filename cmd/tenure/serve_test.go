package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/internal/logline"
)

// TestOnPath shows when a newcomer has to extend PATH before the commands that `tenure serve --dev` prints can run.
func TestOnPath(t *testing.T) {
	dir, other, empty := t.TempDir(), t.TempDir(), t.TempDir()
	for _, d := range []string{dir, other} {
		if err := os.WriteFile(filepath.Join(d, "tenure"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		dir: true,
		dir + string(os.PathListSeparator) + other: true,
		other + string(os.PathListSeparator) + dir: false,
		empty: false,
	} {
		t.Setenv("PATH", path)
		if got := onPath(filepath.Join(dir, "tenure")); got != want {
			t.Errorf("PATH %q: got %v, want %v", path, got, want)
		}
	}
}

// TestLinesOfTheLogAreShort logs a megabyte, as a client could have sent it, in both formats.
func TestLinesOfTheLogAreShort(t *testing.T) {
	for _, format := range []string{logConsole, logJSON} {
		var out bytes.Buffer
		log, err := newLogger(&environment{stderr: &out}, format, "info")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("session ended", zap.String("reason", strings.Repeat("a", 1<<20)))
		if n := out.Len(); n == 0 || n > 2*logline.TextBytesMax {
			t.Errorf("%s: got a line of %d bytes, want at most %d", format, n, 2*logline.TextBytesMax)
		}
	}
}
