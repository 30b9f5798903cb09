package rig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Join starts a new member that brings a join token, and waits until it serves. It may not vote yet.
func (c *Cluster) Join(ctx context.Context, flags ...string) *Member {
	c.t.Helper()
	return c.join(ctx, func(ctx context.Context, operator tenurev1.ClusterServiceClient, name string) (string, error) {
		made, err := operator.AddMember(ctx, &tenurev1.AddMemberRequest{Name: name})
		return made.GetJoinToken(), err
	}, flags)
}

// Replace starts a new member that takes the place of another, and waits until it serves. It may not have it yet.
func (c *Cluster) Replace(ctx context.Context, old *Member, flags ...string) *Member {
	c.t.Helper()
	return c.join(ctx, func(ctx context.Context, operator tenurev1.ClusterServiceClient, name string) (string, error) {
		all, err := operator.ListMembers(ctx, &tenurev1.ListMembersRequest{})
		if err != nil {
			return "", err
		}
		replace := &tenurev1.ReplaceMemberRequest{Name: name}
		for _, m := range all.GetMembers() {
			if m.GetName() == old.name {
				replace.MemberId = m.GetId()
			}
		}
		made, err := operator.ReplaceMember(ctx, replace)
		return made.GetJoinToken(), err
	}, flags)
}

// join starts a new member with the token that an operator makes.
func (c *Cluster) join(
	ctx context.Context, invite func(context.Context, tenurev1.ClusterServiceClient, string) (string, error), flags []string,
) *Member {
	c.t.Helper()
	var peers []string
	for _, m := range c.Running() {
		peers = append(peers, m.Addresses.Peer)
	}
	m := c.Prepare(ctx)
	m.args = append(m.args, "--join", strings.Join(peers, ","), "--join-token-file", c.tokenFile(ctx, m.name, invite))
	m.args = append(m.args, flags...)
	m.Restart(ctx)
	return m
}

// Invite makes a join token for a name and returns a file with it.
func (c *Cluster) Invite(ctx context.Context, name string) string {
	c.t.Helper()
	return c.tokenFile(ctx, name, func(ctx context.Context, operator tenurev1.ClusterServiceClient, name string) (string, error) {
		made, err := operator.AddMember(ctx, &tenurev1.AddMemberRequest{Name: name})
		return made.GetJoinToken(), err
	})
}

// tokenFile has a token made, and makes a file of it. A cluster that has just begun makes none before its version is raised,
// and one without a leader makes none either, so it is asked again for as long as a member may need to start.
func (c *Cluster) tokenFile(
	ctx context.Context, name string, invite func(context.Context, tenurev1.ClusterServiceClient, string) (string, error),
) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		conn := c.Leader(ctx).Dial()
		token, err := invite(ctx, tenurev1.NewClusterServiceClient(conn), name)
		_ = conn.Close() // It was for this call alone.
		if err == nil {
			path := filepath.Join(c.t.TempDir(), "join-token")
			if err = os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
				c.t.Fatal(err)
			}
			return path
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("make a join token for %s: %v", name, err)
		}
	}
}

// joinVersion is the cluster version from which on operators have join tokens made.
const joinVersion = 2

// AwaitRaised waits until every running member uses a cluster version in which members can join. Members that begin a cluster
// together begin with the oldest.
func (c *Cluster) AwaitRaised(ctx context.Context) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, m := range c.Running() {
		for {
			if s, err := m.Status(ctx); err == nil && s.GetClusterVersion() >= joinVersion {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				c.t.Fatalf("member %s does not use cluster version %d", m.name, joinVersion)
			}
		}
	}
}
