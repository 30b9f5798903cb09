package raftlog_test

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// tables returns the tables of the log.
func tables(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".sst" })
}

// Where the last record of the MANIFEST cannot be read, the log has every entry all the same, as after a crash, or is
// refused with all its tables.
func TestTheLastRecordOfTheManifest(t *testing.T) {
	outcomes := map[string]int{}
	for entries := uint64(20); entries <= 300; entries += 20 {
		fs := vfs.NewCrashableMem()
		o := raftlog.Options{FS: fs, Dir: "log", MemTableSize: 128 << 10}
		l, err := raftlog.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err = l.Bootstrap(raftlog.EntryID{Index: 1, Term: 1}); err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			b := l.NewBatch()
			e := &raftpb.Entry{Index: new(i + 2), Term: new(uint64(1)), Data: bytes.Repeat([]byte{byte(i)}, 4<<10)}
			if err = errors.Join(b.Append([]*raftpb.Entry{e}), b.Commit(true)); err != nil {
				t.Fatal(err)
			}
		}
		if err = l.Close(); err != nil {
			t.Fatal(err)
		}
		name, err := atomicfs.ReadMarker(fs, "log", "manifest")
		if err != nil {
			t.Fatal(err)
		}
		raw := slices.Clone(content(t, fs, "log/"+name))
		for _, removed := range []bool{false, true} {
			disk := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := datadir.WriteFile(disk, "log", name, raw[:len(raw)-1]); err != nil {
				t.Fatal(err)
			}
			if removed {
				removeOldWALs(t, disk)
			}
			before := tables(t, disk)
			o.FS = disk
			l, err := raftlog.Open(o)
			if errors.Is(err, raftlog.ErrCorrupt) {
				outcomes["refused"]++
				if after := tables(t, disk); !slices.Equal(after, before) {
					t.Errorf("%d entries: tables after an open that was refused: got %q, want %q", entries, after, before)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			last, err := l.LastIndex()
			if err = errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			if last != entries+1 {
				t.Errorf("%d entries, without old write-ahead logs %t: the log ends at %d, want %d", entries, removed, last, entries+1)
			}
			outcomes["whole"]++
		}
	}
	t.Log(outcomes)
	if outcomes["refused"] < 5 || outcomes["whole"] < 5 {
		t.Errorf("got %v", outcomes)
	}
}

// removeOldWALs leaves the newest write-ahead log only: Pebble keeps some to use them again.
func removeOldWALs(t *testing.T, fs vfs.FS) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".log" })
	for _, name := range names[:len(names)-1] {
		if err := fs.Remove("log/" + name); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, fs vfs.FS, p string) []byte {
	t.Helper()
	f, err := fs.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return raw
}
