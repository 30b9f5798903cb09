package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/storage"
)

// load puts keys through whoever leads until it is ended, and then finds all of them everywhere.
type load struct {
	f       *fleet
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu    sync.Mutex // guards acked
	acked []string
}

func (f *fleet) load() *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{f: f, cancel: cancel}
	for w := range 3 {
		l.workers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("w%d-%d", w, i)
				f.put(key, key)
				l.mu.Lock()
				l.acked = append(l.acked, key)
				l.mu.Unlock()
				<-time.After(20 * time.Millisecond)
			}
		})
	}
	return l
}

func (l *load) end(ids ...uint64) {
	l.f.t.Helper()
	l.cancel()
	l.workers.Wait()
	l.f.agree(ids...)
	for _, id := range ids {
		r := l.f.node(id).Store().NewReader()
		for _, key := range l.acked {
			if _, ok, err := r.Get(key); !ok || err != nil {
				l.f.t.Errorf("member %d lost %s: %v", id, key, err)
			}
		}
		if err := r.Close(); err != nil {
			l.f.t.Error(err)
		}
	}
	if len(l.acked) < 100 {
		l.f.t.Errorf("only %d puts", len(l.acked))
	}
}

// A cluster grows from one to three to five members, one is replaced, and it shrinks to three again, the leader
// included, while clients write.
func TestGrowReplaceShrinkUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(1)
		l := f.load()
		f.join(2)
		f.join(3)
		f.voters(1, 2, 3)
		f.join(4)
		f.join(5)
		f.voters(1, 2, 3, 4, 5)

		f.start(6, func(o raftnode.Options) raftnode.Options { return raftnode.WithEmpty(o, 6, [16]byte{1}) })
		f.makeToken(&storev1.MakeJoinToken{Name: "m6", Replaces: 2})
		f.admit(specOf(6))
		f.ended(2, raftnode.ErrRemoved)
		f.voters(1, 3, 4, 5, 6)

		lead := f.leader().Status().MemberID
		for _, id := range []uint64{lead, 0} {
			if id == 0 {
				id = slices.DeleteFunc(slices.Clone(f.leader().Status().Voters), func(v uint64) bool {
					return v == f.leader().Status().MemberID
				})[0]
			}
			f.change("remove", func(ctx context.Context, leader *raftnode.Node) error {
				return leader.RemoveMember(ctx, id, false)
			})
			f.ended(id, raftnode.ErrRemoved)
		}
		rest := slices.Sorted(slices.Values(f.leader().Status().Voters))
		if len(rest) != 3 || slices.Contains(rest, lead) {
			t.Fatalf("voters at the end: got %v, want three without %d", rest, lead)
		}
		l.end(rest...)
		// Ids are never used again.
		f.makeToken(&storev1.MakeJoinToken{Name: "m2"})
		_, err := f.leader().Admit(t.Context(), tokenOf("m2"), specOf(2))
		if !errors.Is(err, raftnode.ErrMemberRemoved) {
			t.Errorf("add a removed member: got %v, want %v", err, raftnode.ErrMemberRemoved)
		}
		<-time.After(time.Second) // The leader hears of everybody.
		var names []string
		for _, m := range f.leader().Members() {
			if !m.Voter || m.Learner != m.Member.GetLearner() || !m.Known || !m.Reachable {
				t.Errorf("member %s at the end: voter %t, learner %t, recorded as learner %t, known %t, reachable %t",
					m.GetName(), m.Voter, m.Learner, m.Member.GetLearner(), m.Known, m.Reachable)
			}
			names = append(names, m.GetName())
		}
		if got := strings.Join(names, " "); strings.Contains(got, "m2") || len(names) < 2 {
			t.Errorf("recorded members: got %s", got)
		}
	})
}

func TestTransferLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.put("k", "v")
		before := f.leader()
		to := before.Status().MemberID%3 + 1
		<-time.After(time.Second)
		if err := before.TransferLeadership(t.Context(), to); err != nil {
			t.Fatalf("transfer: %v", err)
		}
		if got := f.leader().Status().MemberID; got != to {
			t.Errorf("leader: got %d, want %d", got, to)
		}
		if err := before.TransferLeadership(t.Context(), to); !errors.Is(err, raftnode.ErrNotLeader) {
			t.Errorf("asked of a follower: got %v, want %v", err, raftnode.ErrNotLeader)
		}
		if err := f.leader().TransferLeadership(t.Context(), 99); !errors.Is(err, raftnode.ErrMemberUnknown) {
			t.Errorf("to nobody: got %v, want %v", err, raftnode.ErrMemberUnknown)
		}
		other := to%3 + 1
		f.stop(other)
		f.await("the leader to miss a member", func() bool {
			return !slices.ContainsFunc(f.leader().Members(), func(m raftnode.Member) bool { return m.GetId() == other && m.Reachable })
		})
		<-time.After(5 * time.Second)
		if err := f.leader().TransferLeadership(t.Context(), other); !errors.Is(err, raftnode.ErrTransferFailed) {
			t.Errorf("to a member that is away: got %v, want %v", err, raftnode.ErrTransferFailed)
		}
		f.put("k", "w")
	})
}

// A leader that is removed right after another member hands over to one that is still there: what it saw of the members is
// from before the removal.
func TestTheLeadershipIsNotHandedToARemovedMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(1)
		for id := uint64(2); id <= 4; id++ {
			f.join(id)
		}
		f.voters(1, 2, 3, 4)
		leader := f.leader()
		others := slices.DeleteFunc(slices.Sorted(slices.Values(leader.Status().Voters)), func(id uint64) bool { return id == leader.Status().MemberID })
		if err := leader.RemoveMember(t.Context(), others[0], false); err != nil {
			t.Fatal(err)
		}
		if err := leader.TransferLeadership(t.Context(), 0); err != nil {
			t.Errorf("transfer right after member %d was removed: %v", others[0], err)
		}
		f.ended(others[0], raftnode.ErrRemoved)
	})
}

// The message that asks a member to take over is lost, or comes before that member may campaign: the leader asks again.
func TestALostMessageDoesNotEndATransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.put("k", "v")
		leader := f.leader()
		f.mu.Lock()
		f.takes = 1
		f.mu.Unlock()
		if err := leader.TransferLeadership(t.Context(), leader.Status().MemberID%3+1); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// A member that votes alone says at once why it cannot hand over the leadership.
func TestTheOnlyVoterCannotHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(1)
		f.put("k", "v")
		if err := f.leader().TransferLeadership(t.Context(), 0); !errors.Is(err, raftnode.ErrOnlyVoter) {
			t.Errorf("got %v, want %v", err, raftnode.ErrOnlyVoter)
		}
	})
}

