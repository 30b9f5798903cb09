package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/proposals"
)

// peerCaller makes calls to the leader as a follower does, with what that one says of itself.
type peerCaller struct {
	conn   *grpc.ClientConn // to the leader's peer address
	leader *member
	ctx    context.Context // It holds the metadata by which both ends are named.
}

// asFollower returns a caller that stands for a follower of the cluster. Leadership may move while it is used.
func (c *cluster) asFollower(t *testing.T) peerCaller {
	t.Helper()
	at := c.leader(t)
	leader, follower := c.members[at], c.members[(at+1)%len(c.members)]
	md := metadata.MD{}
	for _, m := range []*member{leader, follower} {
		probe, err := peerv1.NewPeerServiceClient(dial(t, m.at.Peer)).Probe(t.Context(), &peerv1.ProbeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		h := probe.GetHeader()
		if m == leader {
			md.Set("tenure-peer-to", strconv.FormatUint(h.GetFrom(), 16))
			continue
		}
		md.Set("tenure-peer-cluster", fmt.Sprintf("%x", h.GetClusterId()))
		md.Set("tenure-peer-from", strconv.FormatUint(h.GetFrom(), 16))
		md.Set("tenure-peer-incarnation", strconv.FormatUint(h.GetFromIncarnation(), 16))
		md.Set("tenure-peer-starts", strconv.FormatUint(h.GetStarts(), 10))
	}
	return peerCaller{conn: dial(t, leader.at.Peer), leader: leader, ctx: metadata.NewOutgoingContext(t.Context(), md)}
}

// propose relays a command to whoever leads, again as long as that one is none any more: in a call of its own, and over the
// stream of many. Both get the same answer.
func (c *cluster) propose(t *testing.T, cmd *storev1.Command) (*peerv1.ProposeResponse, error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		p := c.asFollower(t)
		answer, err := peerv1.NewRelayServiceClient(p.conn).Propose(p.ctx, &peerv1.ProposeRequest{Command: cmd})
		alone := infoOf(err).GetReason()
		if alone != "NOT_LEADER" && alone != "NO_LEADER" {
			answer, err = p.proposeOverLine(t, cmd)
		}
		reason := infoOf(err).GetReason()
		_, broken := errors.AsType[*proposals.BrokenError](err)
		if !time.Now().After(deadline) && (broken || reason == "NOT_LEADER" || reason == "NO_LEADER") {
			continue
		}
		if alone != reason {
			t.Errorf("got %q in a call of its own, and %q over the stream of many", alone, reason)
		}
		return answer, err
	}
}

// proposeOverLine relays a command over the stream of many.
func (p peerCaller) proposeOverLine(t *testing.T, cmd *storev1.Command) (*peerv1.ProposeResponse, error) {
	t.Helper()
	life, end := context.WithCancel(p.ctx)
	defer end()
	line := proposals.NewLine(life, peerv1.NewRelayServiceClient(p.conn).ProposeMany)
	return line.Propose(t.Context(), &peerv1.ProposeRequest{Command: cmd})
}

// getSoon reads a key, again as long as no leader is known.
func (m *member) getSoon(t *testing.T, key string) (*tenurev1.GetResponse, error) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		got, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: key})
		if status.Code(err) != codes.Unavailable || time.Now().After(deadline) {
			return got, err
		}
	}
}

// unknownField is a field of a number that no message has.
func unknownField() []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1)
}

// TestRelayedCommandsThatTheLeaderDoesNotKnow relays commands of a program that is newer than the leader's, or of nobody's:
// in the log they would stop every member at every start.
func TestRelayedCommandsThatTheLeaderDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	put := func() *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: []byte("v")}}}
	}
	inPut, outside := put(), put()
	inPut.GetPut().ProtoReflect().SetUnknown(unknownField())
	outside.ProtoReflect().SetUnknown(unknownField())
	for name, cmd := range map[string]*storev1.Command{
		"a field of the put":     inPut,
		"a field of the command": outside,
		"a field deep inside": {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{
			{Kind: &storev1.Op_Put{Put: inPut.GetPut()}},
		}}}},
		"a value of an enum": {Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{Key: "k", Mode: 77}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.propose(t, cmd)
			wantError(t, err, codes.Unimplemented, "FEATURE_NOT_ENABLED")
		})
	}
	unknownKind := &storev1.Command{}
	unknownKind.ProtoReflect().SetUnknown(unknownField())
	_, err := c.propose(t, unknownKind)
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	// Every member goes on.
	if _, err = c.propose(t, put()); err != nil {
		t.Fatalf("put: %v", err)
	}
	for i, m := range c.members {
		got, err := m.getSoon(t, "k")
		if err != nil || string(got.GetKv().GetValue()) != "v" {
			t.Errorf("member %d: got %v, %v; want v", i+1, got, err)
		}
	}
}

