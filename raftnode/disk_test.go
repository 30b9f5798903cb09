package raftnode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// skipWherePebbleChecksItself leaves tests of failing disks to runs without the race detector. With it Pebble v2.1.7 is built
// with checks of its own, and one of them panics now and then after a compaction has failed ("f.maxIntervalIndex in
// TableMetadata out of sync with intervals in L0Sublevels: a != a"). The product is not built with these checks.
func skipWherePebbleChecksItself(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("Pebble's own checks, which come with the race detector, panic after failed compactions")
	}
}

// A disk that fails once stops the member: nothing is acknowledged that is not on it, and nothing is retried.
func TestFailedWritesStopTheMember(t *testing.T) {
	skipWherePebbleChecksItself(t)
	synced := []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo}
	// The first hits pass, so that something is acknowledged before.
	tests := map[string]func(op errorfs.Op) bool{
		"sync of the log": func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "/log/") && path.Ext(op.Path) == ".log" && slices.Contains(synced, op.Kind)
		},
		"write to the log": func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "/log/") && path.Ext(op.Path) == ".log" && op.Kind == errorfs.OpFileWrite
		},
		"new table of the state machine": func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "/sm-") && path.Ext(op.Path) == ".sst" && op.Kind == errorfs.OpFileWrite
		},
		"new manifest of the log": func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "/log/MANIFEST") && op.Kind == errorfs.OpFileWrite
		},
		"manifest of a checkpoint": func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "/snap/") && op.Kind == errorfs.OpCreate
		},
	}
	for name, hit := range tests {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			cause := errors.New("disk is gone")
			var injected atomic.Bool
			var left atomic.Int64
			left.Store(1 << 40)
			fs := errfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if hit(op) && left.Add(-1) < 0 && injected.CompareAndSwap(false, true) {
					return cause
				}
				return nil
			}))
			s := newSweep(3)
			n, err := raftnode.Open(s.options(fs))
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- n.Run(context.Background()) }()
			if err := n.ReadIndex(context.Background()); err != nil {
				t.Fatalf("read index: %v", err)
			}
			for _, w := range s.model.workers {
				if ok, err := s.model.step(context.Background(), n, w); !ok || err != nil {
					t.Fatalf("step: %v %v", ok, err)
				}
			}
			left.Store(3)
			var workers sync.WaitGroup
			for _, w := range s.model.workers {
				workers.Go(func() {
					for {
						ok, err := s.model.step(context.Background(), n, w)
						if err != nil {
							t.Error(err)
						}
						if !ok {
							return
						}
					}
				})
			}
			if err := <-ended; err == nil {
				t.Error("run: got nil, want an error")
			}
			workers.Wait()
			if !injected.Load() {
				t.Fatal("no error was injected")
			}
			if s.model.revision == 0 {
				t.Error("nothing was acknowledged before the error")
			}
			clone := disk.CrashClone(vfs.CrashCloneCfg{})
			if _, err := s.verify(point{fs: clone, known: s.model.knowledge()}, newMemory()); err != nil {
				t.Errorf("after the failure: %v", err)
			}
		})
	}
}