// Changes after which too few voters could be reached are refused, unless forced.
func TestChangesThatLoseTheQuorumAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, func(_ uint64, o *raftnode.Options) { o.Membership.ManualPromotion = true })
		f.begin(3)
		f.put("k", "v")
		away := f.leader().Status().MemberID%3 + 1
		there := away%3 + 1
		f.stop(away)
		<-time.After(5 * time.Second)
		leader := f.leader()
		if err := leader.RemoveMember(t.Context(), there, false); !errors.Is(err, raftnode.ErrLosesQuorum) {
			t.Errorf("remove one of two that are there: got %v, want %v", err, raftnode.ErrLosesQuorum)
		}
		if err := leader.RemoveMember(t.Context(), 77, false); !errors.Is(err, raftnode.ErrMemberUnknown) {
			t.Errorf("remove nobody: got %v, want %v", err, raftnode.ErrMemberUnknown)
		}
		// A learner that never was there cannot vote, but by force.
		f.makeToken(&storev1.MakeJoinToken{Name: "m4"})
		if _, err := leader.Admit(t.Context(), tokenOf("m4"), specOf(4)); err != nil {
			t.Fatalf("add: %v", err)
		}
		if _, err := leader.Admit(t.Context(), tokenOf("m4"), specOf(4)); err != nil {
			t.Errorf("add again: %v", err)
		}
		stolen := specOf(5)
		stolen.Name = "m4"
		if _, err := leader.Admit(t.Context(), tokenOf("m4"), stolen); !errors.Is(err, raftnode.ErrJoinToken) {
			t.Errorf("add with a token that was used: got %v, want %v", err, raftnode.ErrJoinToken)
		}
		if _, err := leader.PromoteMember(t.Context(), 4, false); !errors.Is(err, raftnode.ErrNotCaughtUp) {
			t.Errorf("promote: got %v, want %v", err, raftnode.ErrNotCaughtUp)
		}
		// The one that is away may go: two of two are there.
		if err := leader.RemoveMember(t.Context(), away, false); err != nil {
			t.Errorf("remove the one that is away: %v", err)
		}
		f.put("k", "w")
		if _, err := leader.PromoteMember(t.Context(), 4, true); err != nil {
			t.Errorf("promote by force: %v", err)
		}
		f.put("k", "x")
		// With 4 away, two of three are there, and none of them may go.
		if err := leader.RemoveMember(t.Context(), there, false); !errors.Is(err, raftnode.ErrLosesQuorum) {
			t.Errorf("remove one of two that are there: got %v, want %v", err, raftnode.ErrLosesQuorum)
		}
		if err := leader.RemoveMember(t.Context(), 4, false); err != nil {
			t.Errorf("remove the one that never came: %v", err)
		}
	})
}

// A learner votes once it has caught up, unless it is to stay one.
func TestLearnersArePromoted(t *testing.T) {
	tests := map[string]struct {
		options func(o *raftnode.Options)
		spec    func(s *raftnode.MemberSpec)
		want    bool
	}{
		"by itself":             {want: true},
		"not when it stays":     {spec: func(s *raftnode.MemberSpec) { s.StayLearner = true }},
		"not when asked not to": {options: func(o *raftnode.Options) { o.Membership.ManualPromotion = true }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, func(id uint64, o *raftnode.Options) {
					smallLogs(id, o)
					if tt.options != nil {
						tt.options(o)
					}
				})
				f.begin(1)
				for i := range 50 {
					f.put(fmt.Sprintf("k%d", i), strings.Repeat("v", 8<<10))
				}
				f.join(2, func(s *raftnode.MemberSpec) {
					if tt.spec != nil {
						tt.spec(s)
					}
				})
				f.agree(1, 2)
				<-time.After(20 * time.Second)
				st := f.node(2).Status()
				if got := slices.Contains(st.Voters, 2); got != tt.want || len(st.Voters)+len(st.Learners) != 2 {
					t.Errorf("votes: got %v (voters %v, learners %v), want %v", got, st.Voters, st.Learners, tt.want)
				}
				if tt.want {
					return
				}
				if _, err := f.leader().PromoteMember(t.Context(), 2, false); err != nil {
					t.Errorf("promote: %v", err)
				}
				f.voters(1, 2)
				f.agree(1, 2)
			})
		})
	}
}

// What a leader that was lost between the steps of a change left behind is put in order by the next.
func TestHalfDoneChangesHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.join(4)
		f.voters(1, 2, 3, 4)

		// Recorded, but never added.
		put := &storev1.PutMember{Member: &storev1.Member{Id: 9, Name: "m9", Learner: true}}
		if _, err := f.leader().Propose(t.Context(), &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: put}}); err != nil {
			t.Fatal(err)
		}
		// Removed, but still recorded.
		f.await("the record to say that it votes", func() bool {
			return slices.ContainsFunc(f.leader().Members(), func(m raftnode.Member) bool {
				return m.GetId() == 4 && !m.GetLearner()
			})
		})
		leader := f.leader()
		if leader.Status().MemberID == 4 {
			if err := leader.TransferLeadership(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			leader = f.leader()
		}
		if err := raftnode.ForgetInRaft(t.Context(), leader, 4); err != nil {
			t.Fatal(err)
		}
		f.stop(leader.Status().MemberID)
		recorded := func(id uint64) bool {
			return slices.ContainsFunc(f.leader().Members(), func(m raftnode.Member) bool { return m.GetId() == id })
		}
		f.await("the removed member to be forgotten", func() bool { return !recorded(4) })
		f.ended(4, raftnode.ErrRemoved)
		if !recorded(9) {
			t.Error("a member that may be about to join was forgotten at once")
		}
		f.await("the member that was never added to be forgotten", func() bool { return !recorded(9) })
	})
}

