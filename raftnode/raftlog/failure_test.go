package raftlog_test

import (
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/internal/errfs"
	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// A log whose disk fails answers nothing as written from then on, and says so through Failed. It never retries: the
// same write succeeds on the disk the second time, and still fails for the caller.
func TestWriteErrorIsFinal(t *testing.T) {
	tests := map[string]func(op errorfs.Op) bool{
		"sync of the write-ahead log": func(op errorfs.Op) bool {
			return path.Ext(op.Path) == ".log" && slices.Contains([]errorfs.OpKind{
				errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo,
			}, op.Kind)
		},
		"write to the write-ahead log": func(op errorfs.Op) bool {
			return path.Ext(op.Path) == ".log" && op.Kind == errorfs.OpFileWrite
		},
	}
	for name, hit := range tests {
		t.Run(name, func(t *testing.T) {
			var on, injected atomic.Bool
			mem := vfs.NewCrashableMem()
			fs := errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if on.Load() && hit(op) && injected.CompareAndSwap(false, true) {
					return errors.New("disk is gone")
				}
				return nil
			}))
			l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"})
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			write(t, l, 1, nil)
			on.Store(true)
			write(t, l, 2, errors.New("any"))
			if !injected.Load() {
				t.Fatal("no error was injected")
			}
			select {
			case <-l.Failed(): // By whoever met the error first, which may be another goroutine.
			case <-time.After(time.Minute):
				t.Error("Failed is not closed")
			}
			write(t, l, 2, raftlog.ErrFailed)
			if err := l.TruncatePrefix(1); err == nil {
				t.Error("truncation after the failure: got nil, want an error")
			}
			if last, _ := l.LastIndex(); last != 1 {
				t.Errorf("last index after the failure: got %d, want 1", last)
			}
			if err := l.Close(); err == nil {
				t.Error("close after the failure: got nil, want the failure")
			}
		})
	}
}

func write(t *testing.T, l *raftlog.Log, index uint64, want error) {
	t.Helper()
	b := l.NewBatch()
	if err := b.Append(entries(index, 1, 1, 100)); err != nil {
		t.Fatalf("append: %v", err)
	}
	err := b.Commit(true)
	switch {
	case (err == nil) != (want == nil):
		t.Fatalf("commit of %d: got %v, want %v", index, err, want)
	case errors.Is(want, raftlog.ErrFailed) && !errors.Is(err, raftlog.ErrFailed):
		t.Fatalf("commit of %d: got %v, want %v", index, err, want)
	}
}

// A hole is found when the log is opened, not when somebody happens to read it.
func TestOpenRefusesHoles(t *testing.T) {
	fs := vfs.NewMem()
	l := open(t, fs, 100)
	b := l.NewBatch()
	if err := b.Append(entries(1, 1, 9, 10)); err != nil {
		t.Fatal(err)
	}
	raftlog.DeleteEntry(b, 5)
	if err := b.Commit(true); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"}); !errors.Is(err, raftlog.ErrCorrupt) {
		t.Errorf("open with a hole: got %v, want %v", err, raftlog.ErrCorrupt)
	}
}

func TestOpenRefusesNewerFormats(t *testing.T) {
	fs := vfs.NewMem()
	l := open(t, fs, 100)
	if err := raftlog.RaiseFormat(l); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"}); !errors.Is(err, raftlog.ErrFormat) {
		t.Errorf("open of a newer log: got %v, want %v", err, raftlog.ErrFormat)
	}
}

