package snapshots

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/storage"
)

// roomPercent is how much room a snapshot needs to be received, in parts of what is missing of it.
const roomPercent = 105

// Source is the receiver's end of a snapshot's stream.
type Source interface {
	Recv() (*peerv1.SendSnapshotRequest, error)
	Send(m *peerv1.SendSnapshotResponse) error
}

// Errors of a snapshot that is refused; the sender tries again later.
var (
	// ErrNotNeeded says that the receiver is not behind the snapshot.
	ErrNotNeeded = errors.New("snapshot is older than the member's state")
	// ErrMismatch says that a snapshot does not hold what it was announced to hold.
	ErrMismatch = errors.New("snapshot does not hold what it says")
	// ErrNoRoom says that the receiver's disk has no room for the snapshot.
	ErrNoRoom = errors.New("not enough disk space")
)

// ReceiverOptions says for which member, and where to, snapshots are received. All of it is required.
type ReceiverOptions struct {
	// Member is this one's id, Cluster that of its cluster.
	Member  uint64
	Cluster [16]byte
	Logger  *zap.Logger
	// Store returns the state machine, which may be another one at the next call.
	Store func() *storage.Store
	Dir   *datadir.Dir
	Inbox *transfer.Inbox
	// Installing is held while a snapshot is installed, and while another one is taken up.
	Installing *sync.Mutex
	// Refuse reports whether a member speaks in a term too far ahead of this one's.
	Refuse func(from, term uint64) bool
	// Stopping returns an error once the member stops.
	Stopping func() error
	// Post gives an event to the loop. It does not block.
	Post func(ev ...core.Event)
	// Received counts snapshots, Bytes what was received of them, Reused what did not have to be.
	Received, Bytes, Reused prometheus.Counter
}

// Receiver takes snapshots that peers send.
type Receiver struct {
	o   ReceiverOptions
	log *zap.Logger
}

// NewReceiver returns the receiver of a member that starts.
func NewReceiver(o ReceiverOptions) *Receiver { return &Receiver{o: o, log: o.Logger} }

// Receive takes a snapshot that a peer sends, whose id is 0 if it is not known, and hands it to raft, which installs it unless it is not
// needed any more. An error ends the stream; what was received stays, and the next attempt goes on from there.
func (r *Receiver) Receive(from uint64, s Source) error {
	if err := r.o.Stopping(); err != nil {
		return err
	}
	first, err := s.Recv()
	if err != nil {
		return brokenOff(err)
	}
	message := &raftpb.Message{}
	if err = proto.Unmarshal(first.GetMessage(), message); err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	manifest, err := checkpoint.DecodeManifest(first.GetManifest())
	if err != nil {
		return err
	}
	if from != 0 && message.GetFrom() != from {
		return fmt.Errorf("%w: member %x sends it in the name of member %x", ErrMismatch, from, message.GetFrom())
	}
	err = r.check(message, manifest)
	needed := !errors.Is(err, ErrNotNeeded)
	if needed && err != nil {
		return err
	}
	if r.o.Refuse(message.GetFrom(), max(message.GetTerm(), manifest.Term)) {
		return fmt.Errorf("%w: of term %d", ErrMismatch, message.GetTerm())
	}
	if !needed {
		// The leader does not know how far this member is, or it would not offer it this. Raft answers with it.
		r.o.Post(core.Receive{Message: message})
		return err
	}
	in, err := r.begin(message, manifest, first.GetManifest())
	if err != nil {
		return err
	}
	if err = s.Send(&peerv1.SendSnapshotResponse{Have: in.Have}); err != nil {
		return fmt.Errorf("answer the sender: %w", err)
	}
	r.log.Info("receives a snapshot", zap.Uint64("from", message.GetFrom()), zap.Uint64("index", manifest.Index),
		zap.Int64("size_bytes", manifest.SizeBytes()), zap.Int64("missing_bytes", in.MissingBytes),
		zap.Int64("reused_bytes", in.ReusedBytes))
	if err = r.chunks(in, s); err != nil {
		return err
	}
	name, err := in.Finish()
	if err != nil {
		return err
	}
	// Raft takes it from here on as installed: what it is has to be known before.
	fs := r.o.Dir.FS()
	if err = Examine(fs, fs.PathJoin(r.o.Dir.SnapInPath(), name), manifest, r.o.Cluster); err != nil {
		return errors.Join(err, r.o.Inbox.Drop(name))
	}
	r.o.Received.Inc()
	if message.Snapshot, err = snapshotOf(manifest); err != nil {
		return err
	}
	message.Snapshot.Data = []byte(name)
	r.o.Post(core.Receive{Message: message})
	if err := s.Send(&peerv1.SendSnapshotResponse{Stored: true}); err != nil {
		return fmt.Errorf("answer the sender: %w", err)
	}
	return nil
}

