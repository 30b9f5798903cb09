package raftlog_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/raftlog"
)

// TestReadersLookWhileTheLogIsWritten lets others ask a log for all that it tells while it is written and cut; the race detector looks on. What they see never goes back.
func TestReadersLookWhileTheLogIsWritten(t *testing.T) {
	const last = 100
	l := open(t, vfs.NewMem(), 8)
	write(t, l, 1, nil)
	var all sync.WaitGroup
	var written atomic.Bool
	defer written.Store(true)
	all.Go(func() {
		asks := map[string]func() (uint64, error){
			"first index":     l.FirstIndex,
			"last index":      l.LastIndex,
			"truncated index": func() (uint64, error) { return l.Truncated().Index, nil },
			"commit":          func() (uint64, error) { return l.HardState().GetCommit(), nil },
			"appended":        func() (uint64, error) { return l.Appended(), nil },
		}
		for before := map[string]uint64{}; !written.Load(); {
			for name, ask := range asks {
				now, err := ask()
				if err != nil || now < before[name] {
					t.Errorf("%s: got %d, %v, want at least %d", name, now, err, before[name])
					return
				}
				before[name] = now
			}
		}
	})
	all.Go(func() {
		for !written.Load() {
			l.SizeBytes()
			l.SizeBytesFrom(last / 2)
			l.IndexBehind(last, 1000)
			_, _ = l.Term(last)
			_, _ = l.Entries(last, last+1, 1000)
		}
	})
	for index := uint64(2); index <= last; index++ {
		write(t, l, index, nil)
		if index%20 == 0 {
			if err := l.TruncatePrefix(index - 10); err != nil {
				t.Error(err)
			}
		}
	}
	written.Store(true)
	all.Wait()
	if got := l.Truncated(); got != (raftlog.EntryID{Index: last - 10, Term: got.Term}) {
		t.Errorf("truncated: got %v, want %d", got, last-10)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
