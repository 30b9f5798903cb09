package offline

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/storage"
)

// emptyBackup writes a backup of an empty cluster.
func emptyBackup(t *testing.T) string {
	t.Helper()
	s, err := storage.Open(storage.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // It is thrown away.
	if err = s.Bootstrap(storage.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}}); err != nil {
		t.Fatal(err)
	}
	r := s.NewReader()
	defer r.Close() //nolint:errcheck // As above.
	var backup bytes.Buffer
	if err = storage.WriteBackup(&backup, r, storage.BackupMeta{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	if err = os.WriteFile(path, backup.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// untilExists is a context that ends when a file is there.
type untilExists struct {
	context.Context
	file string
}

func (c untilExists) Err() error {
	if _, err := os.Stat(c.file); err == nil {
		return context.Canceled
	}
	return nil
}

func TestAnInterruptedRestoreLeavesNothingInItsWay(t *testing.T) {
	backup := emptyBackup(t)
	for name, file := range map[string]string{
		"while the backup is verified": "",
		"while the directory is made":  "data/sm-1",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			var said bytes.Buffer
			env := &cli.Environment{Stdout: &said, Stderr: &said, Output: cli.OutputText}
			flags := &restoreFlags{dataDir: filepath.Join(folder, "data")}
			err := restoreBackup(untilExists{t.Context(), filepath.Join(folder, file)}, env, backup, flags)
			if got, want := cli.ExitCode(env, err), cli.ExitInterrupted; got != want {
				t.Errorf("exit code: got %d, want %d (%v)", got, want, err)
			}
			if err := restoreBackup(t.Context(), env, backup, flags); err != nil {
				t.Errorf("again: %v", err)
			}
			if !strings.HasPrefix(said.String(), "Success! ") {
				t.Errorf("it said:\n%s", &said)
			}
		})
	}
}

func TestARestoreThatWasKilledIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sm-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := &cli.Environment{Stdout: io.Discard, Stderr: io.Discard, Output: cli.OutputText}
	err := restoreBackup(t.Context(), env, emptyBackup(t), &restoreFlags{dataDir: dir})
	if err == nil || !strings.Contains(err.Error(), "contains sm-1 but no FORMAT; nothing was changed; give one that is empty or does not exist, or remove ") {
		t.Errorf("got %v", err)
	}
}

func TestALongWorkTellsHowFarItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		env := &cli.Environment{Stderr: &said}
		slow := slowReader(func(p []byte) (int, error) {
			<-time.After(2 * time.Second)
			return len(p), nil
		})
		reader := env.Told(t.Context(), slow, "read")
		for range 6 {
			if _, err := reader.Read(make([]byte, cli.Mebibyte)); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := said.String(), "3 MiB read; Ctrl-C stops it.\n6 MiB read; Ctrl-C stops it.\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// slowReader is a function that reads.
type slowReader func(p []byte) (int, error)

// Read calls the function.
func (f slowReader) Read(p []byte) (int, error) { return f(p) }
