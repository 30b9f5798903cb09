package raftnode_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/raftnode"
)

// A member that must not vote, because its log lost its end, has no clock of raft's. Reads end there all the same, whether
// it knows of no leader or of one that is gone.
func TestReadsEndOnAMemberThatMends(t *testing.T) {
	for name, led := range map[string]bool{"no leader known": false, "the leader is gone": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, nil)
				f.begin(3)
				f.put("k", "v")
				f.agree(1, 2, 3)
				m := f.leader().Status().MemberID%3 + 1
				if !led {
					f.stop(m)
					f.w.setCut(m)
					f.start(m)
				}
				if err := raftnode.Mend(f.node(m), 1_000_000); err != nil {
					t.Fatal(err)
				}
				f.w.setCut(m)
				if got := f.node(m).Status().Leader != 0; got != led {
					t.Fatalf("knows a leader: got %t, want %t", got, led)
				}
				for _, read := range []func(context.Context) error{
					f.node(m).ReadIndex,
					func(ctx context.Context) error { _, err := f.node(m).ReadIndexLeader(ctx); return err },
				} {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					began := time.Now()
					err := read(ctx)
					cancel()
					if !errors.Is(err, raftnode.ErrNoLeader) && !errors.Is(err, raftnode.ErrNotLeader) ||
						errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("after %v: got %v, want %v", time.Since(began), err, raftnode.ErrNoLeader)
					}
				}
				f.w.setCut(0)
			})
		})
	}
}
