//go:build unix

package offline

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// wantOwner demands that all in a directory belongs to a user and group.
func wantOwner(t *testing.T, dir string, uid, gid uint32) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if got, is := info.Sys().(*syscall.Stat_t); !is || got.Uid != uid || got.Gid != gid {
			t.Errorf("%s belongs to %+v, want %d:%d", path, got, uid, gid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What the administrator of the system makes in the directory of a member belongs to the member's user.
func TestWhatTheAdministratorMakesIsTheMembers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the administrator gives files to others")
	}
	const uid, gid = 7400, 7401
	for name, dir := range map[string]string{"the directory is there": "", "it is made in the user's": "new/data"} {
		home := t.TempDir()
		if err := os.Chown(home, uid, gid); err != nil {
			t.Fatal(err)
		}
		env := &cli.Environment{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Output: cli.OutputText}
		at := filepath.Join(home, dir)
		for _, step := range []func() error{
			func() error { return restoreBackup(t.Context(), env, emptyBackup(t), &restoreFlags{dataDir: at}) },
			func() error { return recoverMember(env, &recoverFlags{dataDir: at}) },
			func() error { return recoverMember(env, &recoverFlags{dataDir: at, force: true}) },
			func() error { return recoverMember(env, &recoverFlags{dataDir: at, startAfter: 1 << 20}) },
		} {
			if err := step(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			wantOwner(t, home, uid, gid)
		}
	}
}
