package raftnode_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// someToken is a join token that nobody made.
func someToken() ([]byte, error) { return tokenOf("nobody"), nil }

// proposeToken has the leader apply a command about join tokens, as soon as the cluster version knows them.
func (c *crew) proposeToken(cmd *storev1.Command, names ...string) {
	c.t.Helper()
	await(c.t, "a command about a join token", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		result, err := c.leader(names...).node.Propose(ctx, cmd)
		return err == nil && result.GetFailure() == nil
	})
}

// invite makes the join token of a name.
func (c *crew) invite(name string, names ...string) func() ([]byte, error) {
	c.t.Helper()
	hash := sha256.Sum256(tokenOf(name))
	token := &storev1.MakeJoinToken{Name: name, TokenSha256: hash[:], TtlMs: time.Hour.Milliseconds()}
	c.proposeToken(&storev1.Command{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: token}}, names...)
	return func() ([]byte, error) { return tokenOf(name), nil }
}

// begin opens a member beside the test. The returned function waits for the end of that.
func (s *sailor) begin(t *testing.T) (ended func() error, cancel context.CancelFunc) {
	t.Helper()
	ctx, cancel := contextWithPatience(t)
	done := make(chan error, 1)
	go func() {
		n, err := s.open(ctx, t)
		if err == nil {
			err = n.Close()
		}
		done <- err
	}()
	return func() error { return <-done }, cancel
}

// waitsForToken fails unless a member that asks to join stays outside and says what an operator has to run.
func (s *sailor) waitsForToken(t *testing.T) {
	t.Helper()
	before := s.logs.FilterMessageSnippet("tenure member add " + s.o.Name).Len()
	ended, cancel := s.begin(t)
	await(t, "what an operator has to run", func() bool {
		return s.logs.FilterMessageSnippet("tenure member add "+s.o.Name).Len() > before
	})
	cancel()
	if err := ended(); err == nil {
		t.Error("it joined")
	}
}

// only fails unless these are all members that a member knows of, in raft and in the records.
func only(t *testing.T, n *raftnode.Node, names ...string) {
	t.Helper()
	var got []string
	for _, m := range n.Members() {
		got = append(got, m.GetName())
	}
	slices.Sort(got)
	if s := n.Status(); !slices.Equal(got, names) || len(s.Voters)+len(s.Learners) != len(names) {
		t.Errorf("members: got %v, %d of them vote and %d do not; want %v", got, len(s.Voters), len(s.Learners), names)
	}
}

// Nobody joins a cluster who was not invited by name: without a token, with a wrong one, and with one for another name a
// member stays outside, says what an operator has to run, and changes nothing.
func TestAnUninvitedMemberStaysOutside(t *testing.T) {
	c := newCrew(t, "a")
	c.sail("a")
	c.put("k", "a")
	await(t, "the record", func() bool { return len(c.members["a"].node.Members()) == 1 })
	b := c.recruit("b")
	b.o.Join = []string{c.members["a"].o.Addresses.Peer}
	b.waitsForToken(t)
	b.o.JoinToken = someToken
	b.waitsForToken(t)
	b.o.JoinToken = c.invite("c", "a")
	b.waitsForToken(t)
	b.o.JoinToken = func() ([]byte, error) { return nil, errors.New("the file is not there yet") }
	b.waitsForToken(t)
	only(t, c.members["a"].node, "a")

	// It goes on by itself when the token comes.
	var token atomic.Pointer[[]byte]
	b.o.JoinToken = func() ([]byte, error) { return *token.Load(), nil }
	token.Store(new(tokenOf("nobody")))
	before := b.logs.FilterMessageSnippet("tenure member add b").Len()
	ended, cancel := b.begin(t)
	defer cancel()
	await(t, "what an operator has to run", func() bool {
		return b.logs.FilterMessageSnippet("tenure member add b").Len() > before
	})
	c.invite("b", "a")
	token.Store(new(tokenOf("b")))
	if err := ended(); err != nil {
		t.Fatalf("with its token: %v", err)
	}
	only(t, c.members["a"].node, "a", "b")
}