// begin takes up a snapshot that is needed and has room, once no other one is being installed.
func (r *Receiver) begin(
	message *raftpb.Message, m *checkpoint.Manifest, raw []byte,
) (*transfer.Reception, error) {
	r.o.Installing.Lock()
	defer r.o.Installing.Unlock()
	if err := r.check(message, m); err != nil {
		return nil, err // The one that was installed meanwhile may be as new.
	}
	in, err := r.o.Inbox.Begin(raw)
	if err != nil {
		return nil, err
	}
	r.o.Reused.Add(float64(in.ReusedBytes))
	usage, err := r.o.Dir.FS().GetDiskUsage(r.o.Dir.Path())
	if need := uint64(in.MissingBytes) / 100 * roomPercent; err == nil && usage.AvailBytes < need {
		return nil, fmt.Errorf("%w: the snapshot needs %d bytes, %d are free", ErrNoRoom, need, usage.AvailBytes)
	}
	return in, nil
}

func (r *Receiver) chunks(in *transfer.Reception, s Source) error {
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenOff(err)
		}
		if err := r.o.Stopping(); err != nil {
			return err
		}
		if err := in.Chunk(m); err != nil {
			return err
		}
		r.o.Bytes.Add(float64(len(m.GetData())))
	}
}

// check refuses what would not be installed.
func (r *Receiver) check(message *raftpb.Message, m *checkpoint.Manifest) error {
	meta := message.GetSnapshot().GetMetadata()
	if message.GetTerm() == 0 || len(m.Files) == 0 {
		return fmt.Errorf("%w: in term %d, with %d files", ErrMismatch, message.GetTerm(), len(m.Files))
	}
	if message.GetType() != raftpb.MsgSnap || message.GetTo() != r.o.Member ||
		meta.GetIndex() != m.Index || meta.GetTerm() != m.Term {
		return fmt.Errorf("%w: announced as %v to %x, index %d term %d; its manifest says index %d term %d",
			ErrMismatch, message.GetType(), message.GetTo(), meta.GetIndex(), meta.GetTerm(), m.Index, m.Term)
	}
	if applied := r.o.Store().Applied().Index; m.Index <= applied {
		return fmt.Errorf("%w: at index %d, applied %d", ErrNotNeeded, m.Index, applied)
	}
	if _, newest := storage.ClusterVersions(); m.ClusterVersion > newest {
		return fmt.Errorf("%w: cluster version %d, this program knows up to %d",
			storage.ErrUnknownFormat, m.ClusterVersion, newest)
	}
	return nil
}

// Examine opens the state that was received in a directory, changes nothing, and refuses one that is not what its manifest says, or is of
// another cluster.
func Examine(fs vfs.FS, dir string, m *checkpoint.Manifest, cluster [16]byte) error {
	a, err := storage.ReadCheckpoint(fs, checkpoint.DataPath(fs, dir))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	case a.Index != m.Index || a.Term != m.Term || a.ClusterVersion != m.ClusterVersion:
		return fmt.Errorf("%w: its state is at index %d term %d in cluster version %d, announced as index %d term %d in version %d",
			ErrMismatch, a.Index, a.Term, a.ClusterVersion, m.Index, m.Term, m.ClusterVersion)
	case a.ClusterID != cluster:
		return fmt.Errorf("%w: its state is that of cluster %x, this member's is %x", ErrMismatch, a.ClusterID, cluster)
	case !bytes.Equal(a.ConfState, m.ConfState):
		return fmt.Errorf("%w: its state has other members than announced", ErrMismatch)
	default:
		return nil
	}
}

// brokenOff returns why the stream of a snapshot ended. An error of the transport says it itself.
func brokenOff(err error) error {
	if errors.Is(err, io.EOF) {
		return transfer.ErrIncomplete
	}
	return err
}