// A member whose record was deleted while it was being added is in raft without anybody talking to it: the leader removes
// it, and the members that are left stay a quorum.
func TestAMemberWithoutRecordIsRemoved(t *testing.T) {
	for _, role := range []string{"learner", "voter"} {
		t.Run(role, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, nil)
				f.begin(3)
				leader := f.leader()
				id := leader.Status().MemberID%3 + 1
				if role == "learner" {
					id = 9
					f.makeToken(&storev1.MakeJoinToken{Name: "m9"})
					if _, err := leader.Admit(t.Context(), tokenOf("m9"), specOf(id)); err != nil {
						t.Fatal(err)
					}
				}
				gone := &storev1.Command{Kind: &storev1.Command_DeleteMember{DeleteMember: &storev1.DeleteMember{Id: id}}}
				propose(t, leader, gone)
				f.await("the member to be removed", func() bool {
					s := f.leader().Status()
					return len(s.Learners) == 0 && !slices.Contains(s.Voters, id)
				})
				if role == "voter" {
					f.ended(id, raftnode.ErrRemoved)
				}
				f.put("after", "1")
			})
		})
	}
}

// TestAMemberIsLookedAtAgainAfterItHasWaited has a member ask to join that clients reach without TLS. While it waits for another change of members, the
// first token is made.
func TestAMemberIsLookedAtAgainAfterItHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, func(_ uint64, o *raftnode.Options) {
			o.ForClients, o.ForPeers = storev1.ListenerSecurity_LISTENER_SECURITY_LOOPBACK, storev1.ListenerSecurity_LISTENER_SECURITY_TLS
		})
		f.begin(3)
		f.makeToken(&storev1.MakeJoinToken{Name: "m5"})
		leader := f.leader()
		away := leader.Status().MemberID%3 + 1
		<-time.After(5 * time.Second) // All say how they listen.
		f.stop(away)
		<-time.After(5 * time.Second)
		var asked sync.WaitGroup
		var removed, joined error
		asked.Go(func() { removed = leader.RemoveMember(t.Context(), away%3+1, false) }) // It waits for the one that is away to come back.
		synctest.Wait()
		asked.Go(func() {
			spec := specOf(5)
			spec.WithoutTLS = true
			_, joined = leader.Admit(t.Context(), tokenOf("m5"), spec)
		})
		synctest.Wait()
		result, err := leader.Propose(t.Context(), &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
			Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
				Mode: storev1.AuthMode_AUTH_MODE_WARN,
				Token: &storev1.TokenRecord{
					Accessor: make([]byte, 16), TokenSha256: tokenOf("admin"), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
				},
			}},
		}}})
		if err != nil || result.GetFailure() != nil {
			t.Fatalf("make the first token: %v, %v", result.GetFailure(), err)
		}
		asked.Wait()
		if !errors.Is(removed, raftnode.ErrLosesQuorum) {
			t.Fatalf("the change before: got %v, want %v", removed, raftnode.ErrLosesQuorum)
		}
		if !errors.Is(joined, membership.ErrWithoutTLS) {
			t.Errorf("got %v, want %v", joined, membership.ErrWithoutTLS)
		}
		for _, m := range leader.Members() {
			if m.GetName() == "m5" {
				t.Error("it was added")
			}
		}
	})
}
