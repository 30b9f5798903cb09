package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/raftnode/datadir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, fs vfs.FS, path string) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(fs, path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

func TestIdentitySurvivesACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := open(t, fs, "/data")
	if _, known, err := d.Identity(); known || err != nil {
		t.Fatalf("fresh directory: got known %v, error %v", known, err)
	}
	want := datadir.Identity{ClusterID: [16]byte{1, 15: 2}, MemberID: 1<<63 + 5, Incarnation: 7}
	if err := d.WriteIdentity(want); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := d.SetCurrent(12); err != nil {
		t.Fatalf("set current: %v", err)
	}
	after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}), "/data")
	got, known, err := after.Identity()
	if err != nil || !known || got != want {
		t.Errorf("identity after a crash: got %+v %v %v, want %+v", got, known, err, want)
	}
	if epoch, ok, err := after.Current(); epoch != 12 || !ok || err != nil {
		t.Errorf("current after a crash: got %d %v %v, want 12", epoch, ok, err)
	}
}

func TestFormatFileIsChecked(t *testing.T) {
	const rest = `"cluster_id": "00000000000000000000000000000001", "member_id": "a", "incarnation": "b"}`
	tests := map[string]struct {
		content string
		want    error
		text    string
	}{
		"a newer directory names the version to use": {
			content: `{"format": 9, "oldest_binary": "4.2.0", ` + rest, text: "use tenure 4.2.0 or newer",
		},
		"no JSON":           {content: "format 1", want: datadir.ErrDamaged},
		"no format":         {content: `{` + rest, want: datadir.ErrDamaged},
		"member id of zero": {content: strings.ReplaceAll(`{"format": 1, `+rest, `"a"`, `"0"`), want: datadir.ErrDamaged},
		"short cluster id":  {content: `{"format": 1, "cluster_id": "00", "member_id": "a", "incarnation": "b"}`, want: datadir.ErrDamaged},
		"an empty file":     {content: "", want: datadir.ErrDamaged},
		"no checksum":       {content: `{"format": 1, "oldest_binary": "0.1.0", ` + rest, want: datadir.ErrDamaged},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			d := open(t, fs, "/data")
			if err := datadir.WriteFile(fs, "/data", "FORMAT", []byte(tt.content)); err != nil {
				t.Fatal(err)
			}
			_, _, err := d.Identity()
			switch {
			case tt.text != "":
				var tooNew *datadir.TooNewError
				if !errors.As(err, &tooNew) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v, want it to say %q", err, tt.text)
				}
			case !errors.Is(err, tt.want):
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestStrangersAreNotOverwritten(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, fs, "/data")
	if err := datadir.WriteFile(fs, "/data", "holiday.jpg", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Identity(); !errors.Is(err, datadir.ErrNotDataDir) {
		t.Errorf("got %v, want %v", err, datadir.ErrNotDataDir)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			if err := fs.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			d := open(t, fs, path)
			if _, err := datadir.Open(fs, path); !errors.Is(err, datadir.ErrLocked) {
				t.Errorf("second open: got %v, want %v", err, datadir.ErrLocked)
			}
			_ = d
		})
	}
}

func TestDirectoryIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, datadir.Ordered(vfs.Default), path)
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := st.Mode().Perm(), os.FileMode(0o700); got != want {
		t.Errorf("mode: got %v, want %v", got, want)
	}
}

func TestRemoveOtherStates(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, fs, "/data")
	for _, name := range []string{"sm-1", "sm-2", "sm-3", "log", "smile"} {
		if err := fs.MkdirAll("/data/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.RemoveOtherStates(2); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sm-1": false, "sm-2": true, "sm-3": false, "log": true, "smile": true} {
		if _, err := fs.Stat("/data/" + name); (err == nil) != want {
			t.Errorf("%s: got %v, want it kept: %v", name, err, want)
		}
	}
}
