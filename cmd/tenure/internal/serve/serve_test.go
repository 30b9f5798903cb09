package serve

import (
	"os"
	"path/filepath"
	"testing"
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
