package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	// askedMax is about how many nodes a member is asked at once.
	askedMax = 1024
	// askTimeout is how long a member has to answer; one that does not says that all nodes are alive.
	askTimeout = time.Second
	// lookEvery is how often a member asks the others where they take part in gossip.
	lookEvery = 3 * time.Second
	// ProblemWithoutMajority is the problem that fewer than a majority of voters take part in gossip, and its runbook.
	ProblemWithoutMajority = "gossip-without-majority"
	// ProblemWithoutLeader is the problem that the leader takes no part in gossip while other voters do, and its runbook.
	ProblemWithoutLeader = "gossip-without-leader"
)

// Gossip is a member's part in gossip: a gossip.Pool, or a model in tests.
type Gossip interface {
	Pool
	// Changed returns a channel that is closed by the next change.
	Changed() <-chan struct{}
	// Judge reports for each node whether the member says that it has failed.
	Judge(ctx context.Context, asked []gossip.Asked) []bool
	// Address is where the member takes part.
	Address() string
}

// Member is what Peers needs of a member: raftnode.Node, or a fake in tests.
type Member interface {
	Status() raftnode.Status
	PeerConn(member uint64) (grpc.ClientConnInterface, error)
}

// Peers asks other members what they see, and answers them.
type Peers struct {
	peerv1.UnimplementedPoolServiceServer

	joined chan struct{} // closed once the member takes part

	mu     sync.Mutex // guards what follows
	member Member     // nil before the member is open
	out    bool       // it was said that the member takes no part
	gossip Gossip     // nil without gossip
	known  map[uint64]*peerv1.JudgeResponse
}

// NewPeers returns what answers other members, which takes no part in gossip yet.
func NewPeers() *Peers {
	return &Peers{joined: make(chan struct{}), known: map[uint64]*peerv1.JudgeResponse{}}
}

// Open says which member it is.
func (p *Peers) Open(m Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member = m
}

// TakePart says how the member takes part in gossip from now on; nil: not at all, or not yet. It is called once with something else.
func (p *Peers) TakePart(g Gossip) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gossip, p.out = g, g == nil
	if g != nil {
		close(p.joined)
	}
}

// Register adds the service to the peer address.
func (p *Peers) Register(r grpc.ServiceRegistrar) { peerv1.RegisterPoolServiceServer(r, p) }

func (p *Peers) parts() (Member, Gossip) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.member, p.gossip
}

// Judge answers another member.
func (p *Peers) Judge(ctx context.Context, r *peerv1.JudgeRequest) (*peerv1.JudgeResponse, error) {
	if len(r.GetNodes()) > askedMax {
		s, _ := reason.Status(reason.Invalid("nodes", "must be at most %d", askedMax), "")
		return nil, s.Err()
	}
	asked := make([]gossip.Asked, 0, len(r.GetNodes()))
	for i, n := range r.GetNodes() {
		if len(n.GetNodeId()) != len(gossip.Key{}.ID) {
			s, _ := reason.Status(reason.Invalid(fmt.Sprintf("nodes[%d].node_id", i), "must have 16 bytes"), "")
			return nil, s.Err()
		}
		asked = append(asked, gossip.Asked{Key: gossip.KeyOf([16]byte(n.GetNodeId()), n.GetName()), Address: n.GetGossipAddress()})
	}
	return p.answer(ctx, asked), nil
}

func (p *Peers) answer(ctx context.Context, asked []gossip.Asked) *peerv1.JudgeResponse {
	_, g := p.parts()
	if g == nil {
		return &peerv1.JudgeResponse{}
	}
	return &peerv1.JudgeResponse{TakesPart: true, GossipAddress: g.Address(), Failed: g.Judge(ctx, asked)}
}