// A token works once, for one disk: who used it may ask again after a crash, and nobody else may. It ends with its time, if
// nobody used it, and with the member.
func TestAJoinTokenIsForOneMember(t *testing.T) {
	c := newCrew(t, "a")
	c.sail("a")
	b := c.recruit("b")
	b.o.Join, b.o.JoinToken = []string{c.members["a"].o.Addresses.Peer}, c.invite("b", "a")
	// Opened and closed at once, it has asked and has no state. What it wrote down may be lost, too.
	for _, lost := range []bool{false, true} {
		ended, cancel := b.begin(t)
		if err := ended(); err != nil {
			t.Fatal(err)
		}
		cancel()
		if lost {
			if err := b.fs.Remove("/data/JOIN"); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := c.recruit("other")
	other.o.Name, other.o.Join, other.o.JoinToken = "b", b.o.Join, b.o.JoinToken
	other.waitsForToken(t)
	if err := b.run(t); err != nil {
		t.Fatal(err)
	}
	await(t, "the vote", func() bool { return len(c.members["a"].node.Status().Voters) == 2 })
	id := b.node.Status().MemberID
	await(t, "the removal", func() bool {
		err := c.leader("a", "b").node.RemoveMember(t.Context(), id, true)
		return err == nil || errors.Is(err, raftnode.ErrMemberUnknown) || errors.Is(err, raftnode.ErrMemberRemoved)
	})
	if err := b.waitEnd(t); !errors.Is(err, raftnode.ErrRemoved) {
		t.Errorf("removed: got %v, want ErrRemoved", err)
	}
	other.waitsForToken(t)

	// One that ended.
	d := c.recruit("d")
	d.o.Join, d.o.JoinToken = b.o.Join, c.invite("d", "a")
	hash := sha256.Sum256(tokenOf("d"))
	c.proposeToken(&storev1.Command{Kind: &storev1.Command_EndJoinTokens{EndJoinTokens: &storev1.EndJoinTokens{
		Term:   c.leader("a").node.Status().Term,
		Tokens: []*storev1.JoinTokenRef{{Name: "d", TokenSha256: hash[:]}},
	}}}, "a")
	d.waitsForToken(t)
	only(t, c.members["a"].node, "a")
}

// A member whose request was recorded when the leader was lost is added by the next, also if it is away for longer than
// leaders wait for members to ask again.
func TestTheNextLeaderAddsAMemberThatAskedTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.makeToken(&storev1.MakeJoinToken{Name: "m9"})
		hash := sha256.Sum256(tokenOf("m9"))
		m := &storev1.Member{Id: 9, Incarnation: 9, Name: "m9", PeerAddress: "m9:7402"}
		leader := f.leader()
		propose(t, leader, &storev1.Command{Kind: &storev1.Command_JoinMember{JoinMember: &storev1.JoinMember{
			Member: m, TokenSha256: hash[:],
		}}})
		f.stop(leader.Status().MemberID)
		f.await("the learner", func() bool { return slices.Contains(f.leader().Status().Learners, 9) })
		<-time.After(5 * time.Minute)
		if s := f.leader().Status(); !slices.Contains(s.Learners, 9) {
			t.Errorf("learners: got %v, want 9", s.Learners)
		}
	})
}

// A leader is replaced too: it hands the leadership over, and the next one does it.
func TestTheLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, func(_ uint64, o *raftnode.Options) { o.Membership.ManualPromotion = true })
		f.begin(3)
		f.put("k", "v")
		old := f.leader().Status().MemberID
		// The members of this fleet are not recorded by themselves.
		oldest, newest := storage.ClusterVersions()
		propose(t, f.leader(), &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{
			Member: &storev1.Member{Id: old, Incarnation: old, Name: specOf(old).Name, VersionMin: oldest, VersionMax: newest},
		}}})
		f.start(4, func(o raftnode.Options) raftnode.Options { return raftnode.WithEmpty(o, 4, [16]byte{1}) })
		f.makeToken(&storev1.MakeJoinToken{Name: "m4", Replaces: old})
		f.admit(specOf(4))
		f.ended(old, raftnode.ErrRemoved)
		want := []uint64{1, 2, 3, 4}
		want = slices.DeleteFunc(want, func(id uint64) bool { return id == old })
		f.voters(want...)
		f.put("k", "w")
	})
}

// Until the cluster version is raised nobody joins: a member of an older program could not apply it.
func TestNobodyJoinsBeforeTheVersionIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.put("k", "v")
		leader := f.leader()
		if v := leader.Store().Applied().ClusterVersion; v != 1 {
			t.Fatalf("cluster version %d, want 1", v)
		}
		applied := leader.Store().Applied().Index
		if _, err := leader.Admit(t.Context(), tokenOf("m4"), specOf(4)); !errors.Is(err, raftnode.ErrNotEnabled) {
			t.Errorf("got %v, want ErrNotEnabled", err)
		}
		if s := leader.Status(); len(s.Voters) != 3 || len(s.Learners) != 0 || leader.Store().Applied().Index != applied {
			t.Errorf("it changed something: %d voters, %d learners, index %d after %d",
				len(s.Voters), len(s.Learners), leader.Store().Applied().Index, applied)
		}
	})
}
