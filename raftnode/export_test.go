package raftnode

import (
	"context"
	"testing"

	raftpb "go.etcd.io/raft/v3/raftpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/snapshots"
)

// WithGenesis begins a cluster of so many voters, with ids from 1.
func WithGenesis(o Options, id, voters uint64) Options {
	o.genesis = &identity.Genesis{ClusterID: [16]byte{1}, HistoryID: [16]byte{2}, MemberID: id}
	for v := range voters {
		o.genesis.Voters = append(o.genesis.Voters, v+1)
	}
	return o
}

// WithEmpty waits for the snapshot of a cluster; the one that WithGenesis began has id 1.
func WithEmpty(o Options, id uint64, cluster [16]byte) Options {
	o.genesis = &identity.Genesis{ClusterID: cluster, MemberID: id, Empty: true}
	return o
}

// ForgetInRaft does the first half of a removal.
func ForgetInRaft(ctx context.Context, n *Node, id uint64) error {
	return n.confs.Change(ctx, core.Guard{}, &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{
		{Type: raftpb.ConfChangeRemoveNode.Enum(), NodeId: new(id)},
	}})
}

// Desired returns what a leader would make of a member's record; nil leaves it.
func Desired(n *Node, id uint64, stored *storev1.Member) *storev1.Member {
	return n.self.Desired(id, stored)
}

// Install installs a received snapshot as the append goroutine does.
func Install(n *Node, s *raftpb.Snapshot) error {
	hs := &raftpb.HardState{Term: new(s.GetMetadata().GetTerm()), Commit: new(s.GetMetadata().GetIndex())}
	defer n.background.Wait()
	return n.installer.install(s, hs)
}

// Mend makes a member wait for a log that reaches an index, and keep from votes until then.
func Mend(n *Node, index uint64) error { return n.self.Mend(index) }

// WithVersionMax makes a leader take its program for one that follows a cluster version.
func WithVersionMax(o Options, version uint32) Options {
	o.versionMax = version
	return o
}

// ProposeRaw has bytes stand in the log as a command without a look at them, as programs before did with those of peers.
func ProposeRaw(n *Node, command []byte) error {
	_, err := n.proposals.Add(command)
	n.mail.ring()
	return err
}

// WithLogMemTable makes the log's memtable so small that its write-ahead log is rotated and tables are written.
func WithLogMemTable(o Options, size uint64) Options {
	o.logMemTableSize = size
	return o
}

// ReportRemoved stops a member as a peer does that says it was removed.
func ReportRemoved(n *Node) { n.fail(ErrRemoved) }

// CutLog cuts the log as the janitor does.
func CutLog(t testing.TB, n *Node) {
	t.Helper()
	if err := n.janitor.CutLog(); err != nil {
		t.Fatal(err)
	}
}

// Promised returns the last entry that a member has promised to hold, as this one would tell it.
func Promised(n *Node, id uint64) (index, term uint64) {
	_, index, term = n.self.Promised(id)
	return index, term
}

// Compare answers as the transport does when another member asks how this one is.
func Compare(n *Node, req *peerv1.CompareRequest) *peerv1.CompareResponse {
	return n.health.Answer(req)
}

// Checkpoint makes a checkpoint now and cuts the log behind it.
func (n *Node) Checkpoint() error { return n.janitor.Checkpoint() }

// ReceiveSnapshot takes a snapshot that a peer sends.
func (n *Node) ReceiveSnapshot(s snapshots.Source) error { return n.receiver.Receive(0, s) }

// ReceiveSnapshotOf takes a snapshot that a known peer sends.
func (n *Node) ReceiveSnapshotOf(peer uint64, s snapshots.Source) error {
	return n.receiver.Receive(peer, s)
}
