package raftnode_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	raftpb "go.etcd.io/raft/v3/raftpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

// stranger answers at a peer address with whatever it is told to.
type stranger struct {
	address string
	probe   func(caller *peerv1.PeerHeader) *peerv1.ProbeResponse
	join    func(member *storev1.Member) *peerv1.JoinResponse
}

func (s *stranger) Probe(_ context.Context, req *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	_, newest := storage.ClusterVersions()
	resp := &peerv1.ProbeResponse{Header: &peerv1.PeerHeader{Name: "s", From: 7}}
	if s.probe != nil {
		resp = s.probe(req.GetCaller())
	}
	resp.Header.VersionMax = newest
	return resp, nil
}

func (s *stranger) Join(_ context.Context, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	return s.join(req.GetMember()), nil
}

func (s *stranger) SendSnapshot(peerv1.PeerService_SendSnapshotServer) error { return nil }

func (s *stranger) Compare(context.Context, *peerv1.CompareRequest) (*peerv1.CompareResponse, error) {
	return &peerv1.CompareResponse{}, nil
}

// serve answers until the test ends.
func (s *stranger) serve(t *testing.T) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	tr, err := transport.New(transport.Options{
		Listener: l, Calls: s, Receive: func(*raftpb.Message) {}, Unreachable: func(uint64) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	tr.SetSelf(transport.Self{Member: &storev1.Member{Id: 7, Name: "s"}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// What another member says about the beginning is looked at before it is used.
func TestNobodyBeginsWithABadGenesis(t *testing.T) {
	id, history := []byte(strings.Repeat("c", 16)), []byte(strings.Repeat("h", 16))
	tests := map[string]struct {
		spoil func(g *peerv1.Genesis)
		text  string
	}{
		"a short cluster id":        {func(g *peerv1.Genesis) { g.ClusterId = id[:3] }, "incomplete"},
		"a cluster id of zeros":     {func(g *peerv1.Genesis) { g.ClusterId = make([]byte, 16) }, "incomplete"},
		"no history id":             {func(g *peerv1.Genesis) { g.HistoryId = nil }, "incomplete"},
		"a long history id":         {func(g *peerv1.Genesis) { g.HistoryId = append(history[:16:16], 0) }, "incomplete"},
		"a member without id":       {func(g *peerv1.Genesis) { g.Members[0].Id = 0 }, "no member has the id"},
		"a member named as a disk":  {func(g *peerv1.Genesis) { g.Members[0].Id = ^uint64(0) }, "no member has the id"},
		"two members with the same": {func(g *peerv1.Genesis) { g.Members[0].Id = g.GetMembers()[1].GetId() }, "a copy of the other"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			c := newCrew(t, "a")
			s := &stranger{}
			s.probe = func(caller *peerv1.PeerHeader) *peerv1.ProbeResponse {
				g := &peerv1.Genesis{ClusterId: id, HistoryId: history, Members: []*peerv1.FoundingMember{
					{Name: "s", PeerAddress: s.address, Id: 7, Incarnation: 8},
					{Name: "a", PeerAddress: c.first[0].Address, Id: caller.GetFrom(), Incarnation: caller.GetFromIncarnation()},
				}}
				test.spoil(g)
				return &peerv1.ProbeResponse{Header: &peerv1.PeerHeader{Name: "s", From: 7, ClusterId: id}, Genesis: g}
			}
			s.serve(t)
			a := c.members["a"]
			a.o.InitialCluster = []raftnode.Peer{{Name: "s", Address: s.address}, c.first[0]}
			err := a.run(t)
			if !errors.Is(err, raftnode.ErrBadAnswer) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want ErrBadAnswer with %q", err, test.text)
			}
		})
	}
}

// Members whose directories are copies of each other begin nothing: they would count as two, and be one.
func TestCopiesBeginNothing(t *testing.T) {
	c := newCrew(t, "a")
	s := &stranger{}
	s.probe = func(caller *peerv1.PeerHeader) *peerv1.ProbeResponse {
		return &peerv1.ProbeResponse{
			Header: &peerv1.PeerHeader{Name: "s", From: caller.GetFrom(), FromIncarnation: caller.GetFromIncarnation()},
			Founding: []*peerv1.FoundingMember{
				{Name: "a", PeerAddress: c.first[0].Address}, {Name: "s", PeerAddress: s.address},
			},
		}
	}
	s.serve(t)
	a := c.members["a"]
	a.o.InitialCluster = append(c.first, raftnode.Peer{Name: "s", Address: s.address})
	if err := a.run(t); !errors.Is(err, raftnode.ErrBadAnswer) || !strings.Contains(err.Error(), "a copy of the other") {
		t.Errorf("got %v, want ErrBadAnswer that tells of a copy", err)
	}
}

// A cluster's answer to a request to be added is looked at too.
func TestNobodyJoinsWithABadAnswer(t *testing.T) {
	id := []byte(strings.Repeat("c", 16))
	tests := map[string]*peerv1.JoinResponse{
		"nothing":               {},
		"a short cluster id":    {ClusterId: id[:15]},
		"a cluster id of zeros": {ClusterId: make([]byte, 16)},
		"a member without id":   {ClusterId: id, Members: []*storev1.Member{{Name: "x"}}},
		"two of the same id":    {ClusterId: id, Members: []*storev1.Member{{Id: 4, Name: "x"}, {Id: 4, Name: "y"}}},
	}
	for sentence, resp := range tests {
		t.Run(sentence, func(t *testing.T) {
			c := newCrew(t)
			s := &stranger{join: func(*storev1.Member) *peerv1.JoinResponse { return resp }}
			s.serve(t)
			a := c.recruit("a")
			a.o.Join, a.o.JoinToken = []string{s.address}, someToken
			if err := a.run(t); !errors.Is(err, raftnode.ErrBadAnswer) {
				t.Errorf("got %v, want ErrBadAnswer", err)
			}
		})
	}
}