// heartbeat sends a heartbeat on a stream to the leader, and returns how that answered.
func (p peerCaller) heartbeat(ctx context.Context, t *testing.T, term, commit uint64) error {
	t.Helper()
	md, _ := metadata.FromOutgoingContext(ctx)
	id := func(key string) uint64 {
		n, err := strconv.ParseUint(md.Get(key)[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// A raftpb.Message: type (8 is a heartbeat), to, from, term, and commit.
	var raw []byte
	for i, value := range []uint64{8, id("tenure-peer-to"), id("tenure-peer-from"), term} {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, protowire.Number(i+1), protowire.VarintType), value)
	}
	raw = protowire.AppendVarint(protowire.AppendTag(raw, 8, protowire.VarintType), commit)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := peerv1.NewPeerServiceClient(p.conn).Exchange(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&peerv1.ExchangeRequest{})                                   // What fails is seen when it is read.
	_ = stream.Send(&peerv1.ExchangeRequest{Messages: [][]byte{raw}, Number: 1}) // The same.
	for {
		answer, err := stream.Recv()
		if err != nil || answer.GetNumber() == 1 {
			return err
		}
	}
}

// TestForgedTermsMoveNobody sends heartbeats as an unknown member and as a known one, of terms that no cluster reaches.
func TestForgedTermsMoveNobody(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	p := c.asFollower(t)
	known, _ := metadata.FromOutgoingContext(p.ctx)
	stranger := known.Copy()
	stranger.Set("tenure-peer-from", "deadbeef")
	err := p.heartbeat(metadata.NewOutgoingContext(t.Context(), stranger), t, 1<<62, 0)
	if status.Code(err) != codes.Unavailable {
		t.Errorf("heartbeat of an unknown member: got %v, want Unavailable", err)
	}
	for _, term := range []uint64{1 << 62, 1<<64 - 1} {
		if err = p.heartbeat(p.ctx, t, term, 0); err != nil {
			t.Errorf("heartbeat of a known member: %v", err)
		}
	}
	st, err := p.leader.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, problem := range st.GetProblems() {
		named = named || problem.GetName() == "term-jump"
	}
	if !named {
		t.Errorf("got problems %v, want term-jump among them", st.GetProblems())
	}
	// The cluster goes on, in a term that it has reached itself.
	if _, err := c.propose(t, &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}}); err != nil {
		t.Fatalf("put: %v", err)
	}
	for i, m := range c.members {
		got, err := m.getSoon(t, "k")
		if err != nil || got.GetHeader().GetTerm() > 1<<32 {
			t.Errorf("member %d: got %v, %v; want an answer in an early term", i+1, got, err)
		}
	}
}

// TestAForgedHeartbeatStopsNobody sends heartbeats as a known member, which promise entries that nobody has.
func TestAForgedHeartbeatStopsNobody(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	put := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: []byte("v")}}}
	if _, err := c.propose(t, put); err != nil {
		t.Fatalf("put: %v", err)
	}
	for range 3 {
		p := c.asFollower(t)
		got, err := p.leader.getSoon(t, "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, commit := range []uint64{1 << 62, 1<<64 - 1} {
			if err = p.heartbeat(p.ctx, t, got.GetHeader().GetTerm(), commit); err != nil {
				t.Errorf("heartbeat of a known member: %v", err)
			}
		}
		if _, err := c.propose(t, put); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	for i, m := range c.members {
		got, err := m.getSoon(t, "k")
		if err != nil || string(got.GetKv().GetValue()) != "v" {
			t.Errorf("member %d: got %v, %v; want v", i+1, got, err)
		}
		st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
		if err != nil || len(st.GetProblems()) != 0 {
			t.Errorf("member %d: got problems %v, %v; want none", i+1, st.GetProblems(), err)
		}
	}
}

// TestTextsThatAMemberRelaysAreBounded relays, as a follower does, addresses, reasons and hashes that no client could have had it
// send: every member would keep them.
func TestTextsThatAMemberRelaysAreBounded(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	long := strings.Repeat("a", 100_000)
	id := bytes.Repeat([]byte{7}, 16)
	for name, cmd := range map[string]*storev1.Command{
		"the address of a new session": {Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: id, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, PeerAddress: long,
		}}},
		"the address of a takeover": {Kind: &storev1.Command_TakeOverSession{TakeOverSession: &storev1.TakeOverSession{
			SessionId: id, ReplacesEpoch: 1, PeerAddress: long,
		}}},
		"who breaks a lock":    {Kind: &storev1.Command_BreakLock{BreakLock: &storev1.BreakLock{Key: "k", Reason: "r", By: long}}},
		"why a lock is broken": {Kind: &storev1.Command_BreakLock{BreakLock: &storev1.BreakLock{Key: "k", Reason: long}}},
		"who ends a session": {Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: &storev1.SessionRef{SessionId: id}, By: long,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.propose(t, cmd)
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		})
	}
	for name, relay := range map[string]func(peerCaller) error{
		"who changes members": func(p peerCaller) error {
			_, err := peerv1.NewRelayServiceClient(p.conn).ChangeMembers(p.ctx, &peerv1.ChangeMembersRequest{
				By: long, Call: &peerv1.ChangeMembersRequest_Transfer{Transfer: &tenurev1.TransferLeadershipRequest{}},
			})
			return err
		},
		"which instance attaches": func(p peerCaller) error {
			_, err := peerv1.NewRelayServiceClient(p.conn).Attach(p.ctx, &peerv1.AttachRequest{
				SessionId: id, InstanceId: []byte(long), Attempt: 1,
			})
			return err
		},
		"the hash of a renewal's secret": func(p peerCaller) error {
			stream, err := peerv1.NewRelayServiceClient(p.conn).Renew(p.ctx)
			if err != nil {
				return err
			}
			_ = stream.Send(&peerv1.RenewRequest{Renewals: []*peerv1.Renewal{{SessionId: id, SecretSha256: []byte(long)}}})
			_, err = stream.Recv() // It has the error of the send, too.
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := relay(c.asFollower(t))
			for deadline := time.Now().Add(patience); status.Code(err) == codes.Unavailable && time.Now().Before(deadline); {
				err = relay(c.asFollower(t)) // Another member leads by now, or none.
			}
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		})
	}
}
