package pool_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/pool"
)

// part is a member's part in gossip that says what a test wants.
type part struct {
	address string
	failed  map[gossip.Key]bool
	asked   []gossip.Asked
}

func (p *part) Nodes() []gossip.Node        { return nil }
func (p *part) Node(gossip.Key) gossip.Node { return gossip.Node{} }
func (p *part) Changed() <-chan struct{}    { return nil }
func (p *part) Address() string             { return p.address }
func (p *part) Judge(_ context.Context, asked []gossip.Asked) []bool {
	p.asked = asked
	var out []bool
	for _, a := range asked {
		out = append(out, p.failed[a.Key])
	}
	return out
}

// member is member 1 of three voters. The others do not answer.
type member struct {
	voters []uint64
	leader uint64
}

func (m member) Status() raftnode.Status {
	return raftnode.Status{MemberID: 1, Voters: m.voters, Leader: m.leader}
}

// near is member 1, whose others take part in gossip.
type near struct{ member }

func (near) PeerConn(uint64) (grpc.ClientConnInterface, error) { return answering{}, nil }

// answering answers each question with a member's part in gossip.
type answering struct{ grpc.ClientConnInterface }

func (answering) Invoke(_ context.Context, _ string, _, out any, _ ...grpc.CallOption) error {
	answer, is := out.(*peerv1.JudgeResponse)
	if !is {
		return errors.New("not asked about nodes")
	}
	answer.TakesPart, answer.GossipAddress = true, "10.0.0.2:7403"
	return nil
}

func (member) PeerConn(uint64) (grpc.ClientConnInterface, error) {
	return nil, errors.New("unreachable")
}

func judged(id []byte, name string) *peerv1.JudgeRequest {
	return &peerv1.JudgeRequest{Nodes: []*peerv1.JudgedNode{{NodeId: id, Name: name, GossipAddress: "10.0.0.1:7403"}}}
}

func TestBadQuestionsAreRefused(t *testing.T) {
	p := pool.NewPeers()
	p.TakePart(&part{})
	for name, r := range map[string]*peerv1.JudgeRequest{
		"no id":        judged(nil, "web1"),
		"a short id":   judged(web.ID[:15], "web1"),
		"a long id":    judged(append(web.ID[:], 0), "web1"),
		"a nil node":   {Nodes: []*peerv1.JudgedNode{nil}},
		"one too many": {Nodes: slices.Repeat(judged(web.ID[:], "web1").GetNodes(), 1025)},
	} {
		if _, err := p.Judge(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
	if _, err := p.Judge(t.Context(), &peerv1.JudgeRequest{Nodes: slices.Repeat(judged(web.ID[:], "web1").GetNodes(), 1024)}); err != nil {
		t.Errorf("as many as may be asked: got %v", err)
	}
}

func TestWhatAMemberAnswers(t *testing.T) {
	p := pool.NewPeers()
	if got, err := p.Judge(t.Context(), judged(web.ID[:], "WEB1")); err != nil || got.GetTakesPart() || len(got.GetFailed()) != 0 {
		t.Errorf("before it takes part: got %v, %v, want that it says nothing", got, err)
	}
	g := &part{address: "10.0.0.9:7403", failed: map[gossip.Key]bool{web: true}}
	p.TakePart(g)
	got, err := p.Judge(t.Context(), judged(web.ID[:], "WEB1"))
	if err != nil || !got.GetTakesPart() || got.GetGossipAddress() != g.address || !slices.Equal(got.GetFailed(), []bool{true}) {
		t.Errorf("got %v, %v, want that the node has failed", got, err)
	}
	if len(g.asked) != 1 || g.asked[0] != (gossip.Asked{Key: web, Address: "10.0.0.1:7403"}) {
		t.Errorf("its part in gossip was asked about %v", g.asked)
	}
}

func TestTooFewTakePart(t *testing.T) {
	p := pool.NewPeers()
	if got := p.Alarms(); got != nil {
		t.Errorf("before it is open: got %v", got)
	}
	p.Open(member{voters: []uint64{1, 2, 3}})
	if got := p.Alarms(); got != nil {
		t.Errorf("without gossip: got %v", got)
	}
	p.TakePart(&part{})
	if got := p.Alarms(); got != nil {
		t.Errorf("while the others are not known: got %v, want none, since another problem says so of members that are down", got)
	}
}

func TestALeaderWithoutGossipWarnsIfOthersTakePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, of := range map[string]struct {
			m    pool.Member
			want string
		}{
			"it leads":                 {near{member{[]uint64{1, 2, 3}, 1}}, pool.ProblemWithoutLeader},
			"another one leads":        {near{member{[]uint64{1, 2, 3}, 2}}, ""},
			"the others do not answer": {member{[]uint64{1, 2, 3}, 1}, ""},
			"it is alone":              {near{member{[]uint64{1}, 1}}, ""},
		} {
			p := pool.NewPeers()
			p.Open(of.m)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				p.Run(ctx)
			}()
			synctest.Wait()
			if got := p.Alarms(); got != nil {
				t.Errorf("%s, and may still take part: got %v, want nothing", name, got)
			}
			p.TakePart(nil)
			got := ""
			if alarms := p.Alarms(); len(alarms) > 0 {
				got = alarms[0].Name
			}
			if got != of.want {
				t.Errorf("%s: got %q, want %q", name, got, of.want)
			}
			p.TakePart(&part{})
			if got := p.Alarms(); got != nil {
				t.Errorf("%s, and takes part later: got %v, want nothing", name, got)
			}
			cancel()
			<-ended
		}
	})
}