// copyDir copies a directory of files.
func copyDir(t *testing.T, from vfs.FS, src string, to vfs.FS, dst string) {
	t.Helper()
	if err := to.MkdirAll(dst, 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := from.List(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := from.Open(src + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if st.IsDir() {
			copyDir(t, from, src+"/"+name, to, dst+"/"+name)
		} else {
			data, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := datadir.WriteFile(to, dst, name, data); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// replaceDir puts a copy in the place of a directory.
func replaceDir(t *testing.T, fs vfs.FS, copied, dir string) {
	t.Helper()
	if err := errors.Join(fs.RemoveAll(dir), fs.Rename(copied, dir)); err != nil {
		t.Fatal(err)
	}
}

// puts runs a member over a disk for some puts and stops it.
func puts(t *testing.T, fs vfs.FS, n int, cut bool) {
	t.Helper()
	m := start(t, raftnode.Options{FS: fs, Dir: "/data", Snapshots: raftnode.SnapshotOptions{TailEntries: 1}})
	for i := range n {
		propose(t, m.Node, put(fmt.Sprintf("k%d", i), "v"))
	}
	if cut {
		if err := m.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		raftnode.CutLog(t, m.Node)
	}
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesDamageByName(t *testing.T) {
	tests := map[string]struct {
		damage func(t *testing.T, fs vfs.FS)
		want   error
	}{
		"the log lost its end": {
			damage: func(t *testing.T, fs vfs.FS) {
				copyDir(t, fs, "/data/log", fs, "/copy")
				puts(t, fs, 5, false)
				replaceDir(t, fs, "/copy", "/data/log")
			},
			want: raftnode.ErrLogLostTail,
		},
		"the log was cut past the state machine": {
			damage: func(t *testing.T, fs vfs.FS) {
				copyDir(t, fs, "/data/sm-1", fs, "/copy")
				puts(t, fs, 5, true)
				replaceDir(t, fs, "/copy", "/data/sm-1")
			},
			want: raftnode.ErrLogCutPastState,
		},
		"the state machine is of another cluster": {
			damage: func(t *testing.T, fs vfs.FS) {
				other := vfs.NewMem()
				puts(t, other, 5, false)
				copyDir(t, other, "/data/sm-1", fs, "/copy")
				replaceDir(t, fs, "/copy", "/data/sm-1")
			},
			want: raftnode.ErrWrongCluster,
		},
		"FORMAT is gone": {
			damage: func(t *testing.T, fs vfs.FS) {
				if err := fs.Remove("/data/FORMAT"); err != nil {
					t.Fatal(err)
				}
			},
			want: datadir.ErrNotDataDir,
		},
		"CURRENT is gone": {
			damage: func(t *testing.T, fs vfs.FS) {
				if err := fs.Remove("/data/CURRENT"); err != nil {
					t.Fatal(err)
				}
			},
			want: datadir.ErrDamaged,
		},
		"CURRENT is garbage": {
			damage: func(t *testing.T, fs vfs.FS) {
				if err := datadir.WriteFile(fs, "/data", "CURRENT", []byte("sm-x")); err != nil {
					t.Fatal(err)
				}
			},
			want: datadir.ErrDamaged,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			puts(t, fs, 5, false)
			tt.damage(t, fs)
			n, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
			if err == nil {
				err = n.Close()
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("open: got %v, want %v", err, tt.want)
			}
			// What was refused is not locked or changed: the answer stays the same.
			if _, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"}); !errors.Is(err, tt.want) {
				t.Errorf("open again: got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestASecondMemberOnTheSameDirectoryIsRefused(t *testing.T) {
	o := raftnode.Options{Dir: t.TempDir()}
	start(t, o)
	if _, err := raftnode.Open(o); !errors.Is(err, raftnode.ErrLocked) {
		t.Errorf("got %v, want %v", err, raftnode.ErrLocked)
	}
}

// dump returns everything that must be equal on replicas.
func dump(t *testing.T, n *raftnode.Node) string {
	t.Helper()
	var b bytes.Buffer
	if err := n.Store().Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A member that stopped in order and one that crashed and applies the end of its log again come to the same state.
func TestReappliedTailGivesTheSameState(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := newSweep(5)
	m := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	for range 200 {
		for _, w := range s.model.workers {
			if ok, err := s.model.step(context.Background(), m.Node, w); !ok || err != nil {
				t.Fatalf("step: %v %v", ok, err)
			}
		}
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := m.stop(); err != nil {
		t.Fatal(err)
	}
	want := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	got := start(t, raftnode.Options{FS: crashed, Dir: "/data"})
	a, b := want.Store().Applied(), got.Store().Applied()
	if a.Index != b.Index || a.Checksum != b.Checksum || a.Revision != b.Revision {
		t.Errorf("applied: got %+v, want %+v", b, a)
	}
	if dump(t, got.Node) != dump(t, want.Node) {
		t.Error("dumps differ")
	}
}

// Whatever write fails, once or from then on, the member goes on or stops, and what it acknowledged is on the disk.
func TestAnyFailedWriteLosesNothing(t *testing.T) {
	skipWherePebbleChecksItself(t)
	stopped := 0
	runs := 100
	if testing.Short() {
		runs = 20
	}
	for run := range uint64(runs) {
		rng := rand.New(rand.NewPCG(run, 12))
		disk := vfs.NewCrashableMem()
		var on atomic.Bool
		var left atomic.Int64
		left.Store(rng.Int64N(300))
		once := run%2 == 0
		fs := errfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			// Pebble ends the process when a directory or a marker cannot be written, which is as good as a crash.
			name := path.Base(op.Path)
			file := path.Ext(name) != "" || strings.HasPrefix(name, "MANIFEST")
			if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || !file || strings.HasPrefix(name, "marker") {
				return nil
			}
			if n := left.Add(-1); on.Load() && (n == 0 || n < 0 && !once) {
				return fmt.Errorf("disk is gone: %v", op)
			}
			return nil
		}))
		s := newSweep(run)
		n, err := raftnode.Open(s.options(fs))
		if err != nil {
			t.Fatalf("run %d: open: %v", run, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		if err := n.ReadIndex(ctx); err != nil {
			t.Fatalf("run %d: read index: %v", run, err)
		}
		left.Store(1 + rng.Int64N(200))
		on.Store(true)
		var workers sync.WaitGroup
		for _, w := range s.model.workers {
			workers.Go(func() {
				for range 150 {
					ok, err := s.model.step(ctx, n, w)
					if err != nil {
						t.Errorf("run %d: %v", run, err)
					}
					if !ok {
						return
					}
				}
			})
		}
		workers.Wait()
		cancel()
		if err := <-ended; err != nil {
			stopped++
		}
		clone := disk.CrashClone(vfs.CrashCloneCfg{})
		if _, err := s.verify(point{fs: clone, known: s.model.knowledge()}, newMemory()); err != nil {
			t.Errorf("run %d: after the failure: %v", run, err)
		}
	}
	t.Logf("%d of %d members stopped", stopped, runs)
	if stopped < runs/2 {
		t.Error("too few failures were met")
	}
}

// A log that ends before the state is not gone on with, and the refusal says what to do. A recovery takes the state, which has all
// that was committed.
func TestALogThatEndsBeforeTheStateIsRecovered(t *testing.T) {
	fs := vfs.NewMem()
	puts(t, fs, 5, false)
	copyDir(t, fs, "/data/log", fs, "/copy")
	puts(t, fs, 9, false)
	replaceDir(t, fs, "/copy", "/data/log")
	_, err := raftnode.Open(raftnode.Options{FS: fs, Dir: "/data"})
	if !errors.Is(err, raftnode.ErrLogLostTail) || !strings.Contains(err.Error(), "tenure member remove") ||
		!strings.Contains(err.Error(), "tenure recover") {
		t.Fatalf("got %v, want %v and what to do", err, raftnode.ErrLogLostTail)
	}
	r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: fs, Dir: "/data"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != 9 || r.Unconfirmed != 0 || r.LostUpTo != 0 {
		t.Errorf("got %+v, want 9 keys, and nothing that is unconfirmed or lost", r)
	}
	m := start(t, raftnode.Options{FS: fs, Dir: "/data"})
	if got := m.Store().Applied(); got.Keys != 9 || got.Revision < r.NewRevision {
		t.Errorf("got %d keys at revision %d, want 9 at %d", got.Keys, got.Revision, r.NewRevision)
	}
	propose(t, m.Node, put("after", "v"))
}
