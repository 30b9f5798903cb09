package expiry_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// empty is the snapshot of a store without anything.
type empty struct{}

func (empty) Applied() (storage.Applied, error) { return storage.Applied{}, nil }
func (empty) Sessions(storage.SessionID, int) ([]storage.SessionEntry, bool, error) {
	return nil, false, nil
}
func (empty) Delays() ([]storage.Delay, error)                   { return nil, nil }
func (empty) Waits() ([]storage.Wait, error)                     { return nil, nil }
func (empty) Freeze() (*storev1.FreezeRecord, bool, error)       { return nil, false, nil }
func (empty) JoinTokens() ([]storage.JoinToken, error)           { return nil, nil }
func (empty) Tokens(string, int) ([]*storev1.TokenRecord, error) { return nil, nil }
func (empty) Close() error                                       { return nil }

// leading returns timers that lead and have n sessions.
func leading(b *testing.B, n int) *expiry.Timers {
	b.Helper()
	timers, err := expiry.New(expiry.Options{
		Propose: func(ctx context.Context, _ *storev1.Command) (*storev1.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Snapshot: func() expiry.Snapshot { return empty{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	changed := timers.Changed()
	done := make(chan error, 1)
	go func() { done <- timers.Lead(ctx, 1) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	<-changed
	for i := range n {
		e := begun(sid(i), time.Hour)
		e.Revision = uint64(i + 1)
		timers.Publish(storage.Outcome{Events: []*storev1.Event{e}, Applied: storage.Applied{Revision: e.GetRevision()}})
	}
	return timers
}

func BenchmarkRenewals(b *testing.B) {
	const sessions, batch = 100_000, 1024
	for name, known := range map[string]bool{"searched": false, "known": true} {
		b.Run(name, func(b *testing.B) {
			timers := leading(b, sessions)
			all := make([]expiry.Renewal, sessions)
			for i := range all {
				all[i].ID = sid(i)
			}
			timers.Receive(all)
			timers.Settle(1, all)
			b.ResetTimer()
			for n := 0; n < b.N; n += batch {
				at := n % (sessions - batch)
				part := all[at : at+batch]
				if !known {
					for i := range part {
						part[i].Ref = expiry.Ref{}
					}
				}
				timers.Receive(part)
				timers.Settle(1, part)
			}
		})
	}
}

func BenchmarkBytesPerSession(b *testing.B) {
	const sessions = 200_000
	for b.Loop() {
		before := heap()
		timers := leading(b, sessions)
		<-time.After(200 * time.Millisecond) // The wheel has them all.
		b.ReportMetric(float64(heap()-before)/sessions, "B/session")
		runtime.KeepAlive(timers)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
