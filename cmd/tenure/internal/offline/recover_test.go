package offline

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// tree describes all that is in a directory: names, modes, sizes, times and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(&all, "%s %v %d %v %x\n", path, info.Mode(), info.Size(), info.ModTime(), sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// restoredDir makes a data directory.
func restoredDir(t *testing.T) string {
	t.Helper()
	env := &cli.Environment{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Output: cli.OutputText}
	dir := filepath.Join(t.TempDir(), "data")
	if err := restoreBackup(t.Context(), env, emptyBackup(t), &restoreFlags{dataDir: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestADryRecoveryChangesNothing(t *testing.T) {
	dir := restoredDir(t)
	for name, change := range map[string]func() error{
		"as it was left":                       func() error { return nil },
		"with a mode of its own":               func() error { return os.Chmod(dir, 0o750) },
		"with half a state that is not in use": func() error { return os.MkdirAll(filepath.Join(dir, "sm-2", "x"), 0o700) },
		"without a lock":                       func() error { return os.Remove(filepath.Join(dir, "LOCK")) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		env := &cli.Environment{Stdout: &said, Stderr: &said, Output: cli.OutputText}
		before := tree(t, dir)
		if err := recoverMember(env, &recoverFlags{dataDir: dir}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, before, after)
		}
		if !strings.Contains(said.String(), "Nothing was changed.") {
			t.Errorf("%s: it said:\n%s", name, &said)
		}
	}
}
