package raftnode_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// order has a command ordered that no rule refuses.
func (f *fleet) order(what string, cmd *storev1.Command) {
	f.t.Helper()
	f.change(what, func(ctx context.Context, leader *raftnode.Node) error {
		result, err := leader.Propose(ctx, cmd)
		if failure := result.GetFailure(); err == nil && failure != nil {
			return errors.New(storage.FailureText(failure))
		}
		return err
	})
}

// authorise makes the first token, in a cluster whose members take no connections without TLS.
func (f *fleet) authorise() {
	f.t.Helper()
	_, newest := storage.ClusterVersions()
	f.order("raise the version", &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}})
	for _, m := range f.leader().Members() {
		record := proto.CloneOf(m.Member)
		record.ClientSecurity, record.PeerSecurity = storev1.ListenerSecurity_LISTENER_SECURITY_TLS, storev1.ListenerSecurity_LISTENER_SECURITY_TLS
		f.order("record a member", &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: record}}})
	}
	f.changeRights(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: storev1.AuthMode_AUTH_MODE_WARN, Token: &storev1.TokenRecord{
			Accessor: make([]byte, 16), TokenSha256: make([]byte, 32), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
		},
	}}})
}

// changeRights changes tokens, policies or the mode.
func (f *fleet) changeRights(change *storev1.ChangeAuth) {
	f.t.Helper()
	f.order("change rights", &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: change}})
}

// now returns a context for what is allowed under the rights that a member has.
func now(ctx context.Context, n *raftnode.Node) context.Context {
	return raftnode.AllowedBelow(ctx, n.Store().Rights.Now().DenyRevision+1)
}

// TestChangesOfMembersFromBeforeRightsWereTakenAway asks a leader for changes of members that were allowed before the mode became stricter, and then for
// the same under the rights that are.
func TestChangesOfMembersFromBeforeRightsWereTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.join(4, func(s *raftnode.MemberSpec) { s.StayLearner = true })
		f.authorise()
		f.order("record a member that raft does not know", &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{
			Member: &storev1.Member{
				Id: 77, Name: "m77", Learner: true, PeerAddress: "m77:7402",
				ClientSecurity: storev1.ListenerSecurity_LISTENER_SECURITY_TLS, PeerSecurity: storev1.ListenerSecurity_LISTENER_SECURITY_TLS,
			},
		}}})
		before := f.leader().Store().Rights.Now().DenyRevision + 1
		f.changeRights(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_ENFORCE}})
		leader := f.leader()
		self := leader.Status().MemberID
		other := self%3 + 1
		for what, ask := range map[string]func(context.Context) error{
			"a learner is promoted": func(ctx context.Context) error {
				_, err := leader.PromoteMember(ctx, 4, false)
				return err
			},
			"a voter is removed":                func(ctx context.Context) error { return leader.RemoveMember(ctx, other, false) },
			"a member is removed by force":      func(ctx context.Context) error { return leader.RemoveMember(ctx, 4, true) },
			"a recorded member is removed":      func(ctx context.Context) error { return leader.RemoveMember(ctx, 77, false) },
			"the leader is removed":             func(ctx context.Context) error { return leader.RemoveMember(ctx, self, false) },
			"leadership is transferred":         func(ctx context.Context) error { return leader.TransferLeadership(ctx, other) },
			"leadership is transferred to some": func(ctx context.Context) error { return leader.TransferLeadership(ctx, 0) },
		} {
			if err := ask(raftnode.AllowedBelow(t.Context(), before)); !errors.Is(err, raftnode.ErrRightsTaken) {
				t.Errorf("%s: got %v, want %v", what, err, raftnode.ErrRightsTaken)
			}
		}
		if s := leader.Status(); s.Role != "leader" || !slices.Equal(s.Voters, []uint64{1, 2, 3}) || !slices.Equal(s.Learners, []uint64{4}) ||
			len(leader.Members()) != 2 {
			t.Errorf("got %v with voters %v, learners %v and %d records, want that nothing has changed", s.Role, s.Voters, s.Learners, len(leader.Members()))
		}
		if err := leader.RemoveMember(now(t.Context(), leader), 77, false); err != nil {
			t.Errorf("a recorded member is removed under the rights that are: %v", err)
		}
		if _, err := leader.PromoteMember(now(t.Context(), leader), 4, false); err != nil {
			t.Errorf("a learner is promoted under the rights that are: %v", err)
		}
		if err := leader.TransferLeadership(now(t.Context(), leader), other); err != nil {
			t.Errorf("leadership is transferred under the rights that are: %v", err)
		}
	})
}

// TestAChangeOfMembersThatWaitsIsComparedAgain takes rights away while a change of members that was allowed waits until its member can be reached.
func TestAChangeOfMembersThatWaitsIsComparedAgain(t *testing.T) {
	stricter := func(f *fleet) {
		f.changeRights(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_ENFORCE}})
	}
	for what, c := range map[string]struct{ before, meanwhile func(*fleet) }{
		"nothing happens":                    {before: (*fleet).authorise},
		"the mode becomes stricter":          {before: (*fleet).authorise, meanwhile: stricter},
		"there were no rights, and none are": {},
		"the first rights":                   {meanwhile: (*fleet).authorise},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, nil)
				f.begin(3)
				f.join(4, func(s *raftnode.MemberSpec) { s.StayLearner = true })
				if c.before != nil {
					c.before(f)
				}
				f.agree(1, 2, 3, 4)
				f.stop(4)
				leader := f.leader()
				f.await("nothing is heard of the learner", func() bool {
					return slices.ContainsFunc(leader.Members(), func(m raftnode.Member) bool { return m.GetId() == 4 && !m.Reachable })
				})
				promoted := make(chan error, 1)
				go func() {
					_, err := leader.PromoteMember(now(t.Context(), leader), 4, false)
					promoted <- err
				}()
				synctest.Wait()
				if c.meanwhile != nil {
					c.meanwhile(f)
				}
				f.start(4)
				err := <-promoted
				takes := c.meanwhile != nil
				if takes && !errors.Is(err, raftnode.ErrRightsTaken) || !takes && err != nil {
					t.Errorf("got %v, rights are taken away: %v", err, takes)
				}
				if learns := slices.Contains(leader.Status().Learners, 4); learns != takes {
					t.Errorf("the member is a learner: %v, rights are taken away: %v", learns, takes)
				}
			})
		})
	}
}
