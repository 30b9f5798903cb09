package raftnode

import (
	"context"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/raftnode/turn"
	"github.com/tenure-io/tenure/storage"
)

// Options configures a member. Only Dir is required.
type Options struct {
	// Dir is the data directory, created when missing.
	Dir string
	// FS holds Dir; nil is the disk.
	FS vfs.FS
	// Name is the member's name in Status and logs.
	Name string
	// Logger takes what an operator should know; nil logs nothing.
	Logger *zap.Logger
	// Registerer takes the metrics; nil keeps them unseen.
	Registerer prometheus.Registerer
	// Tick is raft's unit of time; 0 is 50 ms.
	Tick time.Duration
	// ElectionTicks is after how many ticks without a leader a member asks for votes, up to twice as many; 0 is 20.
	ElectionTicks int
	// Cache is the state machine's block cache; nil gives it one of its own.
	Cache *pebble.Cache
	// CheckpointLogBytes is after how many bytes of log a checkpoint is made and the log cut; 0 is 64 MiB, or an eighth of
	// LogBytesMax if that is less.
	CheckpointLogBytes uint64
	// LogBytesMax is how much log is kept for members that lag: one that is further behind gets a snapshot. Behind a snapshot
	// that is on its way, and until its receiver has caught up, more is kept, as long as as much stays free on the disk. The
	// state machine is flushed out of turn when so much log lies behind what is durable in it. 0 is 512 MiB.
	LogBytesMax uint64
	// PendingBytesMax bounds the commands under way; 0 is 64 MiB. Above it Propose answers ErrTooBusy.
	PendingBytesMax int
	// InitialCluster names the members that begin a new cluster together, each at the address where the others reach
	// it, this one among them. It matters only on a fresh directory, and must be the same for all. Empty begins a
	// cluster of one, unless Join is set.
	InitialCluster []Peer
	// Join are peer addresses of a running cluster's members. A member on a fresh directory asks them to be added.
	Join []string
	// JoinToken returns the join token that a member on a fresh directory brings; empty if it has none yet. It is called for
	// every attempt to join. Nil is a member without one, which waits.
	JoinToken func() ([]byte, error)
	// StayLearner keeps a member that joins from being promoted when it has caught up.
	StayLearner bool
	// FirstStart refuses to begin on a directory that belongs to no member yet, before anything is written there; nil refuses nothing.
	FirstStart func() error
	// PeerListener is where other members connect; it is closed by Run or Close. Nil serves no peers.
	PeerListener net.Listener
	// PeerServices are served to other members beside this package's own.
	PeerServices []func(grpc.ServiceRegistrar)
	// PeerSecurity says how members are sure of each other; nil believes everybody, and encrypts nothing.
	PeerSecurity *PeerSecurity
	// Addresses are what others are told.
	Addresses Addresses
	// Zone is the member's failure domain, and Version that of its program; for people.
	Zone, Version string
	// ForClients and ForPeers say how the member listens for them.
	ForClients, ForPeers storev1.ListenerSecurity
	// Transport carries messages to peers. Nil takes connections to the peers' addresses if there is a PeerListener; else
	// it drops the messages and reports the peers unreachable.
	Transport Transport
	// Snapshots says how members that fell behind are helped.
	Snapshots SnapshotOptions
	// Membership says how members come and go.
	Membership MembershipOptions
	// Health says when the member is in danger.
	Health HealthOptions
	// OnApplied sees every applied batch, in order, before the proposers get their results. It runs on the apply
	// goroutine and must not block. After a restart it sees batches again that were not durable in the state machine.
	OnApplied func(storage.Outcome)
	// LeaderTasks run while this member leads. Each must return when its ctx ends; an error before that stops the
	// member.
	LeaderTasks []func(ctx context.Context, term uint64) error

	// logMemTableSize is another size of the log's memtable, for tests of this package.
	logMemTableSize uint64
	// versionMax is a cluster version that this program is said to follow, for tests of this package; 0 is the truth.
	versionMax uint32
	// guard is what FS became: it writes nothing after the first failed write.
	guard *datadir.Guard
	// stalls is told when the state machine's store holds writes back.
	stalls *health.Stalls
	// genesis is what a fresh directory begins with; nil begins a cluster of one.
	genesis *identity.Genesis
}

// SnapshotOptions says how members that fell behind are helped. The zero value is good.
type SnapshotOptions = snapshots.Options

// SnapshotTransport is a Transport that carries snapshots too, on connections of their own.
type SnapshotTransport = snapshots.Transport

// SnapshotStream is the sender's end of a snapshot's stream.
type SnapshotStream = snapshots.Stream

// HealthOptions says when a member is in danger. The zero value is good.
type HealthOptions = health.Options

// Peer is one of the members that begin a cluster.
type Peer = identity.Peer

// PeerSecurity says how members are sure of each other.
type PeerSecurity = transport.Security

// Transport carries messages to peers.
type Transport interface {
	// Send takes messages for peers. It never blocks and never changes them; what it cannot carry it drops, and says so
	// by Node.ReportUnreachable.
	Send(msgs []*raftpb.Message)
}

const (
	tickDefault               = 50 * time.Millisecond
	electionTicksDefault      = 20
	checkpointLogBytesDefault = 64 << 20
	logBytesMaxDefault        = 512 << 20
	pendingBytesMaxDefault    = 64 << 20
)

// electionTimeout is the shortest time without a leader after which a member asks for votes.
func (o *Options) electionTimeout() time.Duration { return time.Duration(o.ElectionTicks) * o.Tick }

// self is what of the options says who the member is, and how it meets others.
func (o *Options) self() identity.Options {
	return identity.Options{
		Name: o.Name, Addresses: o.Addresses, Zone: o.Zone, Version: o.Version,
		InitialCluster: o.InitialCluster, Join: o.Join, JoinToken: o.JoinToken, StayLearner: o.StayLearner,
		Listener: o.PeerListener, Services: o.PeerServices, Security: o.PeerSecurity, ElectionTimeout: o.electionTimeout(),
		Logger: o.Logger, Registerer: o.Registerer, ClientSecurity: o.ForClients, PeerSecurity: o.ForPeers,
	}
}

// hangAfter is how long a write of the log may take before the disk counts as hanging.
func (o *Options) hangAfter() time.Duration { return turn.HangAfter(o.Tick, o.ElectionTicks) }

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.guard = datadir.NewGuard(o.FS)
	o.FS = datadir.Ordered(o.guard)
	o.stalls = &health.Stalls{}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Tick == 0 {
		o.Tick = tickDefault
	}
	if o.ElectionTicks == 0 {
		o.ElectionTicks = electionTicksDefault
	}
	if o.LogBytesMax == 0 {
		o.LogBytesMax = logBytesMaxDefault
	}
	if o.CheckpointLogBytes == 0 {
		o.CheckpointLogBytes = min(checkpointLogBytesDefault, o.LogBytesMax/8)
	}
	if o.PendingBytesMax == 0 {
		o.PendingBytesMax = pendingBytesMaxDefault
	}
	o.Snapshots.SetDefaults(o.CheckpointLogBytes)
	o.Health.SetDefaults()
}
