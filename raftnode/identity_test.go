package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// pair returns a running member that leads and one that does not, at one moment: on a loaded machine the leader may change.
func (c *crew) pair(names ...string) (leader, follower *sailor) {
	c.t.Helper()
	leader = c.leader(names...)
	for _, name := range names {
		if name != leader.name {
			return leader, c.members[name]
		}
	}
	c.t.Fatal("no member but the leader")
	return nil, nil
}

// follower returns a running member that does not lead.
func (c *crew) follower(names ...string) *sailor {
	c.t.Helper()
	_, follower := c.pair(names...)
	return follower
}

// runToEnd runs a member that others refuse: at once, or as soon as it reaches one of them.
func (s *sailor) runToEnd(t *testing.T) error {
	t.Helper()
	if err := s.run(t); err != nil {
		return err
	}
	return s.waitEnd(t)
}

// awaitMet waits until a member has remembered that others know of its present start.
func (s *sailor) awaitMet(t *testing.T) {
	t.Helper()
	await(t, "met", func() bool {
		raw, err := datadir.ReadFile(s.fs, "/data/FORMAT")
		return err == nil && strings.Contains(string(raw), `"met": true`)
	})
}

// said tells whether a member logged something.
func (s *sailor) said(text string) bool { return s.logs.FilterMessageSnippet(text).Len() > 0 }

// awaitMended waits until a member can prove a read. What a process on another copy of its directory acknowledged last, it may learn of only while
// it runs: then it ends, and mends when it is started again.
func (s *sailor) awaitMended(t *testing.T) {
	t.Helper()
	await(t, "a read after the end of the other process", func() bool {
		select {
		case <-s.ended:
			if err := s.stop(); !errors.Is(err, raftnode.ErrLogLostTail) {
				t.Fatalf("member %s ended: %v", s.name, err)
			}
			if err := s.run(t); err != nil {
				t.Fatal(err)
			}
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return s.node.ReadIndex(ctx) == nil
	})
}

// shorten loses the end of a member's log: twenty keys that it and the leader have acknowledged, while the third member was
// away. All but the leader are stopped then. Only who led all the time knows what the member has acknowledged, so where the
// leader changed meanwhile the keys are put again.
func (c *crew) shorten(names ...string) (leader, shortened, other *sailor) {
	c.t.Helper()
	c.sail(names...)
	c.put("first", names...)
	for range 20 {
		leader, shortened = c.pair(names...)
		for _, s := range c.members {
			if s != leader && s != shortened {
				other = s
			}
		}
		term := leader.node.Status().Term
		c.has("first", shortened.name)
		shortened.awaitMet(c.t)
		old := shortened.fs.CrashClone(vfs.CrashCloneCfg{})
		other.crash(c.t)
		for i := range 20 {
			c.put(fmt.Sprint("k", i), leader.name, shortened.name)
		}
		if st := leader.node.Status(); st.Role == "leader" && st.Term == term {
			shortened.crash(c.t)
			shortened.fs = old
			return leader, shortened, other
		}
		if err := other.run(c.t); err != nil {
			c.t.Fatal(err)
		}
	}
	c.t.Fatal("the leader changed every time")
	return nil, nil, nil
}

// A member whose log lost its end says so, is sent what it lost, and votes again.
func TestAShortenedLogIsMended(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	leader, shortened, other := c.shorten(names...)
	for _, s := range []*sailor{other, shortened} {
		if err := s.run(t); err != nil {
			t.Fatal(err)
		}
	}
	if !shortened.said("does not hold what it has promised") {
		t.Error("the member does not say that its disk lost something")
	}
	await(t, "mended", func() bool { return shortened.said("holds again what it has promised") })
	c.put("last", names...)
	for i := range 20 {
		c.has(fmt.Sprint("k", i), names...)
	}
	// With the other away its vote is needed.
	other.crash(t)
	c.put("without the other", leader.name, shortened.name)
}

// A member whose log lost its end gives no vote, also not after a restart: with that vote a member could lead that lacks
// what was acknowledged.
func TestAShortenedLogGivesNoVote(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	leader, shortened, other := c.shorten(names...)
	// As long as it leads it would send what is lost.
	await(t, "the leader to see that it is alone", func() bool { return leader.node.Status().Role != "leader" })
	if err := shortened.run(t); err != nil {
		t.Fatal(err)
	}
	gone := leader.node.Status().MemberID
	leader.crash(t)
	if err := other.run(t); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		// The two are a majority, and would elect a leader within one or two of these.
		elections := time.NewTimer(15 * 20 * shortened.o.Tick)
		<-elections.C
		for _, s := range []*sailor{shortened, other} {
			// Without elections of its own it may still name the one that is gone.
			if st := s.node.Status(); st.Leader != 0 && st.Leader != gone {
				t.Errorf("member %s follows %x without what was acknowledged", s.name, st.Leader)
			}
		}
		shortened.crash(t)
		if err := shortened.run(t); err != nil {
			t.Fatal(err)
		}
	}
	if err := leader.run(t); err != nil {
		t.Fatal(err)
	}
	c.put("last", names...)
	for i := range 20 {
		c.has(fmt.Sprint("k", i), names...)
	}
}