// TestAgainstModel appends, overwrites, cuts and reopens at random, and compares every answer with a slice.
func TestAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	fs := vfs.NewMem()
	l := open(t, fs, 20)
	cut, cutTerm, term := uint64(0), uint64(0), uint64(1)
	var model []*raftpb.Entry // from cut + 1
	for step := range 2000 {
		switch n := rng.IntN(20); {
		case n < 12:
			first := cut + uint64(len(model)) + 1
			if back := uint64(rng.IntN(4)); n < 3 && back < uint64(len(model)) {
				first -= back
				term++
			}
			ents := entries(first, term, 1+rng.IntN(5), rng.IntN(3000))
			b := l.NewBatch()
			if err := b.Append(ents); err != nil {
				t.Fatal(err)
			}
			if err := b.Commit(rng.IntN(2) == 0); err != nil {
				t.Fatal(err)
			}
			model = append(model[:first-cut-1], ents...)
		case n < 14 && len(model) > 3:
			to := rng.IntN(len(model) - 1)
			cutTerm = model[to].GetTerm()
			if err := l.TruncatePrefix(cut + uint64(to) + 1); err != nil {
				t.Fatal(err)
			}
			cut += uint64(to) + 1
			model = model[to+1:]
		case n == 14 && step%5 == 0:
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = open(t, fs, 20)
		}
		compare(t, l, rng, cut, cutTerm, model)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, l *raftlog.Log, rng *rand.Rand, cut, cutTerm uint64, model []*raftpb.Entry) {
	t.Helper()
	first, _ := l.FirstIndex()
	last, _ := l.LastIndex()
	if first != cut+1 || last != cut+uint64(len(model)) {
		t.Fatalf("bounds: got %d to %d, want %d to %d", first, last, cut+1, cut+uint64(len(model)))
	}
	if got, err := l.Term(cut); err != nil || got != cutTerm {
		t.Fatalf("term of %d: got %d %v, want %d", cut, got, err, cutTerm)
	}
	if len(model) == 0 {
		return
	}
	lo := rng.IntN(len(model))
	hi := lo + 1 + rng.IntN(len(model)-lo)
	got, err := l.Entries(cut+uint64(lo)+1, cut+uint64(hi)+1, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if show(got) != show(model[lo:hi]) {
		t.Fatalf("entries: got %s, want %s", show(got), show(model[lo:hi]))
	}
	for i, e := range got {
		if term, err := l.Term(e.GetIndex()); err != nil || term != model[lo+i].GetTerm() {
			t.Fatalf("term of %d: got %d %v", e.GetIndex(), term, err)
		}
	}
	size := uint64(0)
	for _, e := range model {
		size += uint64(len(e.GetData()))
	}
	// The size is kept to within some marks.
	if got := l.SizeBytes(); got+1<<20 < size || got > size+64*uint64(len(model))+1<<20 {
		t.Fatalf("size: got %d, want about %d", got, size)
	}
}

// A log whose disk fails while it is opened says so, whichever write it is. Pebble tries the flush of what it read again for ever,
// and waits for it.
func TestAFailedWriteEndsTheOpening(t *testing.T) {
	disk := writing{entries: 20, bytes: 1000}.disk(t)
	gone := errors.New("disk is gone")
	failed := 0
	for i := range int64(60) {
		mem := disk.CrashClone(vfs.CrashCloneCfg{})
		var writes atomic.Int64
		var on atomic.Bool
		on.Store(true)
		fs := errfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) > i {
				return gone
			}
			return nil
		}))
		opened := make(chan error, 1)
		go func() {
			l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log"})
			if err == nil {
				on.Store(false)
				err = l.Close()
			}
			opened <- err
		}()
		select {
		case err := <-opened:
			if err != nil && !errors.Is(err, gone) || errors.Is(err, raftlog.ErrCorrupt) {
				t.Errorf("after %d writes: got %v, want %v", i, err, gone)
			}
			if err != nil {
				failed++
			}
		case <-time.After(time.Minute):
			t.Fatalf("after %d writes the log is opened without end", i)
		}
		// What was written is no worse than after a crash, and nothing of the failed opening is in the way.
		again, err := raftlog.Open(raftlog.Options{FS: mem, Dir: "log"})
		if err != nil {
			t.Fatalf("after %d writes: %v", i, err)
		}
		if last, err := again.LastIndex(); err != nil || last != 21 {
			t.Errorf("after %d writes and another opening: it ends at %d %v, want 21", i, last, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if failed < 10 {
		t.Errorf("%d openings failed: too few to show anything", failed)
	}
}
