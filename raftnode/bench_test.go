package raftnode_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenure-io/tenure/raftnode"
)

// BenchmarkPropose puts 256-byte values on a disk, with so many callers at once.
func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			m := start(b, raftnode.Options{Dir: b.TempDir()})
			value := string(make([]byte, 256))
			var key atomic.Uint64
			share(b, callers, func() error {
				_, err := m.Propose(context.Background(), put(fmt.Sprintf("key-%d", key.Add(1)%100_000), value))
				return err
			})
		})
	}
}

// BenchmarkReadIndex proves reads, with so many callers at once.
func BenchmarkReadIndex(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			m := start(b, raftnode.Options{Dir: b.TempDir()})
			share(b, callers, func() error { return m.ReadIndex(context.Background()) })
		})
	}
}

// BenchmarkRawSync is what a put is compared with: 300 bytes appended to a file and synced.
func BenchmarkRawSync(b *testing.B) {
	f, err := os.Create(b.TempDir() + "/raw")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, 300)
	for b.Loop() {
		if _, err := f.Write(buf); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}

// share runs b.N calls on so many goroutines.
func share(b *testing.B, callers int, call func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	ended := make(chan error, callers)
	b.ResetTimer()
	for range callers {
		go func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range callers {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
