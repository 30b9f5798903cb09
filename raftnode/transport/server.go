package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// service answers the calls of PeerService.
type service struct {
	peerv1.UnimplementedPeerServiceServer
	t *Transport
}

func (t *Transport) newServer() *grpc.Server {
	gate := newGate(t)
	security := insecure.NewCredentials()
	if t.o.Security != nil {
		security = pinning{TransportCredentials: t.o.Security.Server}
	}
	server := grpc.NewServer(
		grpc.Creds(security),
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(gate.unary),
		grpc.StreamInterceptor(gate.stream),
		grpc.MaxRecvMsgSize(requestBytesMax),
		grpc.MaxSendMsgSize(answerBytesMax),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.InitialWindowSize(streamWindowBytes),
		grpc.InitialConnWindowSize(connWindowBytes),
		grpc.ConnectionTimeout(connectTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	peerv1.RegisterPeerServiceServer(server, &service{t: t})
	for _, register := range t.o.Services {
		register(server)
	}
	return server
}

// Probe tells who this member is.
func (s *service) Probe(ctx context.Context, req *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error) {
	return s.t.o.Calls.Probe(ctx, req)
}

// Join adds a member.
func (s *service) Join(ctx context.Context, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error) {
	if err := s.proveJoiner(ctx, req.GetMember().GetName()); err != nil {
		s.t.metrics.refuse(err)
		s.t.o.Security.tell(ctx, err)
		return nil, err
	}
	resp, err := s.t.o.Calls.Join(ctx, req)
	if err != nil && !s.relays(ctx) {
		s.t.o.Security.tell(ctx, err)
	}
	return resp, err
}

// proveJoiner refuses a request to add a member that neither it nor a known member brings, which relays it.
func (s *service) proveJoiner(ctx context.Context, name string) error {
	_, err := s.t.prove(ctx, name)
	if err == nil || s.relays(ctx) {
		return nil
	}
	return err
}

// relays reports whether whoever makes a call proves to be a known member.
func (s *service) relays(ctx context.Context) bool {
	s.t.mu.RLock()
	var names []string
	for _, p := range s.t.peers {
		if p.recorded != "" {
			names = append(names, p.recorded)
		}
	}
	s.t.mu.RUnlock()
	for _, known := range names {
		if _, err := s.t.prove(ctx, known); err == nil {
			return true
		}
	}
	return false
}

// SendSnapshot receives a snapshot.
func (s *service) SendSnapshot(stream peerv1.PeerService_SendSnapshotServer) error {
	return s.t.o.Calls.SendSnapshot(stream)
}

// Compare tells how this member is.
func (s *service) Compare(ctx context.Context, req *peerv1.CompareRequest) (*peerv1.CompareResponse, error) {
	return s.t.o.Calls.Compare(ctx, req)
}

// Exchange receives raft messages until the peer ends the stream, or is refused.
func (s *service) Exchange(stream peerv1.PeerService_ExchangeServer) error {
	c, err := readCaller(stream.Context())
	if err != nil {
		return err
	}
	if err := s.greet(stream, c); err != nil {
		return ended(err)
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return ended(err)
		}
		if err := s.t.receive(c, req); err != nil {
			s.t.metrics.refuse(err)
			return err
		}
		if req.GetNumber() > 0 {
			if err := stream.Send(s.t.answer(c, req.GetNumber())); err != nil {
				return err
			}
		}
	}
}

// greet takes the first request, which has no messages, and accepts the stream.
func (s *service) greet(stream peerv1.PeerService_ExchangeServer, c caller) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	if m := req.GetMember(); m != nil {
		if m.GetId() != c.from {
			return fmt.Errorf("%w: member %x describes member %x", ErrWrongMember, c.from, m.GetId())
		}
		if s.t.o.Security != nil && m.GetName() != c.name {
			return fmt.Errorf("%w: member %x (%.64q) describes %.64q", ErrNotProven, c.from, c.name, m.GetName())
		}
		// The call has been let in as this run of that disk.
		m.Starts, m.Incarnation = c.starts, c.incarnation
		m.ClientSecurity, m.PeerSecurity = req.GetClientSecurity(), req.GetPeerSecurity()
		s.t.introduce(m)
	}
	return stream.Send(s.t.answer(c, 0))
}

