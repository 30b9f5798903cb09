package pool_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// All members of a cluster are stopped, and it goes on from a backup, or from one of them. Members come back under their names, most with empty
// directories, so that each is another node to gossip. They pass again, no session ends that is bound to them, and one that dies is missed.
func TestMembersAreMissedAfterARestore(t *testing.T) {
	for name, begin := range map[string]func(p *pool, ctx context.Context, t *testing.T, file string){
		"restored":  (*pool).restore,
		"recovered": (*pool).recover,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			p := startPool(ctx, t, 3, 1)
			var nodes []*machine
			for _, m := range p.Members {
				nodes = append(nodes, &machine{name: m.Name()})
			}
			bound := p.bind(ctx, 3, nodes, nil)
			bound = append(bound, p.bind(ctx, 1, p.machines, nil)...)
			file := filepath.Join(t.TempDir(), "backup")
			tenure(ctx, t, "backup", file, "--endpoints", p.Endpoints()[0])
			for _, m := range p.Members {
				if err := m.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			begin(p, ctx, t, file)
			for _, m := range p.Members[1:] {
				m.Wipe()
				join := []string{"--name", m.Name(), "--join", p.Members[0].Addresses.Peer, "--join-token-file", p.Invite(ctx, m.Name())}
				m.SetArgs(slices.Concat(join, p.links[m.Name()].Flags())...)
				m.Restart(ctx)
			}

			seen := p.watch(ctx, 0)
			for _, m := range append(nodes, p.machines...) {
				seen.awaitLast(t, passes(m.name, liveness))
			}
			p.wantLive(ctx, bound)
			p.Members[2].Kill()
			seen.awaitLast(t, turnsCritical(p.Members[2].Name(), liveness))
			p.wantLive(ctx, slices.Delete(bound, 2, 3))
		})
	}
}

// restore makes a directory of a backup for the first member, and starts it.
func (p *pool) restore(ctx context.Context, t *testing.T, file string) {
	first := p.Members[0]
	first.Wipe()
	tenure(ctx, t, "restore", file, "--data-dir", first.Dir(), "--keep-sessions", "--no-freeze")
	p.restart(ctx, first)
}

// recover makes a new cluster of the first member, and starts it.
func (p *pool) recover(ctx context.Context, t *testing.T, _ string) {
	first := p.Members[0]
	tenure(ctx, t, "recover", "--data-dir", first.Dir(), "--force-new-cluster")
	p.restart(ctx, first)
}

func (p *pool) restart(ctx context.Context, first *rig.Member) {
	first.SetArgs(append([]string{"--name", first.Name()}, p.links[first.Name()].Flags()...)...)
	first.Restart(ctx)
}

// wantLive demands that sessions have not ended.
func (p *pool) wantLive(ctx context.Context, ids []string) {
	p.t.Helper()
	client := tenurev1.NewSessionServiceClient(p.conn())
	for _, id := range ids {
		s, err := client.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
		if err != nil || s.GetSession().GetEnd() != nil {
			p.t.Errorf("session %s: %v, %v; want it to live on", id, s.GetSession().GetEnd(), err)
		}
	}
}

// tenure runs a command that must not fail.
func tenure(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("tenure %v: %v\n%s", args, err, out)
	}
}
