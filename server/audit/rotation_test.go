package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/audit"
)

const (
	// fileBytesMax is how large a file becomes, and filesMax is how many older ones are kept.
	fileBytesMax, filesMax = 100 << 20, 10
	// rotationTime is how long it may take until too old files are removed, which is done beside the writing.
	rotationTime = time.Minute
)

// older makes a file that was rotated some days ago, and returns its name.
func older(t *testing.T, dir string, days int) string {
	t.Helper()
	at := time.Now().UTC().AddDate(0, 0, -days)
	name := fmt.Sprintf("audit-%s.jsonl", at.Format("2006-01-02T15-04-05.000"))
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// files returns the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestAFullFileIsRotatedAndTheOldestIsRemoved writes lines to files that are nearly full, and have nothing but a hole in them.
func TestAFullFileIsRotatedAndTheOldestIsRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		free    int64 // in the file
		rotates bool
	}{
		"there is room": {4 << 10, false},
		"it is full":    {8, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "audit.jsonl")
			var before []string
			for days := range filesMax {
				before = append(before, older(t, dir, days+1))
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, fileBytesMax-tc.free); err != nil {
				t.Fatal(err)
			}
			l := open(t, audit.Options{Path: path})
			end := run(t, l)
			if err := put(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			end()
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("the file: %v, %v, want mode 0600", info, err)
			}
			if !tc.rotates {
				if now := files(t, dir); info.Size() <= fileBytesMax-tc.free || len(now) != 1+filesMax {
					t.Errorf("the file has %d bytes, beside %d others, want the line in it and all others", info.Size(), len(now)-1)
				}
				return
			}
			if info.Size() > 1<<10 {
				t.Fatalf("the file has %d bytes, want one line", info.Size())
			}
			line, err := os.ReadFile(path)
			if err != nil || bytes.Count(line, []byte("\n")) != 1 || !bytes.HasPrefix(line, []byte("{")) {
				t.Errorf("the file has %q, %v, want the line alone", line, err)
			}
			oldest := before[filesMax-1]
			deadline, tick := time.After(rotationTime), time.NewTicker(10*time.Millisecond)
			defer tick.Stop()
			for slices.Contains(files(t, dir), oldest) {
				select {
				case <-tick.C:
				case <-deadline:
					t.Fatalf("the oldest is still there: %v", files(t, dir))
				}
			}
			now := files(t, dir)
			for _, kept := range before[:filesMax-1] {
				if !slices.Contains(now, kept) {
					t.Errorf("%s is gone, one of the %d newest", kept, filesMax)
				}
			}
			if len(now) != 1+filesMax {
				t.Errorf("got %v, want the file and %d older ones", now, filesMax)
			}
			for _, name := range now {
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v, want mode 0600", name, info, err)
				}
			}
		})
	}
}
