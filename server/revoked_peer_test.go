package server_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// TestTheLeaderComparesWhenACallWasAllowed relays, as a member does that lags, what was allowed before a token was revoked: renewals, a
// change and a change of members. A member that says nothing is taken for one that has heard of no revocation.
func TestTheLeaderComparesWhenACallWasAllowed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	lead := c.leader(t)
	leader, follower := c.members[lead], c.members[(lead+1)%3]
	session, err := leader.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	id, err := storage.ParseSessionID(session.GetSessionId())
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("m%d", (lead+1)%3+1)
	conn := dialWith(t, leader.at.Peer, a.dialMember(name), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	header := func(m *member) *peerv1.PeerHeader {
		t.Helper()
		answer, failed := peerv1.NewPeerServiceClient(dialSecure(t, m.at.Peer, a.dialMember(name))).Probe(t.Context(), &peerv1.ProbeRequest{})
		if failed != nil {
			t.Fatal(failed)
		}
		return answer.GetHeader()
	}
	ctx := metadata.NewOutgoingContext(t.Context(), inTheNameOf(t, header(follower), header(leader), name))
	relay := peerv1.NewRelayServiceClient(conn)
	renew := func(below uint64) tenurev1.ErrorReason {
		t.Helper()
		stream, failed := relay.Renew(ctx)
		if failed != nil {
			t.Fatal(failed)
		}
		if failed = stream.Send(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{
			{SessionId: id[:], Number: 1, AuthorisedBelow: below},
		}}); failed != nil {
			t.Fatal(failed)
		}
		answer, failed := stream.Recv()
		if failed != nil || len(answer.GetVerdicts()) != 1 {
			t.Fatalf("got %v, %v, want one verdict", answer, failed)
		}
		return answer.GetVerdicts()[0].GetRefused()
	}
	if got := renew(0); got != 0 {
		t.Errorf("before anything was revoked a renewal is refused: %v", got)
	}
	admin := identity.NewToken()
	await(t, "the cluster has the version that tokens need", func() bool {
		_, err = leader.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: modeEnforce})
		return err == nil
	})
	made := leader.token(t, admin, "web", `key * rw`)
	before := leader.denyRevision(t, admin)
	if got := renew(before + 1); got != 0 {
		t.Errorf("a renewal that was allowed now is refused: %v", got)
	}
	if _, err = leader.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{
		Accessor: made.GetToken().GetAccessor(),
	}); err != nil {
		t.Fatal(err)
	}
	after := leader.denyRevision(t, admin)
	for _, below := range []uint64{0, 1, before + 1, after} {
		if got := renew(below); got != tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED {
			t.Errorf("a renewal that was allowed below %d, where rights were taken away at %d: got %v, want RIGHTS_CHANGED", below, after, got)
		}
		_, err = relay.ChangeMembers(ctx, &peerv1.ChangeMembersRequest{
			AuthorisedBelow: below, Call: &peerv1.ChangeMembersRequest_Remove{Remove: &tenurev1.RemoveMemberRequest{MemberId: 77}},
		})
		wantError(t, err, codes.Unavailable, "RIGHTS_CHANGED")
		answer, failed := relay.Propose(ctx, &peerv1.ProposeRequest{Command: &storev1.Command{
			AuthorisedBelow: below, Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: []byte("v")}},
		}})
		if got := answer.GetResult().GetFailure().GetReason(); failed != nil || got != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD {
			t.Errorf("a change that was allowed below %d: got %v, %v, want DENY_REVISION_OLD", below, got, failed)
		}
	}
	if got := renew(after + 1); got != 0 {
		t.Errorf("a renewal that was allowed after the revocation is refused: %v", got)
	}
	_, err = relay.ChangeMembers(ctx, &peerv1.ChangeMembersRequest{
		AuthorisedBelow: after + 1, Call: &peerv1.ChangeMembersRequest_Remove{Remove: &tenurev1.RemoveMemberRequest{MemberId: 77}},
	})
	wantError(t, err, codes.NotFound, "MEMBER_NOT_FOUND")
	// What a member relays by itself is allowed, over streams and by single calls.
	ours := as(t.Context(), admin)
	if _, err = follower.RenewSession(ours, &tenurev1.RenewSessionRequest{SessionId: session.GetSessionId()}); err != nil {
		t.Error(err)
	}
	if _, err = follower.RemoveMember(ours, &tenurev1.RemoveMemberRequest{MemberId: 77}); infoOf(err).GetReason() != "MEMBER_NOT_FOUND" {
		t.Errorf("got %v, want MEMBER_NOT_FOUND", err)
	}
}

// denyRevision returns the deny revision that a member has.
func (m *member) denyRevision(t *testing.T, admin string) uint64 {
	t.Helper()
	status, err := m.auth().GetAuthStatus(as(t.Context(), admin), &tenurev1.GetAuthStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return status.GetDenyRevision()
}