// ended is how a stream ends that the peer closed.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answer tells a peer that its messages arrive, and what is wrong with the way back.
func (t *Transport) answer(c caller, number uint64) *peerv1.ExchangeResponse {
	t.mu.RLock()
	p := t.peers[c.from]
	t.mu.RUnlock()
	resp := &peerv1.ExchangeResponse{Number: number}
	if p != nil {
		resp.Unreachable = p.unreachable()
	}
	return resp
}

// receive hands on the messages of a request.
func (t *Transport) receive(c caller, req *peerv1.ExchangeRequest) error {
	if len(req.GetMessages()) == 0 {
		return nil
	}
	size := 0
	for _, raw := range req.GetMessages() {
		m := &raftpb.Message{}
		if err := proto.Unmarshal(raw, m); err != nil {
			return fmt.Errorf("%w: raft message: %w", ErrMalformed, err)
		}
		if err := checkMessage(m, c.from, c.to); err != nil {
			return err
		}
		size += len(raw)
		t.o.Receive(m)
	}
	t.mu.RLock()
	p := t.peers[c.from]
	t.mu.RUnlock()
	if p != nil {
		p.counters.received.Add(float64(len(req.GetMessages())))
		p.counters.receivedBytes.Add(float64(size))
	}
	return nil
}

// checkMessage refuses what only a member itself may send to itself, and what is not from the caller. A forged answer of
// the disk would make a member believe that entries are safe.
func checkMessage(m *raftpb.Message, from, to uint64) error {
	typ := m.GetType()
	switch {
	case raft.IsLocalMsg(typ), typ == raftpb.MsgProp, typ == raftpb.MsgSnap, typ == raftpb.MsgTransferLeader, typ == raftpb.MsgForgetLeader,
		raft.IsLocalMsgTarget(m.GetFrom()), raft.IsLocalMsgTarget(m.GetTo()), len(m.GetResponses()) > 0:
		return fmt.Errorf("%w: %v from member %x", ErrLocalMessage, typ, from)
	case m.GetFrom() != from || m.GetTo() != to:
		return fmt.Errorf("%w: %v from %x to %x on a stream from %x to %x", ErrWrongMember,
			typ, m.GetFrom(), m.GetTo(), from, to)
	default:
		return checkShape(m)
	}
}

// proofBytes is the length of the context by which heartbeats and their answers prove reads.
const proofBytes = 8

// checkShape refuses what no raft writes, and would not survive to read: a message without term counts as the receiver's
// own, but a question has none, as whoever does not lead passes it on; entries have to follow each other.
func checkShape(m *raftpb.Message) error {
	typ := m.GetType()
	switch {
	case m.GetTerm() == 0 && typ != raftpb.MsgReadIndex:
		return fmt.Errorf("%w: %v without term", ErrMalformed, typ)
	case typ == raftpb.MsgReadIndex && (m.GetTerm() != 0 || len(m.GetEntries()) != 1):
		return fmt.Errorf("%w: %v of term %d with %d entries", ErrMalformed, typ, m.GetTerm(), len(m.GetEntries()))
	case (typ == raftpb.MsgHeartbeat || typ == raftpb.MsgHeartbeatResp) && len(m.GetContext()) != 0 && len(m.GetContext()) != proofBytes:
		return fmt.Errorf("%w: %v with a context of %d bytes", ErrMalformed, typ, len(m.GetContext()))
	case typ != raftpb.MsgApp:
		return nil
	}
	index, term := m.GetIndex(), m.GetLogTerm()
	for _, e := range m.GetEntries() {
		if e.GetIndex() != index+1 || e.GetTerm() < term || e.GetTerm() > m.GetTerm() {
			return fmt.Errorf("%w: entry %d of term %d follows entry %d of term %d in term %d",
				ErrMalformed, e.GetIndex(), e.GetTerm(), index, term, m.GetTerm())
		}
		index, term = e.GetIndex(), e.GetTerm()
	}
	return nil
}
