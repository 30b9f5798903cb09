package fault_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// A cluster grows from one member to five, has one replaced and two removed, under load: no request fails that a retry
// does not cure, and no session, lock or watch is lost.
func TestMembersComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("killed leaders and a rolling restart are enough with -short")
	}
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 1)
	w := startCrowd(t, c.Members, 16)
	p := startPatient(t, w.rec, c.Members)
	follow := func(members []*rig.Member) {
		w.follow(members)
		for _, c := range p.callers {
			c.follow(members)
		}
	}
	for range 4 {
		w.settle(t, 100)
		c.Join(ctx)
		awaitVoters(ctx, t, c, len(c.Running()))
		follow(c.Running())
	}
	w.settle(t, 200)

	replaced := notLeading(ctx, t, c)
	c.Replace(ctx, replaced)
	awaitGone(ctx, t, c, replaced)
	left := without(c.Running(), replaced)
	follow(left)
	w.settle(t, 200)
	replaced.Kill()

	for range 2 {
		gone := notLeading(ctx, t, c)
		follow(without(c.Running(), gone))
		admin(ctx, t, c, func(ctx context.Context, members tenurev1.ClusterServiceClient) error {
			id := memberID(ctx, t, c, gone)
			if id == 0 {
				return nil // An earlier attempt did it.
			}
			_, err := members.RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: id})
			return err
		})
		w.settle(t, 200)
		gone.Kill()
	}
	awaitVoters(ctx, t, c, 3)
	p.end(ctx, t)
	w.stop()
	report := judge(t, c, w.rec, w.seen)
	t.Logf("1 → 5 members, one replaced, 5 → 3; the longest pause in writes was %v\n%s",
		w.rec.longestPause.Round(time.Millisecond), report)
	floors(t, report, map[string]int{"linearizable operations": 500, "replay revisions": 500})
}

func without(members []*rig.Member, gone *rig.Member) []*rig.Member {
	var left []*rig.Member
	for _, m := range members {
		if m != gone {
			left = append(left, m)
		}
	}
	return left
}

// notLeading returns a running voter that does not lead.
func notLeading(ctx context.Context, t *testing.T, c *rig.Cluster) *rig.Member {
	t.Helper()
	leader := c.Leader(ctx)
	for _, m := range c.Running() {
		if m != leader && m != c.Members[0] {
			return m
		}
	}
	t.Fatal("no member but the leader")
	return nil
}

// listed returns the members as the leader lists them.
func listed(ctx context.Context, t *testing.T, c *rig.Cluster) []*tenurev1.Member {
	t.Helper()
	var all []*tenurev1.Member
	admin(ctx, t, c, func(ctx context.Context, members tenurev1.ClusterServiceClient) error {
		r, err := members.ListMembers(ctx, &tenurev1.ListMembersRequest{})
		all = r.GetMembers()
		return err
	})
	return all
}

// memberID returns the id of a member; 0 if it is not listed.
func memberID(ctx context.Context, t *testing.T, c *rig.Cluster, m *rig.Member) uint64 {
	t.Helper()
	for _, l := range listed(ctx, t, c) {
		if l.GetName() == m.Name() {
			return l.GetId()
		}
	}
	return 0
}

// awaitGone waits until a member is none any more.
func awaitGone(ctx context.Context, t *testing.T, c *rig.Cluster, m *rig.Member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for memberID(ctx, t, c, m) != 0 {
		wait(ctx, 100*time.Millisecond)
	}
}

// admin makes an operator's call on the leader, again while it may pass.
func admin(ctx context.Context, t *testing.T, c *rig.Cluster, call func(context.Context, tenurev1.ClusterServiceClient) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for {
		conn := c.Leader(ctx).Dial()
		err := call(ctx, tenurev1.NewClusterServiceClient(conn))
		closeConn(t, conn)
		if err == nil {
			return
		}
		if s := read(err); !s.passing() && s.reason != "membership_refused" || ctx.Err() != nil {
			t.Fatal(err)
		}
		wait(ctx, 200*time.Millisecond)
	}
}

func closeConn(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// awaitVoters waits until so many members vote, and no other is left.
func awaitVoters(ctx context.Context, t *testing.T, c *rig.Cluster, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	for {
		voters, others := 0, 0
		for _, m := range listed(ctx, t, c) {
			if m.GetLearner() {
				others++
			} else {
				voters++
			}
		}
		if voters == want && others == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d voters and %d learners, want %d voters", voters, others, want)
		}
		wait(ctx, 50*time.Millisecond)
	}
}
