package leader_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/leader"
)

// follower is a member that another one leads.
type follower struct{ leader.Node }

func (follower) Status() raftnode.Status { return raftnode.Status{MemberID: 1, Leader: 2, Term: 7} }

func (follower) PeerConn(uint64) (grpc.ClientConnInterface, error) { return &grpc.ClientConn{}, nil }

// A follower refuses what only the leader may do before it relays it. That is no reason to wait: every change of its clients
// would take longer by that.
func TestTheLeaderIsAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay, err := leader.New(leader.Options{
			Node: follower{}, Arrivals: &leader.Arrivals{}, Stopping: t.Context(), Election: time.Second, Logger: zap.NewNop(),
			Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go relay.Run(ctx)
		synctest.Wait()
		began, refused := time.Now(), &raftnode.NotLeaderError{Leader: 2, Term: 7}
		asked := 0
		call := leader.Call{Name: leader.MethodPropose, Far: func(context.Context, *leader.Way, ...grpc.CallOption) error {
			if asked++; asked < 3 {
				return refused
			}
			return nil
		}}
		for i, want := range []struct {
			asked int
			waits bool
		}{{3, true}, {4, false}} { // Only a leader that refuses is asked again later.
			if err := relay.Lead(ctx, call, refused); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); asked != want.asked || took > 0 != want.waits {
				t.Errorf("%d: got it done after %v, asked %d times; want %d times, and that it waits: %t", i, took, asked, want.asked, want.waits)
			}
			began = time.Now()
		}
	})
}
