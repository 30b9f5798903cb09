package hostile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAForeignDirectoryIsLeftAlone starts a member on a directory that is somebody else's, as a typo may: it refuses, and
// changes nothing there.
func TestAForeignDirectoryIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "foreign")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), binary, "serve", "--data-dir", dir,
		"--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0").CombinedOutput()
	if err == nil {
		t.Errorf("it serves from a directory that is not its own:\n%s", said)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the directory is now %v, %v; want it as it was", info.Mode(), err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("the directory has %v, %v; want its one file", files, err)
	}
}
