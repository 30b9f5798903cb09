package call

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// TestWhoReadsTooSlowlyIsGivenUp sends the parts of a backup to clients that read at a rate of their own.
func TestWhoReadsTooSlowlyIsGivenUp(t *testing.T) {
	const patience = time.Minute
	const part = 256 << 10
	for name, tc := range map[string]struct {
		each  func(n int) time.Duration // how long the client takes for a part
		parts int                       // how many are sent; 1000 are there
	}{
		"at once":                       {func(int) time.Duration { return 0 }, 1000},
		"as slowly as may be":           {func(int) time.Duration { return part / unreadRate * time.Second }, 1000},
		"never":                         {func(int) time.Duration { return time.Hour }, 0},
		"a part just before each limit": {func(int) time.Duration { return patience - time.Second }, 1},
		"half as fast as is needed":     {func(int) time.Duration { return 2 * part / unreadRate * time.Second }, 15},
		"fast, with a pause that is too long": {func(n int) time.Duration {
			if n == 500 {
				return patience + time.Second
			}
			return time.Second
		}, 500},
		"fast, with pauses": {func(n int) time.Duration {
			if n%100 == 50 {
				return patience - time.Second
			}
			return time.Second
		}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, end := context.WithCancel(t.Context())
				defer end() // as gRPC ends a stream after its call
				read := 0
				sender := NewHeldSender(func(*tenurev1.BackupResponse) error {
					select {
					case <-time.After(tc.each(read)):
					case <-ended.Done():
					}
					read++
					return nil
				}, patience)
				defer sender.Close()
				n := 0
				var err error
				for ; n < 1000; n++ {
					if err = sender.Send(t.Context(), &tenurev1.BackupResponse{Data: make([]byte, part)}); err != nil {
						break
					}
				}
				if err != nil {
					if e := reason.Of(err); e.Reason != tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED {
						t.Errorf("got %v, want that the deadline is exceeded", err)
					}
				}
				if n != tc.parts {
					t.Errorf("got %d parts sent, then %v, want %d", n, err, tc.parts)
				}
			})
		})
	}
}
