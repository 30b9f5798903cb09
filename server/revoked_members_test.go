package server_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/identity"
)

// TestNoMemberIsRemovedAfterARevocation removes a member with a token, through two members, while the token is revoked through the third. Once the
// revocation is answered, the members stay as they are.
func TestNoMemberIsRemovedAfterARevocation(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	first, lead := c.members[0], c.leader(t)
	admin := identity.NewToken()
	await(t, "the cluster has the version that tokens need", func() bool {
		_, err := first.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: modeEnforce})
		return err == nil
	})
	made := first.token(t, admin, "operators", "operator write\noperator read\n")
	leader := c.members[lead]
	gone, names := uint64(0), map[uint64]string{}
	voters := func() (ids []uint64) {
		t.Helper()
		// A list is what its member has, and a read proves that this is all.
		await(t, "the member has applied all", func() bool {
			_, err := leader.auth().WhoAmI(as(t.Context(), admin), &tenurev1.WhoAmIRequest{})
			return err == nil
		})
		all, err := leader.ListMembers(as(t.Context(), admin), &tenurev1.ListMembersRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all.GetMembers() {
			if !m.GetLearner() {
				ids = append(ids, m.GetId())
			}
			names[m.GetId()] = m.GetName()
			if !m.GetLeader() {
				gone = m.GetId()
			}
		}
		slices.Sort(ids)
		return ids
	}
	all := voters()
	if len(all) != 3 {
		t.Fatalf("got voters %v, want three", all)
	}
	follower := gone
	ctx := as(t.Context(), made.GetText())
	var calls sync.WaitGroup
	for _, through := range []*member{leader, c.members[(lead+1)%3]} {
		calls.Go(func() {
			_, failed := through.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: follower})
			switch status.Code(failed) {
			case codes.OK, codes.Unauthenticated, codes.NotFound, codes.Unavailable, codes.FailedPrecondition:
			default:
				t.Errorf("the removal: got %v", failed)
			}
		})
	}
	await(t, "the token is revoked", func() bool {
		_, err := leader.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()})
		return err == nil
	})
	before := voters()
	calls.Wait()
	if after := voters(); !slices.Equal(after, before) {
		t.Errorf("when the revocation was answered the voters were %v, and then %v", before, after)
	}
	_, err := leader.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: follower})
	wantError(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
	if len(before) == 3 {
		return
	}
	for i, m := range c.members { // The removal came first, and its member ends.
		if names[follower] != fmt.Sprintf("m%d", i+1) {
			continue
		}
		m.stop() // It has perhaps not heard of it.
		if err = <-m.ended; err != nil && !errors.Is(err, raftnode.ErrRemoved) {
			t.Errorf("the member that was removed ended with %v", err)
		}
		m.ended <- nil
	}
}

// TestAChangeOfMembersIsAllowedAgain has a removal wait for another change of members, while rights are taken away from somebody else. It is made under
// the rights that are.
func TestAChangeOfMembersIsAllowedAgain(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	registry := prometheus.NewRegistry()
	// A leader that is to promote a learner looks for it for ten ticks, and makes no other change meanwhile.
	slowly := func(c *server.Config) { c.Tick = 5 * clusterTick }
	first := startCluster(t, 1, a.securePeers, slowly, func(c *server.Config) { c.Registry = registry }).members[0]
	joins, err := addMember(t, first, &tenurev1.AddMemberRequest{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	d := startMember(t, func(c *server.Config) {
		c.Name, c.Join, c.JoinToken, c.StayLearner = "d", []string{first.at.Peer}, joins.GetJoinToken(), true
	}, a.securePeers, slowly)
	admin := identity.NewToken()
	await(t, "the cluster has the version that tokens need", func() bool {
		_, err = first.auth().BootstrapAuth(t.Context(), &tenurev1.BootstrapAuthRequest{Token: admin, Mode: modeEnforce})
		return err == nil
	})
	revoked := first.token(t, admin, "somebody", `key "k" read`).GetToken().GetAccessor()
	d.stop()
	learner := func() (found *tenurev1.Member) {
		t.Helper()
		all, failed := first.ListMembers(as(t.Context(), admin), &tenurev1.ListMembersRequest{})
		if failed != nil {
			t.Fatal(failed)
		}
		for _, m := range all.GetMembers() {
			if m.GetName() == "d" {
				found = m
			}
		}
		return found
	}
	await(t, "nothing is heard of the learner", func() bool { return !learner().GetReachable() })
	id := learner().GetId()
	var calls sync.WaitGroup
	calls.Go(func() {
		_, refused := first.PromoteMember(as(t.Context(), admin), &tenurev1.PromoteMemberRequest{MemberId: id})
		wantError(t, refused, codes.FailedPrecondition, "MEMBERSHIP_REFUSED")
	})
	awaitGauge(t, registry, "tenure_server_calls_in_flight", 1)
	removed := make(chan struct{})
	calls.Go(func() {
		defer close(removed)
		if _, failed := first.RemoveMember(as(t.Context(), admin), &tenurev1.RemoveMemberRequest{MemberId: id}); failed != nil {
			t.Error(failed)
		}
	})
	await(t, "the removal waits, unless the machine stood still for so long that it did not have to", func() bool {
		select {
		case <-removed:
			return true
		default:
			return gaugeIs(t, registry, "tenure_server_calls_in_flight", 2)
		}
	})
	if _, err = first.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: revoked}); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if still := learner(); still != nil {
		t.Errorf("the removal was answered, and the member is there: %v", still)
	}
}
