package datadir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

// listing says of everything below a directory, and of itself, what a refusal must not change.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := entry.Info()
		if err == nil {
			found[path] = fmt.Sprint(st.Mode(), st.Size(), st.ModTime().UnixNano())
		}
		if err == nil && st.IsDir() {
			found[path] = fmt.Sprint(st.Mode(), st.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A directory that cannot be used keeps its mode, its files and their times: given by mistake, it may be the machine's own.
func TestARefusedDirectoryIsLeftAsItIs(t *testing.T) {
	tests := map[string]struct {
		file, content string
		refused       func(error) bool
	}{
		"somebody else's":        {"log/syslog", "x", func(err error) bool { return errors.Is(err, datadir.ErrNotDataDir) }},
		"half a restore":         {"sm-1/CURRENT", "x", func(err error) bool { return errors.Is(err, datadir.ErrNotDataDir) }},
		"a newer program's":      {"FORMAT", `{"format": 9, "oldest_binary": "4.2.0"}`, isTooNew},
		"not our FORMAT":         {"FORMAT", "zip", func(err error) bool { return errors.Is(err, datadir.ErrDamaged) }},
		"FORMAT a directory":     {"FORMAT/x", "x", func(err error) bool { return err != nil }},
		"a file for a directory": {"", "x", func(err error) bool { return err != nil }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			above := filepath.Join(t.TempDir(), "above")
			dir := filepath.Join(above, "data")
			file := filepath.Join(dir, filepath.FromSlash(tt.file))
			err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(tt.content), 0o644))
			old := time.Now().Add(-time.Hour)
			for _, path := range []string{file, filepath.Dir(file), dir, above} {
				err = errors.Join(err, os.Chtimes(path, old, old))
			}
			if err != nil {
				t.Fatal(err)
			}
			before := listing(t, above)
			d, err := datadir.Open(datadir.Ordered(vfs.Default), dir)
			if !tt.refused(err) {
				t.Errorf("got %v, want it refused", err)
			}
			if d != nil {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			if after := listing(t, above); !maps.Equal(after, before) {
				t.Errorf("after the refusal: got %v, want %v", after, before)
			}
		})
	}
}

func isTooNew(err error) bool {
	var tooNew *datadir.TooNewError
	return errors.As(err, &tooNew)
}

// What a member has acknowledged survives a crash also when several directories had to be made for it.
func TestAllDirectoriesThatWereMadeSurviveACrash(t *testing.T) {
	disk := vfs.NewCrashableMem()
	want := datadir.Identity{MemberID: 1, Incarnation: 2}
	if err := open(t, disk, "/var/lib/tenure/a").WriteIdentity(want); err != nil {
		t.Fatal(err)
	}
	got, known, err := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), "/var/lib/tenure/a").Identity()
	if err != nil || !known || got != want {
		t.Errorf("after a crash: got %+v %v %v, want %+v", got, known, err, want)
	}
}
