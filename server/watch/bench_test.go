package watch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/watch"
)

// BenchmarkFanOut publishes events of one key that many watch, or that nobody does, and waits until all have them.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 100, 10_000} {
		for name, key := range map[string]string{"selected": "k", "unrelated": "other"} {
			b.Run(fmt.Sprintf("%s/watchers=%d", name, watchers), func(b *testing.B) {
				f := newFeed(b, watch.Options{})
				f.commit(put("k", ""))
				ctx, cancel := context.WithCancel(context.Background())
				var delivered atomic.Int64
				var wg sync.WaitGroup
				for range watchers {
					wg.Go(func() {
						_ = f.hub.Watch(ctx, watch.Request{
							Selectors: watch.Selectors{Keys: []string{"k"}}.Normal(),
							After:     watch.Position{Revision: 1, Index: watch.Whole},
						}, func(batch watch.Batch) error { delivered.Add(int64(len(batch.Events))); return nil })
					})
				}
				for f.hub.Watchers() < watchers {
					runtime.Gosched()
				}
				b.ResetTimer()
				for range b.N {
					f.commit(put(key, "value"))
				}
				if key == "k" {
					for delivered.Load() < int64(b.N*watchers) {
						runtime.Gosched()
					}
				}
				b.StopTimer()
				cancel()
				wg.Wait()
			})
		}
	}
}

func BenchmarkBytesPerWatcher(b *testing.B) {
	const watchers = 10_000
	for name, same := range map[string]bool{"same key": true, "keys of their own": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := memory()
				f := newFeed(b, watch.Options{})
				f.commit(put("k", ""))
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				for i := range watchers {
					key := "k"
					if !same {
						key = fmt.Sprint("k", i)
					}
					wg.Go(func() {
						_ = f.hub.Watch(ctx, watch.Request{
							Selectors: watch.Selectors{Keys: []string{key}}.Normal(),
							After:     watch.Position{Revision: 1, Index: watch.Whole}, Progress: time.Hour,
						}, func(watch.Batch) error { return nil })
					})
				}
				for f.hub.Watchers() < watchers {
					runtime.Gosched()
				}
				b.ReportMetric(float64(memory()-before)/watchers, "B/watcher")
				cancel()
				wg.Wait()
			}
		})
	}
}

// memory returns the bytes of heap and stacks in use.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