// Of a directory and its copy one can run: the one started last is taken for a restart, and the other ends.
func TestACopiedDirectoryEndsTheOther(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	original := c.follower(names...)
	original.awaitMet(t)
	id := original.node.Status().MemberID

	twin := c.recruit("twin")
	delete(c.members, "twin")
	twin.o.Name, twin.o.InitialCluster = original.name, c.first
	twin.fs = original.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := twin.run(t); err != nil {
		t.Fatal(err)
	}
	err := original.waitEnd(t)
	if !errors.Is(err, transport.ErrStaleIncarnation) || !strings.Contains(err.Error(), "copied or restored") {
		t.Errorf("the original ended with %v, want ErrStaleIncarnation and what to do", err)
	}
	c.members[original.name] = twin
	twin.awaitMended(t)
	c.put("k2", names...)
	c.has("k2", names...)
	if twin.node.Status().MemberID != id {
		t.Error("the twin is another member")
	}
	// The record follows to the new address.
	await(t, "the new address", func() bool {
		for _, m := range c.leader(names...).node.Members() {
			if m.GetId() == id {
				return m.GetPeerAddress() == twin.o.Addresses.Peer && m.Reachable
			}
		}
		return false
	})
}

// Of a directory and its copy that were both started after the copy was made, the one that was first stays, whatever they
// drew for their starts.
func TestACopyOfTheSameStartIsRefused(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	original := c.follower(names...)
	original.awaitMet(t)
	copied := original.fs.CrashClone(vfs.CrashCloneCfg{})
	original.crash(t)
	if err := original.run(t); err != nil {
		t.Fatal(err)
	}
	c.put("k2", names...)
	original.awaitMet(t)
	for range 6 {
		twin := c.recruit("twin")
		delete(c.members, "twin")
		twin.o.Name, twin.o.InitialCluster = original.name, c.first
		twin.fs = copied.CrashClone(vfs.CrashCloneCfg{})
		if err := twin.runToEnd(t); !errors.Is(err, transport.ErrStaleIncarnation) || !strings.Contains(err.Error(), "copied") {
			t.Fatalf("got %v, want ErrStaleIncarnation and what to do", err)
		}
	}
	c.put("k3", names...)
	c.has("k3", names...)
}

// A directory that was put back from a backup is refused once the member was started after it.
func TestAnOlderDirectoryIsRefused(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	s := c.follower(names...)
	s.awaitMet(t)
	old := s.fs.CrashClone(vfs.CrashCloneCfg{})
	for range 2 {
		s.crash(t)
		if err := s.run(t); err != nil {
			t.Fatal(err)
		}
		c.has("k", s.name)
		s.awaitMet(t)
	}
	s.crash(t)
	s.fs = old
	err := s.runToEnd(t)
	if !errors.Is(err, transport.ErrStaleIncarnation) || !strings.Contains(err.Error(), "--join") {
		t.Errorf("got %v, want ErrStaleIncarnation and what to do", err)
	}
	// Also when the others have forgotten all but their records.
	others := make([]string, 0, 2)
	for _, name := range names {
		if name == s.name {
			continue
		}
		others = append(others, name)
		n := c.members[name].node
		await(t, "three starts in the record", func() bool {
			for _, m := range n.Members() {
				if m.GetName() == s.name {
					return m.GetStarts()>>16 == 3
				}
			}
			return false
		})
		await(t, "the record on the disk", func() bool {
			if err := n.Store().AsyncFlush(); err != nil {
				return false
			}
			durable, err := n.Store().DurableApplied()
			return err == nil && durable >= n.Status().Applied
		})
	}
	for _, name := range others {
		c.members[name].crash(t)
	}
	c.sail(others...)
	c.put("k2", others...)
	// However often it tries, it never counts more starts than the one it is refused for.
	for range 3 {
		if err := s.runToEnd(t); !errors.Is(err, transport.ErrStaleIncarnation) {
			t.Errorf("got %v, want ErrStaleIncarnation", err)
		}
	}
	if err := s.runToEnd(t); !errors.Is(err, transport.ErrStaleIncarnation) {
		t.Errorf("after a restart of the others: got %v, want ErrStaleIncarnation", err)
	}
}

