package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// peerAttacks call the peer port, which has no logins: as a stranger, and in the name of another member.
func peerAttacks() []attack {
	return []attack{
		{entry: "S1", name: "commands that no member knows", three: true, attack: relayUnknown},
		{entry: "S2", name: "joining uninvited", three: true, attack: joinUninvited, after: noMemberMore},
		{entry: "S3", name: "another member that claims more starts", three: true, attack: claimStarts, after: startAgain},
		{entry: "S4", name: "terms of a far future", three: true, attack: forgeTerms, after: earlyTerm},
		{entry: "S4", name: "heartbeats that promise entries of a far future", three: true, attack: forgeHeartbeats, after: earlyTerm},
		{entry: "S5", name: "secrets on the peer port", three: true, attack: actAsQuiet},
	}
}

// masks are the names under which an attacker calls a member's peer port.
func (a *attacker) masks(ctx context.Context, target string) ([]context.Context, []uint64, error) {
	var masks []metadata.MD
	var ids []uint64
	md := metadata.MD{}
	for _, m := range a.Members {
		conn, err := a.dial(m.Peer)
		if err != nil {
			return nil, nil, err
		}
		probe, err := peerv1.NewPeerServiceClient(conn).Probe(ctx, &peerv1.ProbeRequest{})
		if err != nil {
			return nil, nil, err
		}
		h := probe.GetHeader()
		if m.Peer == target {
			md.Set("tenure-peer-to", strconv.FormatUint(h.GetFrom(), 16))
			md.Set("tenure-peer-cluster", fmt.Sprintf("%x", h.GetClusterId()))
			ids = append([]uint64{h.GetFrom()}, ids...)
			continue
		}
		mask := metadata.Pairs("tenure-peer-from", strconv.FormatUint(h.GetFrom(), 16),
			"tenure-peer-incarnation", strconv.FormatUint(h.GetFromIncarnation(), 16),
			"tenure-peer-starts", strconv.FormatUint(h.GetStarts(), 10))
		masks = append(masks, mask)
		ids = append(ids, h.GetFrom())
	}
	masks = append(masks, metadata.Pairs("tenure-peer-from", "deadbeef", "tenure-peer-incarnation", "1", "tenure-peer-starts", "1"))
	var all []context.Context
	for _, mask := range masks {
		all = append(all, metadata.NewOutgoingContext(ctx, metadata.Join(mask, md)))
	}
	return all, append(ids, 0xdeadbeef), nil
}

// asEach makes calls to the peer port of every member under every name. ids are the target's and then that of the name.
func (a *attacker) asEach(ctx context.Context, call func(ctx context.Context, conn *grpc.ClientConn, target, from uint64)) error {
	for _, m := range a.Members {
		conn, err := a.dial(m.Peer)
		if err != nil {
			return err
		}
		masks, ids, err := a.masks(ctx, m.Peer)
		if err != nil {
			return err
		}
		for i, mask := range masks {
			call(mask, conn, ids[0], ids[i+1])
		}
	}
	return nil
}

// relayUnknown relays commands with fields, kinds and values that nobody knows, and bytes at random.
func relayUnknown(ctx context.Context, a *attacker) error {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1)
	inside := &storev1.Put{Key: "hostile/unknown"}
	inside.ProtoReflect().SetUnknown(unknown)
	outside := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "hostile/unknown"}}}
	outside.ProtoReflect().SetUnknown(unknown)
	noKind := &storev1.Command{}
	noKind.ProtoReflect().SetUnknown(unknown)
	commands := []*storev1.Command{
		nil, noKind, outside,
		{Kind: &storev1.Command_Put{Put: inside}},
		{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{{Kind: &storev1.Op_Put{Put: inside}}, nil, {}}}}},
		{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{Key: "hostile/lock", Mode: 77}}},
		{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: strings.Repeat("k", 1_400_000)}}},
		{Kind: &storev1.Command_ExpireSessions{}},
		{Kind: &storev1.Command_Compact{}},
		{Kind: &storev1.Command_CreateSession{}},
	}
	r := rand.New(rand.NewPCG(1, 2))
	whole, err := proto.Marshal(&peerv1.ProposeRequest{Command: &storev1.Command{
		Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: "hostile/random"}}}}}},
	}})
	if err != nil {
		return err
	}
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, _, _ uint64) {
		for _, c := range commands {
			_, err := peerv1.NewRelayServiceClient(conn).Propose(ctx, &peerv1.ProposeRequest{Command: c})
			a.answered("propose", err)
		}
		for _, method := range append(methodsOf("tenure.peer.v1"), methodsOf("tenure.v1")...) {
			for range a.count(3, 200) {
				data := append([]byte(nil), whole...)
				for range 1 + r.IntN(4) {
					data[r.IntN(len(data))] = byte(r.Uint32())
				}
				a.send(ctx, conn, "at random", method, data[:r.IntN(len(data)+1)])
			}
		}
	})
}

// joinUninvited asks to be a member, without a token and with tokens of nobody.
func joinUninvited(ctx context.Context, a *attacker) error {
	addresses := []string{"", "127.0.0.2:1", "no address", strings.Repeat("a", 1_400_000) + ":1", "127.0.0.2:1\x00\n"}
	tokens := [][]byte{nil, make([]byte, 32), []byte("token"), make([]byte, 1_400_000)}
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, _, _ uint64) {
		for i, address := range addresses {
			for _, token := range tokens {
				_, err := peerv1.NewPeerServiceClient(conn).Join(ctx, &peerv1.JoinRequest{Token: token, Member: &storev1.Member{
					Id: uint64(0xbad + i), Incarnation: 1, Name: "hostile", PeerAddress: address, VersionMax: 2,
				}})
				a.answered("join", err)
				if err == nil {
					a.mu.Lock()
					a.fault("join", "was taken")
					a.mu.Unlock()
				}
			}
		}
	})
}

