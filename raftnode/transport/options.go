package transport

import (
	"context"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// Options is what a Transport needs. Callbacks run on the transport's goroutines and must not block, but for those of
// calls, which are given a context.
type Options struct {
	// Listener is where other members connect. Required.
	Listener net.Listener
	// Dial connects to another member's address; nil is the network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Security says how members are sure of each other; nil believes everybody, and encrypts nothing.
	Security *Security
	// Services are served beside the transport's own, behind the same check.
	Services []func(grpc.ServiceRegistrar)
	// Receive takes a message from a peer, and keeps it. Required.
	Receive func(m *raftpb.Message)
	// Unreachable is told of a peer to which messages were lost. Required.
	Unreachable func(member uint64)
	// Gone is told that the process of a peer has ended. Nil is told nothing.
	Gone func(member uint64)
	// Describe is told how a peer describes itself, whenever it connects. Nil is told nothing.
	Describe func(m *storev1.Member)
	// Accepted is told that a peer has accepted this member; it may block for a write to the disk. Nil is told nothing.
	Accepted func()
	// Confirm asks known members whether another one is a member of the cluster too. Calls of a member that is not known
	// here wait for it, a few at a time. Nil confirms nobody.
	Confirm func(ctx context.Context, member uint64) bool
	// ConfirmStart reports whether a caller that names a later start of a member than is known is that member. Its calls wait
	// for it. Nil believes every caller.
	ConfirmStart func(ctx context.Context, c Claim) bool
	// Fenced is told that a peer refused this member for good: it was removed, or runs on an old or copied disk.
	Fenced func(err error)
	// Calls answers calls of members. Required.
	Calls Calls
	// SilenceMax is how long a peer may not answer before its connection is given up; 0 is 4 s.
	SilenceMax time.Duration
	// BackoffMax is the longest wait before a connection is tried again; 0 is 1 s.
	BackoffMax time.Duration
	// QueueBytesMax bounds the messages that wait for one peer; 0 is 64 MiB.
	QueueBytesMax int
	// Logger takes what an operator should know; nil logs nothing.
	Logger *zap.Logger
	// Registerer takes the metrics; nil keeps them unseen.
	Registerer prometheus.Registerer
}

// Calls answers the calls of other members that are not raft's messages.
type Calls interface {
	// Probe tells who this member is. Anybody may ask.
	Probe(ctx context.Context, req *peerv1.ProbeRequest) (*peerv1.ProbeResponse, error)
	// Join adds a member. Anybody may ask.
	Join(ctx context.Context, req *peerv1.JoinRequest) (*peerv1.JoinResponse, error)
	// SendSnapshot receives a snapshot.
	SendSnapshot(stream peerv1.PeerService_SendSnapshotServer) error
	// Compare tells how this member is.
	Compare(ctx context.Context, req *peerv1.CompareRequest) (*peerv1.CompareResponse, error)
}

const (
	silenceMaxDefault    = 4 * time.Second
	backoffMaxDefault    = time.Second
	backoffMin           = 20 * time.Millisecond
	queueBytesMaxDefault = 64 << 20

	// urgentBytesMax bounds the urgent messages that wait for one peer.
	urgentBytesMax = 1 << 20
	// queueMessagesMax bounds them by number.
	queueMessagesMax = 4096
	// batchBytes is where a request is full; only one larger message makes it larger.
	batchBytes = 1 << 20
	// requestBytesMax bounds what is read in one piece. It is above batchBytes and core.MessageBytesMax with one more entry.
	requestBytesMax = 8 << 20
	// answerBytesMax bounds the answer to a relayed call.
	answerBytesMax = 16 << 20
	// messageOverhead is what a message or entry without data counts for.
	messageOverhead = 64

	streamWindowBytes = 4 << 20
	connWindowBytes   = 8 << 20
	streamsMax        = 4096
	headerBytesMax    = 16 << 10
	connectTimeout    = 5 * time.Second
	// redialMax bounds how long it is tried to find out whether the process of a peer has ended, redialsMax how often. One
	// attempt is too few: a process that ends may still accept a connection, and cut it.
	redialMax  = 200 * time.Millisecond
	redialsMax = 4
	redialWait = 5 * time.Millisecond

	pingEvery        = 500 * time.Millisecond
	keepaliveTime    = 10 * time.Second // the shortest that gRPC takes
	keepaliveTimeout = 4 * time.Second
	// confirmationsMax bounds how many members that are not known are asked about at once.
	confirmationsMax = 4
	// claimsMax bounds how many starts that are not known are asked about at once.
	claimsMax = 32
	// addressBytesMax bounds the address that a caller names.
	addressBytesMax = 300
)

func (o *Options) setDefaults() {
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	if o.Gone == nil {
		o.Gone = func(uint64) {}
	}
	if o.Describe == nil {
		o.Describe = func(*storev1.Member) {}
	}
	if o.Accepted == nil {
		o.Accepted = func() {}
	}
	if o.Confirm == nil {
		o.Confirm = func(context.Context, uint64) bool { return false }
	}
	if o.ConfirmStart == nil {
		o.ConfirmStart = func(context.Context, Claim) bool { return true }
	}
	if o.Fenced == nil {
		o.Fenced = func(error) {}
	}
	if o.SilenceMax == 0 {
		o.SilenceMax = silenceMaxDefault
	}
	if o.BackoffMax == 0 {
		o.BackoffMax = backoffMaxDefault
	}
	if o.QueueBytesMax == 0 {
		o.QueueBytesMax = queueBytesMaxDefault
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
}
