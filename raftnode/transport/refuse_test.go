package transport_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"testing"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/transport"
)

// credentials are the metadata of a call.
type credentials map[string]string

func right() credentials {
	return credentials{
		"tenure-peer-cluster": hex.EncodeToString(cluster[:]), "tenure-peer-from": "2", "tenure-peer-to": "1",
		"tenure-peer-incarnation": "66", "tenure-peer-starts": strconv.FormatUint(transport.NextStarts(0, 7), 10),
	}
}

func (c credentials) with(key, value string) credentials {
	c["tenure-peer-"+key] = value
	return c
}

// exchange opens a stream with some credentials and sends a message; it returns how the stream ends.
func exchange(t *testing.T, to *end, c credentials, member *storev1.Member, raw ...[]byte) error {
	t.Helper()
	conn, err := grpc.NewClient(to.peer().Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := peerv1.NewPeerServiceClient(conn).Exchange(metadata.NewOutgoingContext(ctx, metadata.New(c)))
	if err != nil {
		t.Fatal(err)
	}
	// What fails is seen when it is read.
	_ = stream.Send(&peerv1.ExchangeRequest{Urgent: true, Member: member})
	_ = stream.Send(&peerv1.ExchangeRequest{Messages: raw})
	_ = stream.CloseSend()
	for {
		if _, err := stream.Recv(); err != nil {
			return transport.FromStatus(err)
		}
	}
}

func marshal(t *testing.T, m *raftpb.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestStrangersAreRefused(t *testing.T) {
	a := start(t, 1, transport.Options{})
	b := transport.Peer{ID: 2, Incarnation: 0x66, Starts: transport.NextStarts(0, 7), Name: "b", Address: "127.0.0.1:1"}
	a.SetPeers([]transport.Peer{b}, []uint64{3})
	self := &storev1.Member{Id: 2, Name: "b"}
	older, copied := strconv.FormatUint(b.Starts-1, 10), strconv.FormatUint(b.Starts+1, 10)
	tests := map[string]struct {
		c      credentials
		member *storev1.Member
		want   error
	}{
		"another cluster is refused":             {right().with("cluster", hex.EncodeToString(make([]byte, 16))), self, transport.ErrWrongCluster},
		"a call for another member is refused":   {right().with("to", "7"), self, transport.ErrWrongMember},
		"a removed member is refused":            {right().with("from", "3"), self, transport.ErrRemoved},
		"another incarnation is refused":         {right().with("incarnation", "67"), self, transport.ErrStaleIncarnation},
		"an older start is refused":              {right().with("starts", older), self, transport.ErrStaleIncarnation},
		"a run of the same start on a copy is":   {right().with("starts", copied), self, transport.ErrStaleIncarnation},
		"a copy of the receiver is refused":      {right().with("from", "1"), self, transport.ErrStaleIncarnation},
		"a description of another is refused":    {right(), &storev1.Member{Id: 9, Name: "z"}, transport.ErrWrongMember},
		"a call without credentials is no call":  {credentials{}, self, transport.ErrMalformed},
		"credentials that are no numbers are no": {right().with("from", "x"), self, transport.ErrMalformed},
		"a member is taken":                      {right(), self, nil},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			err := exchange(t, a, test.c, test.member)
			switch {
			case test.want == nil:
				if !errors.Is(err, io.EOF) {
					t.Errorf("got %v, want none", err)
				}
			case errors.Is(test.want, transport.ErrMalformed):
				if status.Code(err) != codes.InvalidArgument {
					t.Errorf("got %v, want InvalidArgument", err)
				}
			case test.want != nil && !errors.Is(err, test.want):
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestMessagesThatNoPeerMaySendAreRefused(t *testing.T) {
	a := start(t, 1, transport.Options{})
	a.SetPeers([]transport.Peer{{ID: 2, Incarnation: 0x66, Name: "b", Address: "127.0.0.1:1"}}, nil)
	local := func(typ raftpb.MessageType) *raftpb.Message { return message(typ, 2, 1, 1) }
	// raft's own threads, which answer for the disk and the state machine.
	const appendThread, applyThread = ^uint64(0), ^uint64(0) - 1
	forged := local(raftpb.MsgAppResp)
	forged.Responses = []*raftpb.Message{local(raftpb.MsgAppResp)}
	entries := func(previous uint64, all ...*raftpb.Entry) []byte {
		m := message(raftpb.MsgApp, 2, 1, 7)
		m.Term, m.Index, m.LogTerm, m.Entries = new(uint64(7)), new(previous), new(uint64(3)), all
		return marshal(t, m)
	}
	entry := func(index, term uint64) *raftpb.Entry { return &raftpb.Entry{Index: new(index), Term: new(term)} }
	timeless := local(raftpb.MsgHeartbeat)
	timeless.Term = nil
	question := func(term uint64) []byte {
		m := message(raftpb.MsgReadIndex, 2, 1, 1)
		m.Term, m.Entries = nil, []*raftpb.Entry{{Data: []byte("12345678")}}
		if term > 0 {
			m.Term = new(term)
		}
		return marshal(t, m)
	}
	proof := func(typ raftpb.MessageType, size int) []byte {
		m := local(typ)
		m.Context = make([]byte, size)
		return marshal(t, m)
	}
	tests := map[string]struct {
		raw  []byte
		want error
	}{
		"an election is nobody else's":                   {marshal(t, local(raftpb.MsgHup)), transport.ErrLocalMessage},
		"nor a tick":                                     {marshal(t, local(raftpb.MsgBeat)), transport.ErrLocalMessage},
		"nor a proposal":                                 {marshal(t, local(raftpb.MsgProp)), transport.ErrLocalMessage},
		"nor the answer of the disk":                     {marshal(t, local(raftpb.MsgStorageAppendResp)), transport.ErrLocalMessage},
		"nor that of the state machine":                  {marshal(t, local(raftpb.MsgStorageApplyResp)), transport.ErrLocalMessage},
		"nor an unreachable peer":                        {marshal(t, local(raftpb.MsgUnreachable)), transport.ErrLocalMessage},
		"nor what hides answers":                         {marshal(t, forged), transport.ErrLocalMessage},
		"the disk is no sender":                          {marshal(t, message(raftpb.MsgAppResp, appendThread, 1, 1)), transport.ErrLocalMessage},
		"nor the state machine":                          {marshal(t, message(raftpb.MsgAppResp, applyThread, 1, 1)), transport.ErrLocalMessage},
		"nor is the disk a receiver":                     {marshal(t, message(raftpb.MsgAppResp, 2, appendThread, 1)), transport.ErrLocalMessage},
		"a snapshot has its own way":                     {marshal(t, local(raftpb.MsgSnap)), transport.ErrLocalMessage},
		"another's message is refused":                   {marshal(t, message(raftpb.MsgVote, 5, 1, 1)), transport.ErrWrongMember},
		"one for another is refused":                     {marshal(t, message(raftpb.MsgVote, 2, 5, 1)), transport.ErrWrongMember},
		"nor a wish who is to lead":                      {marshal(t, local(raftpb.MsgTransferLeader)), transport.ErrLocalMessage},
		"nor that nobody leads":                          {marshal(t, local(raftpb.MsgForgetLeader)), transport.ErrLocalMessage},
		"what is no message is no call":                  {[]byte{0xff, 0xff}, transport.ErrMalformed},
		"a vote is taken":                                {marshal(t, local(raftpb.MsgVote)), nil},
		"a message has a term":                           {marshal(t, timeless), transport.ErrMalformed},
		"a question has something to say what was asked": {marshal(t, local(raftpb.MsgReadIndex)), transport.ErrMalformed},
		"and has no term":                                {question(1), transport.ErrMalformed},
		"a question without term is taken":               {question(0), nil},
		"a proof is whole":                               {proof(raftpb.MsgHeartbeatResp, 1), transport.ErrMalformed},
		"nor does it lack a byte":                        {proof(raftpb.MsgHeartbeatResp, 7), transport.ErrMalformed},
		"nor is there more":                              {proof(raftpb.MsgHeartbeatResp, 9), transport.ErrMalformed},
		"what asks for it is whole":                      {proof(raftpb.MsgHeartbeat, 7), transport.ErrMalformed},
		"an answer without proof is taken":               {proof(raftpb.MsgHeartbeatResp, 0), nil},
		"a whole proof is taken":                         {proof(raftpb.MsgHeartbeatResp, 8), nil},
		"entries follow what they follow":                {entries(4, entry(6, 3)), transport.ErrMalformed},
		"and each other":                                 {entries(4, entry(5, 3), entry(7, 3)), transport.ErrMalformed},
		"their terms do not fall":                        {entries(4, entry(5, 2)), transport.ErrMalformed},
		"nor are they later than the leader's":           {entries(4, entry(5, 8)), transport.ErrMalformed},
		"entries in order are taken":                     {entries(4, entry(5, 3), entry(6, 7)), nil},
	}
	taken := 0
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			err := exchange(t, a, right(), &storev1.Member{Id: 2, Name: "b"}, test.raw)
			switch {
			case test.want == nil:
				taken++
				if !errors.Is(err, io.EOF) {
					t.Errorf("got %v, want none", err)
				}
			case errors.Is(test.want, transport.ErrMalformed):
				if status.Code(err) != codes.InvalidArgument {
					t.Errorf("got %v, want InvalidArgument", err)
				}
			case !errors.Is(err, test.want):
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.received) != taken {
		t.Errorf("%d messages received, %d taken", len(a.received), taken)
	}
}

// Before a member is of a cluster it tells who it is, and nothing else.
func TestAMemberWithoutClusterOnlyAnswersProbes(t *testing.T) {
	a := start(t, 1, transport.Options{})
	a.SetSelf(transport.Self{Member: a.self.Member})
	if err := exchange(t, a, right(), &storev1.Member{Id: 2}); status.Code(err) != codes.Unavailable {
		t.Errorf("exchange: got %v, want Unavailable", err)
	}
	if _, err := a.Probe(t.Context(), a.peer().Address, &peerv1.ProbeRequest{}); err != nil {
		t.Errorf("probe: got %v", err)
	}
}