// ask asks all voters, this member included, what they say of nodes: at most askedMax.
func (p *Peers) ask(ctx context.Context, asked []gossip.Asked) Tally {
	member, _ := p.parts()
	status := member.Status()
	out := Tally{Failed: make([]int, len(asked)), Voters: len(status.Voters)}
	r := &peerv1.JudgeRequest{}
	for _, a := range asked {
		r.Nodes = append(r.Nodes, &peerv1.JudgedNode{NodeId: a.ID[:], Name: a.Name, GossipAddress: a.Address})
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make(chan *peerv1.JudgeResponse, len(status.Voters))
	for _, id := range status.Voters {
		if id == status.MemberID {
			go func() { answers <- p.answer(ctx, asked) }()
			continue
		}
		go func() { answers <- askMember(ctx, member, id, r) }()
	}
	for range status.Voters {
		answer := <-answers
		if len(answer.GetFailed()) != len(asked) {
			continue
		}
		for i, failed := range answer.GetFailed() {
			if failed {
				out.Failed[i]++
			}
		}
	}
	return out
}

// askMember asks another member. One that does not answer in time, or does not know the question, says nothing.
func askMember(ctx context.Context, m Member, id uint64, r *peerv1.JudgeRequest) *peerv1.JudgeResponse {
	conn, err := m.PeerConn(id)
	if err != nil {
		return nil
	}
	answer, err := peerv1.NewPoolServiceClient(conn).Judge(ctx, r)
	if err != nil {
		return nil
	}
	return answer
}

// Run learns where other members take part in gossip, until ctx ends.
func (p *Peers) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		p.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look asks the other members once. What a member that does not answer said before still counts: it may be down for a moment.
func (p *Peers) look(ctx context.Context) {
	member, _ := p.parts()
	status := member.Status()
	if len(status.Voters)+len(status.Learners) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var others []uint64
	for _, id := range append(append([]uint64{}, status.Voters...), status.Learners...) {
		if id != status.MemberID {
			others = append(others, id)
		}
	}
	var wait sync.WaitGroup
	answers := make([]*peerv1.JudgeResponse, len(others))
	for i, id := range others {
		wait.Go(func() { answers[i] = askMember(ctx, member, id, &peerv1.JudgeRequest{}) })
	}
	wait.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[uint64]*peerv1.JudgeResponse{}
	for i, id := range others {
		if answers[i] == nil {
			answers[i] = p.known[id]
		}
		if answers[i] != nil {
			known[id] = answers[i]
		}
	}
	p.known = known
}

// Addresses returns where the other members take part in gossip, as far as is known.
func (p *Peers) Addresses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, answer := range p.known {
		if answer.GetTakesPart() {
			out = append(out, answer.GetGossipAddress())
		}
	}
	return out
}

// Alarms returns the problem that no node can be called failed, because too few voters take part in gossip, or the leader does not.
func (p *Peers) Alarms() []raftnode.Alarm {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.member == nil:
		return nil
	case p.gossip != nil:
		return p.withoutMajority(p.member.Status())
	case p.out:
		return p.withoutLeader(p.member.Status())
	}
	return nil
}

// withoutLeader returns the problem of a leader that takes no part while other voters do. Its caller holds mu.
func (p *Peers) withoutLeader(status raftnode.Status) []raftnode.Alarm {
	taking := 0
	for _, id := range status.Voters {
		if id != status.MemberID && p.known[id].GetTakesPart() {
			taking++
		}
	}
	if taking == 0 || status.Leader != status.MemberID {
		return nil
	}
	return []raftnode.Alarm{{
		Name: ProblemWithoutLeader, Member: status.MemberID,
		Message: fmt.Sprintf("This member leads and takes no part in gossip, in which %d of %d voting members take part: no node is registered "+
			"by it or turns critical, however many have died.", taking, len(status.Voters)),
	}}
}

// withoutMajority returns the problem that too few voters take part. Its caller holds mu.
func (p *Peers) withoutMajority(status raftnode.Status) []raftnode.Alarm {
	taking := 0
	for _, id := range status.Voters {
		answer, known := p.known[id]
		if id == status.MemberID || !known || answer.GetTakesPart() {
			// Another problem says it of a member that cannot be reached.
			taking++
		}
	}
	if 2*taking > len(status.Voters) {
		return nil
	}
	return []raftnode.Alarm{{
		Name: ProblemWithoutMajority, Member: status.MemberID,
		Message: fmt.Sprintf("%d of %d voting members take part in gossip: no node turns critical, however many have died.",
			taking, len(status.Voters)),
	}}
}