// noMemberMore demands that the cluster has the members it began with.
func noMemberMore(s *scene) {
	err := s.quiet.again(s.t.Context(), "list members", func(ctx context.Context) error {
		listed, err := tenurev1.NewClusterServiceClient(s.quiet.conn).ListMembers(ctx, &tenurev1.ListMembersRequest{})
		if err == nil && len(listed.GetMembers()) != len(s.cluster.Members) {
			return fmt.Errorf("the cluster has %d members, want %d", len(listed.GetMembers()), len(s.cluster.Members))
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// claimStarts says of every member that it was started more often than it was: with that it could never start again.
func claimStarts(ctx context.Context, a *attacker) error {
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, _, _ uint64) {
		for _, starts := range []uint64{1 << 20, 1 << 60, 1<<64 - 1} {
			md, _ := metadata.FromOutgoingContext(ctx)
			md = md.Copy()
			md.Set("tenure-peer-starts", strconv.FormatUint(starts, 10))
			_, err := peerv1.NewRelayServiceClient(conn).TimesLeft(metadata.NewOutgoingContext(ctx, md), &peerv1.TimesLeftRequest{
				SessionIds: [][]byte{nil, {1}, make([]byte, 16), make([]byte, 100_000)},
				Delays:     []*peerv1.HoldName{{Key: strings.Repeat("k", 100_000)}, nil},
			})
			a.answered("times left", err)
		}
	})
}

// startAgain demands that every member can be started again.
func startAgain(s *scene) {
	for _, m := range s.cluster.Members {
		m.Kill()
		m.Restart(s.t.Context())
	}
}

// forgeTerms sends messages of raft of every type, in terms of a far future.
func forgeTerms(ctx context.Context, a *attacker) error {
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, target, from uint64) {
		for _, term := range []uint64{1 << 40, 1 << 62, 1<<64 - 1} {
			request := &peerv1.ExchangeRequest{Number: 1}
			for kind := range uint64(24) {
				if kind == 7 {
					continue // A snapshot has a call of its own.
				}
				request.Messages = append(request.Messages, raftMessage(kind, target, from, term, 0))
			}
			request.Messages = append(request.Messages, nil, []byte{0xff}, make([]byte, 1_000_000))
			a.answered("exchange", exchange(ctx, conn, request))
		}
	})
}

// raftMessage returns a raftpb.Message that commits up to an index.
func raftMessage(kind, to, from, term, commit uint64) []byte {
	const commitField = 8
	var raw []byte
	for i, value := range []uint64{kind, to, from, term} {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, protowire.Number(i+1), protowire.VarintType), value)
	}
	return protowire.AppendVarint(protowire.AppendTag(raw, commitField, protowire.VarintType), commit)
}

// forgeHeartbeats sends heartbeats of the present term, as every member to every member, that commit what no log holds.
func forgeHeartbeats(ctx context.Context, a *attacker) error {
	const heartbeat, heartbeatAnswer = 8, 9
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	for range a.count(3, 100) {
		now, err := tenurev1.NewClusterServiceClient(conn).GetStatus(ctx, &tenurev1.GetStatusRequest{})
		if err != nil {
			return err
		}
		term := now.GetHeader().GetTerm()
		err = a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, target, from uint64) {
			request := &peerv1.ExchangeRequest{Number: 1}
			for _, commit := range []uint64{1 << 40, 1 << 62, 1<<64 - 1} {
				for _, kind := range []uint64{heartbeat, heartbeatAnswer} {
					request.Messages = append(request.Messages, raftMessage(kind, target, from, term, commit))
				}
			}
			a.answered("exchange", exchange(ctx, conn, request))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// exchange sends one request on a stream of its own and waits for what the member says to it.
func exchange(ctx context.Context, conn *grpc.ClientConn, r *peerv1.ExchangeRequest) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := peerv1.NewPeerServiceClient(conn).Exchange(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&peerv1.ExchangeRequest{}) // What fails is seen when it is read.
	_ = stream.Send(r)                         // The same.
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || answer.GetNumber() == r.GetNumber() {
			return err
		}
	}
}

// earlyTerm demands that the cluster is in a term that it has reached itself.
func earlyTerm(s *scene) {
	for _, m := range s.cluster.Members {
		st, err := m.Status(s.t.Context())
		if err != nil {
			s.t.Errorf("member %s: %v", m.Name(), err)
		} else if term := st.GetHeader().GetTerm(); term > 1<<32 {
			s.t.Errorf("member %s is in term %d", m.Name(), term)
		}
	}
}

// actAsQuiet acts as the quiet client's session without its secret: as members do for their clients, and as its clients do.
func actAsQuiet(ctx context.Context, a *attacker) error {
	id, err := uuid.Parse(a.Given["session"])
	if err != nil {
		return err
	}
	session := &storev1.SessionRef{SessionId: id[:], Epoch: 1}
	commands := []*storev1.Command{
		{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: session, By: "127.0.0.1:1"}}},
		{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "quiet/lock", Session: session, Owner: "hostile", Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		}}},
	}
	return a.asEach(ctx, func(ctx context.Context, conn *grpc.ClientConn, _, _ uint64) {
		for _, c := range commands {
			for _, secret := range [][]byte{nil, make([]byte, 32)} {
				_, err := peerv1.NewRelayServiceClient(conn).Propose(ctx, &peerv1.ProposeRequest{Command: c, SecretSha256: secret})
				a.answered("propose", err)
			}
		}
	})
}
