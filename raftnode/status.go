package raftnode

import (
	"time"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/health"
)

// Status is what a member knows about itself and its cluster. It is a moment's view, not a proof.
type Status struct {
	// ClusterID names the cluster.
	ClusterID [16]byte
	// MemberID, Incarnation and Name are this member's.
	MemberID    uint64
	Incarnation uint64
	Name        string
	// Term is raft's, Role what this member does in it.
	Term uint64
	Role string
	// Leader is the leader's member id, 0 when unknown; LeaderName and LeaderAddresses are as recorded.
	Leader          uint64
	LeaderName      string
	LeaderAddresses Addresses
	// Commit is the highest index known to be committed, Applied the last one applied here.
	Commit, Applied uint64
	// FirstIndex and LastIndex bound the log; LogBytes is roughly its size.
	FirstIndex, LastIndex uint64
	LogBytes              uint64
	// Voters and Learners are the members' ids.
	Voters, Learners []uint64
	// EntriesAppended counts the entries written to the log since start.
	EntriesAppended uint64
	// CheckpointIndex is the index of the newest checkpoint, 0 without one.
	CheckpointIndex uint64
}

// LeadChanged returns a channel that is closed when the leader or the term is another one than now.
func (n *Node) LeadChanged() <-chan struct{} { return n.view.LeadChanged() }

// Status returns what the member knows.
func (n *Node) Status() Status {
	lead, commit := n.view.Both()
	applied := n.Store().Applied()
	s := Status{
		ClusterID:       n.identity.ClusterID,
		MemberID:        n.identity.MemberID,
		Incarnation:     n.identity.Incarnation,
		Name:            n.o.Name,
		Term:            lead.Term,
		Role:            lead.Role.String(),
		Leader:          lead.Leader,
		Commit:          max(commit, applied.Index),
		Applied:         applied.Index,
		LogBytes:        n.rlog.SizeBytes(),
		EntriesAppended: n.rlog.Appended(),
	}
	if s.Leader == s.MemberID {
		s.LeaderName, s.LeaderAddresses = n.o.Name, n.o.Addresses
	} else if m := n.self.Member(s.Leader); m != nil {
		s.LeaderName = m.GetName()
		s.LeaderAddresses = Addresses{Peer: m.GetPeerAddress(), Client: m.GetClientAddress(), HTTP: m.GetHttpAddress()}
	}
	// First and last index come from memory and have no error.
	s.FirstIndex, _ = n.rlog.FirstIndex()
	s.LastIndex, _ = n.rlog.LastIndex()
	if cs, err := core.UnmarshalConfState(applied.ConfState); err == nil {
		s.Voters, s.Learners = cs.GetVoters(), cs.GetLearners()
	}
	if m := n.snaps.Newest(); m != nil {
		s.CheckpointIndex = m.Index
	}
	return s
}

// Progress returns the last index applied here, and the highest one known to be committed. It costs nothing.
func (n *Node) Progress() (applied, commit uint64) {
	applied = n.Store().Applied().Index
	return applied, max(n.view.Commit(), applied)
}

// Alarm is a danger that an operator has to look at.
type Alarm = health.Alarm

// The names of alarms.
const (
	AlarmDiskFull         = health.AlarmDiskFull
	AlarmSlowDisk         = health.AlarmSlowDisk
	AlarmWriteStall       = health.AlarmWriteStall
	AlarmChecksumMismatch = health.AlarmChecksumMismatch
	AlarmWipedDisk        = health.AlarmWipedDisk
	AlarmTermJump         = health.AlarmTermJump
	AlarmStartRefused     = health.AlarmStartRefused
)

// Alarms returns the dangers that this member knows of, its own and those of others.
func (n *Node) Alarms() []Alarm {
	return append(n.self.Alarms(), n.health.Alarms()...)
}

// MajorityTime returns the latest time that the wall clocks of a majority of the voters have reached, and whether this member knows it.
func (n *Node) MajorityTime() (time.Time, bool) { return n.health.MajorityTime() }
