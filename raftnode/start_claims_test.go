package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// peersOf returns a client of a member's peer address, and what that member says of itself.
func peersOf(t *testing.T, s *sailor) (peerv1.PeerServiceClient, *peerv1.PeerHeader) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+s.o.Addresses.Peer, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := peerv1.NewPeerServiceClient(conn)
	resp, err := client.Probe(t.Context(), &peerv1.ProbeRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return client, resp.GetHeader()
}

// claimStart calls a member as another one, with a number of starts.
func claimStart(t *testing.T, at *sailor, victim *peerv1.PeerHeader, starts uint64, address string) error {
	t.Helper()
	client, to := peersOf(t, at)
	md := metadata.Pairs(
		"tenure-peer-cluster", fmt.Sprintf("%x", victim.GetClusterId()),
		"tenure-peer-from", strconv.FormatUint(victim.GetFrom(), 16),
		"tenure-peer-to", strconv.FormatUint(to.GetFrom(), 16),
		"tenure-peer-incarnation", strconv.FormatUint(victim.GetFromIncarnation(), 16),
		"tenure-peer-starts", strconv.FormatUint(starts, 10))
	if address != "" {
		md.Set("tenure-peer-address", address)
	}
	_, err := client.Compare(metadata.NewOutgoingContext(t.Context(), md), &peerv1.CompareRequest{})
	return err
}

// awaitRaised waits until members of a cluster that began together know the newest version.
func (c *crew) awaitRaised(names ...string) {
	c.t.Helper()
	for _, name := range names {
		await(c.t, "the newest cluster version", func() bool {
			return c.members[name].node.Store().Applied().ClusterVersion >= 2
		})
	}
}

// alarmed reports whether a member shows an alarm.
func (s *sailor) alarmed(name string) bool {
	return slices.ContainsFunc(s.node.Alarms(), func(a raftnode.Alarm) bool { return a.Name == name })
}

// TestForgedStartsKeepNobodyAway names later starts of a member to the others, while it runs and while it is away.
func TestForgedStartsKeepNobodyAway(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	c.awaitRaised(names...)
	victim := c.follower(names...)
	_, header := peersOf(t, victim)
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == victim.name })
	forge := func() {
		t.Helper()
		for _, name := range others {
			for _, starts := range []uint64{1 << 60, transport.NextStarts(header.GetStarts(), 7)} {
				for _, address := range []string{"", freeAddress(t), victim.o.Addresses.Peer} {
					if err := claimStart(t, c.members[name], header, starts, address); status.Code(err) != codes.Unavailable {
						t.Errorf("start %d at member %s: got %v, want Unavailable", transport.StartOf(starts), name, err)
					}
				}
			}
		}
	}
	forge()
	for _, name := range others {
		// The alarm needs the answer of the victim, which a machine that stands still may not give in time.
		await(t, "the alarm", func() bool {
			_ = claimStart(t, c.members[name], header, 1<<60, "") // It is refused, as above.
			return c.members[name].alarmed(raftnode.AlarmStartRefused)
		})
	}
	c.put("k2", names...)
	c.has("k2", names...)
	victim.crash(t)
	forge()
	if err := victim.run(t); err != nil {
		t.Fatal(err)
	}
	c.put("k3", names...)
	c.has("k3", names...)
}

// impostor answers probes in a member's name.
type impostor struct {
	peerv1.UnimplementedPeerServiceServer
	header *peerv1.PeerHeader
	starts atomic.Uint64
}

func (i *impostor) Probe(context.Context, *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	h := proto.CloneOf(i.header)
	h.Starts = i.starts.Load()
	return &peerv1.ProbeResponse{Header: h}, nil
}

// serve answers at an address of its own, which it returns.
func (i *impostor) serve(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	peerv1.RegisterPeerServiceServer(server, i)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// TestAnOperatorOverrulesAForgedStart has a program answer in a member's name, at an address of its own. How far that takes
// the count is bounded; and the member counts on from there when its operator says so.
func TestAnOperatorOverrulesAForgedStart(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("k", names...)
	c.awaitRaised(names...)
	victim := c.follower(names...)
	victim.awaitMet(t)
	_, header := peersOf(t, victim)
	fake := &impostor{header: header}
	address := fake.serve(t)
	attacked := c.members[slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == victim.name })[0]]
	fake.starts.Store(1 << 60)
	if err := claimStart(t, attacked, header, 1<<60, address); status.Code(err) != codes.Unavailable {
		t.Errorf("a start that nobody reaches: got %v, want Unavailable", err)
	}
	await(t, "the alarm", func() bool {
		_ = claimStart(t, attacked, header, 1<<60, address) // It is refused, as above.
		return attacked.alarmed(raftnode.AlarmStartRefused)
	})
	next := transport.StartsOf(transport.StartOf(header.GetStarts()) + 5)
	fake.starts.Store(next)
	await(t, "the member to be taken for an old copy", func() bool {
		err := claimStart(t, attacked, header, next, address)
		return err == nil || status.Code(err) != codes.Unavailable
	})
	for _, end := range []func(*testing.T) error{victim.waitEnd, victim.runToEnd} {
		if err := end(t); !errors.Is(err, transport.ErrStaleIncarnation) || !strings.Contains(err.Error(), "--start-after") {
			t.Fatalf("got %v, want ErrStaleIncarnation and what to do", err)
		}
	}
	if err := raftnode.StartAfter(victim.fs, "/data", transport.StartOf(header.GetStarts())-1); !errors.Is(err, raftnode.ErrStartBehind) {
		t.Errorf("a start before the last one: got %v, want ErrStartBehind", err)
	}
	if err := raftnode.StartAfter(victim.fs, "/data", transport.StartOf(next)); err != nil {
		t.Fatal(err)
	}
	if err := victim.run(t); err != nil {
		t.Fatal(err)
	}
	c.put("k2", names...)
	c.has("k2", names...)
}
