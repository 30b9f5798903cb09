package raftnode_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/raftnode"
)

// A member that joins gets its snapshot slowly, while clients write many times what the log keeps behind a checkpoint:
// the log waits for it, so one snapshot is enough.
func TestTheLogWaitsForAMemberThatJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, func(id uint64, o *raftnode.Options) {
			smallLogs(id, o)
			o.Snapshots.BytesPerSecond = 64 << 10
		})
		f.begin(3)
		for i := range 100 {
			f.put(fmt.Sprintf("old%d", i), strings.Repeat("v", 12<<10)+fmt.Sprint(i))
		}
		if err := f.leader().Checkpoint(); err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for w := range 3 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					f.put(fmt.Sprintf("new%d-%d", w, i), strings.Repeat("w", 8<<10)+fmt.Sprint(i))
					<-time.After(50 * time.Millisecond)
				}
			})
		}
		f.join(4)
		began := f.leader().Status()
		for range 90 {
			<-time.After(time.Second)
			if s := f.leader().Status(); len(s.Voters) == 4 {
				break
			}
		}
		s := f.leader().Status()
		f.mu.Lock()
		streams := f.streams
		f.mu.Unlock()
		if len(s.Voters) != 4 || streams > 1 {
			t.Errorf("after %d entries and %d snapshots: voters %v, learners %v; want 4 voters after 1 snapshot",
				s.LastIndex-began.LastIndex, streams, s.Voters, s.Learners)
		}
		t.Logf("%d snapshots, %d entries", streams, s.LastIndex-began.LastIndex)
		if moved := s.LastIndex - began.LastIndex; moved < 50 {
			t.Errorf("only %d entries meanwhile", moved)
		}
		cancel()
		writers.Wait()
		f.agree(1, 2, 3, 4)
	})
}
