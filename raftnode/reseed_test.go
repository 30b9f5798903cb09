package raftnode_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// A snapshot that a member asks for may cost the leader a checkpoint. However often it is asked for, one begins in an election time-out.
func TestAMemberIsSeededAgainOnceInAnElectionTimeout(t *testing.T) {
	const electionTimeout = 20 * 10 * time.Millisecond
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	leader, follower := c.pair(names...)
	conn, err := grpc.NewClient(leader.o.Addresses.Peer, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	asks := &peerv1.ProbeRequest{Caller: &peerv1.PeerHeader{From: follower.node.Status().MemberID}, Mends: true}
	const text = "re-seeds a member"
	begun := time.Now()
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for time.Since(begun) < 10*electionTimeout {
				if _, err := peerv1.NewPeerServiceClient(conn).Probe(t.Context(), asks); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := 0; time.Since(begun) < 10*electionTimeout; i++ {
		c.put(fmt.Sprintf("k%d", i), names...) // Every snapshot has to be a new one.
	}
	askers.Wait()
	if !leader.said(text) {
		t.Error("the member got no snapshot")
	}
	if got, most := leader.logs.FilterMessageSnippet(text).Len(), int(time.Since(begun)/electionTimeout)+1; got > most {
		t.Errorf("%d snapshots began, want %d at most", got, most)
	}
}
