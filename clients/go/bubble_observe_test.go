package tenure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// observedMember tells who observes that one leads, with its own token, and says nothing more.
type observedMember struct {
	tenurev1.UnimplementedElectionServiceServer
	token      uint64
	leaderless bool
}

func (m *observedMember) Observe(_ *tenurev1.ObserveRequest, stream grpc.ServerStreamingServer[tenurev1.ObserveResponse]) error {
	err := stream.Send(&tenurev1.ObserveResponse{
		Header: &tenurev1.ResponseHeader{Revision: m.token},
		Leader: &tenurev1.Leader{Hold: &tenurev1.Hold{Sequencer: &tenurev1.Sequencer{FencingToken: m.token}}},
	})
	<-stream.Context().Done()
	return err
}

func (m *observedMember) GetLeader(context.Context, *tenurev1.GetLeaderRequest) (*tenurev1.GetLeaderResponse, error) {
	if m.leaderless {
		return nil, refusal(codes.Unavailable, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "no")
	}
	return &tenurev1.GetLeaderResponse{}, nil
}

// TestAnObserverLeavesAMemberThatKnowsNothingNew observes through a member that is there and has no leader, and then through another.
func TestAnObserverLeavesAMemberThatKnowsNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCluster(2)
		for i, m := range f.members {
			tenurev1.RegisterElectionServiceServer(m.Member, &observedMember{token: uint64(i + 1), leaderless: i == 0})
		}
		c, err := tenure.Open("tenure://"+f.list[0]+","+f.list[1], tenure.OverMemory(f.net), tenure.WithFixedMembers())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var breaks []error
		var told []*tenure.Observation
		began := time.Now()
		onBreak := tenure.OnBreak(func(cause error) { breaks = append(breaks, cause) })
		for o, err := range c.Observe(ctx, "leader", onBreak) {
			if err != nil {
				break // The hour is over.
			}
			told = append(told, o)
			if took := time.Since(began); o.Leader.Token == 2 && took > time.Minute {
				t.Errorf("left the member after %v", took)
			}
		}
		if len(told) != 2 || told[0].Leader.Token != 1 || told[1].Leader.Token != 2 || !told[1].Gap || told[1].Message.GetGap() {
			t.Errorf("told %+v, want the leaders of both members, and a gap between that no member told of", told)
		}
		if len(breaks) != 2 || breaks[0] == nil || breaks[1] != nil {
			t.Fatalf("told of breaks %v, want one and its end", breaks)
		}
		isBreak(t, breaks[0], "the member stopped responding")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
