package checkpoint_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source writes the files of a checkpoint at an index.
func source(fs vfs.FS, index uint64, files map[string]string) checkpoint.Source {
	return func(dir string) (*checkpoint.Manifest, error) {
		if err := fs.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for name, content := range files {
			if err := datadir.WriteFile(fs, dir, name, []byte(content)); err != nil {
				return nil, err
			}
		}
		return &checkpoint.Manifest{Index: index, Term: 1, ConfState: []byte("members")}, nil
	}
}

func catalogue(t *testing.T, fs vfs.FS) *checkpoint.Catalogue {
	t.Helper()
	if err := errors.Join(fs.MkdirAll("/data", 0o700), datadir.SyncDir(fs, "/")); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenCatalogue(fs, "/data/snap")
	if err != nil {
		t.Fatalf("open catalogue: %v", err)
	}
	return c
}

func list(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("/data/snap")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func mustMake(t *testing.T, c *checkpoint.Catalogue, fs vfs.FS, index uint64) {
	t.Helper()
	if _, err := c.Make(source(fs, index, map[string]string{"a.sst": fmt.Sprint(index)})); err != nil {
		t.Fatalf("make: %v", err)
	}
}

func TestTheNewestIsKept(t *testing.T) {
	fs := vfs.NewCrashableMem()
	c := catalogue(t, fs)
	if c.Newest() != nil || c.Hold() != nil {
		t.Error("an empty catalogue has a checkpoint")
	}
	mustMake(t, c, fs, 10)
	held := c.Hold()
	mustMake(t, c, fs, 20)
	if got := list(t, fs); len(got) != 2 {
		t.Errorf("with one held: got %v, want two", got)
	}
	if _, err := checkpoint.Verify(fs, "/data/snap/"+held.Name); err != nil {
		t.Errorf("held checkpoint: %v", err)
	}
	if err := c.Release(held); err != nil {
		t.Fatal(err)
	}
	if got := list(t, fs); len(got) != 1 || c.Newest().Index != 20 {
		t.Errorf("after release: got %v, newest %d, want one, 20", got, c.Newest().Index)
	}
	// One that is not newer is not taken.
	mustMake(t, c, fs, 20)
	if got := list(t, fs); len(got) != 1 {
		t.Errorf("the same index again: got %v, want one", got)
	}

	after := fs.CrashClone(vfs.CrashCloneCfg{})
	if got := catalogue(t, after).Newest(); got == nil || got.Index != 20 {
		t.Errorf("after a crash: got %+v, want index 20", got)
	}
	if err := c.Forget(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, fs); len(got) != 0 || c.Newest() != nil {
		t.Errorf("after forget: got %v", got)
	}
}

// What is forgotten is forgotten after a crash, too, held or not.
func TestForgottenCheckpointsStayForgotten(t *testing.T) {
	for name, hold := range map[string]bool{"held": true, "not held": false} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			c := catalogue(t, fs)
			mustMake(t, c, fs, 10)
			var held *checkpoint.Checkpoint
			if hold {
				held = c.Hold()
			}
			if err := c.Forget(); err != nil {
				t.Fatal(err)
			}
			if got := catalogue(t, fs.CrashClone(vfs.CrashCloneCfg{})).Newest(); got != nil {
				t.Errorf("after a crash: got index %d, want none", got.Index)
			}
			if !hold {
				return
			}
			if err := c.Release(held); err != nil {
				t.Error(err)
			}
			if got := list(t, fs); len(got) != 0 {
				t.Errorf("after release: got %v, want none", got)
			}
		})
	}
}

func TestUnfinishedCheckpointsAreRemoved(t *testing.T) {
	fs := vfs.NewMem()
	c := catalogue(t, fs)
	mustMake(t, c, fs, 10)
	cause := errors.New("disk is full")
	if _, err := c.Make(func(dir string) (*checkpoint.Manifest, error) {
		return nil, errors.Join(fs.MkdirAll(dir, 0o700), cause)
	}); !errors.Is(err, cause) {
		t.Errorf("make: got %v, want %v", err, cause)
	}
	for _, name := range []string{"new-7", "00000000000000000099-1"} {
		if err := fs.MkdirAll("/data/snap/"+name+"/data", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := catalogue(t, fs).Newest(); got == nil || got.Index != 10 {
		t.Errorf("newest: got %+v, want index 10", got)
	}
	if got := list(t, fs); len(got) != 1 {
		t.Errorf("left behind: got %v, want one", got)
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	tests := map[string]func(fs vfs.FS, dir string) error{
		"a changed file": func(fs vfs.FS, dir string) error {
			return datadir.WriteFile(fs, dir+"/data", "b.sst", []byte("BBB"))
		},
		"a longer file": func(fs vfs.FS, dir string) error {
			return datadir.WriteFile(fs, dir+"/data", "b.sst", []byte("bbbb"))
		},
		"a missing file": func(fs vfs.FS, dir string) error { return fs.Remove(dir + "/data/b.sst") },
		"another file": func(fs vfs.FS, dir string) error {
			return datadir.WriteFile(fs, dir+"/data", "c.sst", nil)
		},
		"a name that leaves the directory": func(fs vfs.FS, dir string) error {
			return checkpoint.WriteManifest(fs, dir, &checkpoint.Manifest{
				Format: 1, Index: 5, Term: 1, Files: []checkpoint.File{{Name: "../../FORMAT"}},
			})
		},
		"a newer manifest": func(fs vfs.FS, dir string) error {
			return checkpoint.WriteManifest(fs, dir, &checkpoint.Manifest{Format: 2, Index: 5, Term: 1})
		},
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			c := catalogue(t, fs)
			made, err := c.Make(source(fs, 5, map[string]string{"a.sst": "aaa", "b.sst": "bbb"}))
			if err != nil {
				t.Fatal(err)
			}
			dir := "/data/snap/" + made.Name
			m, err := checkpoint.Verify(fs, dir)
			if err != nil || m.SizeBytes() != 6 || string(m.ConfState) != "members" {
				t.Fatalf("undamaged: got %+v, %v", m, err)
			}
			if err := damage(fs, dir); err != nil {
				t.Fatal(err)
			}
			if _, err := checkpoint.Verify(fs, dir); !errors.Is(err, checkpoint.ErrInvalid) {
				t.Errorf("got %v, want %v", err, checkpoint.ErrInvalid)
			}
		})
	}
}

func TestACheckpointServesWhomItNames(t *testing.T) {
	m := &checkpoint.Manifest{Index: 10, Term: 1, ConfState: []byte("members")}
	tests := map[string]struct {
		cut     uint64
		members string
		want    bool
	}{
		"the log goes on behind it":               {cut: 10, members: "members", want: true},
		"the log begins later":                    {cut: 11, members: "members"},
		"somebody joined or left in the meantime": {cut: 5, members: "others"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := m.Serves(tt.cut, []byte(tt.members)); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