// A member that was removed ends, and stays away.
func TestRemovedMembersStayAway(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	s := c.follower(names...)
	id := s.node.Status().MemberID
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == s.name })
	await(t, "the removal", func() bool {
		// Whoever leads: with so short an election time-out that may change.
		leader := c.leader(others...).node
		err := leader.RemoveMember(t.Context(), id, false)
		return err == nil || errors.Is(err, raftnode.ErrMemberUnknown) || errors.Is(err, raftnode.ErrMemberRemoved)
	})
	if err := s.waitEnd(t); !errors.Is(err, raftnode.ErrRemoved) {
		t.Errorf("it ended with %v, want ErrRemoved", err)
	}
	if err := s.runToEnd(t); !errors.Is(err, raftnode.ErrRemoved) {
		t.Errorf("started again: got %v, want ErrRemoved", err)
	}
}

// A member joins, gets the state, and votes when it has caught up; nobody joins in its name then.
func TestAMemberJoins(t *testing.T) {
	c := newCrew(t, "a")
	c.sail("a")
	c.put("k", "a")
	names := []string{"a"}
	for _, name := range []string{"b", "c"} {
		s := c.recruit(name)
		s.o.Join = []string{freeAddress(t), c.members[names[len(names)-1]].o.Addresses.Peer}
		s.o.JoinToken = c.invite(name, names...)
		if err := s.run(t); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		if err := s.node.AwaitState(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.has("k", name)
		await(t, "votes", func() bool { return len(c.members["a"].node.Status().Voters) == len(names) })
	}
	c.leader(names...)
	late := c.recruit("late")
	late.o.Name, late.o.Join, late.o.JoinToken = "b", []string{c.members["c"].o.Addresses.Peer}, c.members["b"].o.JoinToken
	late.waitsForToken(t)
	delete(c.members, "late")
	c.members["a"].crash(t)
	c.put("k2", "b", "c")
	// What began the members matters no more.
	c.members["a"].o.InitialCluster = nil
	c.members["b"].crash(t)
	c.members["b"].o.Join = nil
	for _, name := range []string{"a", "b"} {
		if err := c.members[name].run(t); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.members["b"].fs.Stat("/data/JOIN"); err == nil {
		t.Error("a member with a state remembers how it was added")
	}
	c.has("k2", names...)
}

// A directory that waits for its cluster says so when it is not told any more which.
func TestADirectoryThatWaitsSaysSo(t *testing.T) {
	c := newCrew(t, "a", "b")
	s := c.members["a"]
	ctx, cancel := contextWithPatience(t)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.open(ctx, t)
		done <- err
	}()
	await(t, "the directory", func() bool {
		_, err := s.fs.Stat("/data/FORMAT")
		return err == nil
	})
	cancel()
	if err := <-done; err == nil {
		t.Fatal("it began alone")
	}
	s.o.InitialCluster = nil
	if err := s.run(t); !errors.Is(err, raftnode.ErrWaitsForCluster) {
		t.Errorf("got %v, want ErrWaitsForCluster", err)
	}
	s.o.InitialCluster = []raftnode.Peer{{Name: "z", Address: "127.0.0.1:1"}}
	if err := s.run(t); !errors.Is(err, raftnode.ErrNotFounding) {
		t.Errorf("got %v, want ErrNotFounding", err)
	}
}

// A leader that heard a member before it was started again elsewhere leaves the record that another leader wrote since.
func TestALeaderDoesNotRecordWhatWasSaidBefore(t *testing.T) {
	names := []string{"a", "b"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	first, second := c.pair(names...)
	leader, other := first.node, second.node.Status().MemberID
	await(t, "the record", func() bool {
		return slices.ContainsFunc(leader.Members(), func(m raftnode.Member) bool {
			return m.GetId() == other && m.GetStarts() > 0 && raftnode.Desired(leader, other, m.Member) != nil
		})
	})
	i := slices.IndexFunc(leader.Members(), func(m raftnode.Member) bool { return m.GetId() == other })
	later := leader.Members()[i].Member
	later.Starts, later.PeerAddress = transport.NextStarts(later.GetStarts(), 1), "elsewhere:1"
	if got := raftnode.Desired(leader, other, later); got != nil {
		t.Errorf("got %v, want the record to stay", got)
	}
}
