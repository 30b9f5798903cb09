package core

import (
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
)

// Event is something that happened. The kinds are those of this file.
type Event interface {
	step(c *Core, fx *Effects)
}

// Tick says that one unit of time passed.
type Tick struct {
	// At is the time on the clock of Gone and Alarm; 0 if it is not known.
	At time.Duration
}

// Age says that one unit of time passed, to those who wait for proof of a read, and to a vote that another member may want once
// the leader is silent. It stands for Tick on a member that must not ask for votes.
type Age struct{}

// Campaign asks for an election now, without waiting for the election time-out.
type Campaign struct{}

// Gone says that the process of another member has ended, as far as its connections tell.
type Gone struct {
	ID uint64
	// At is the time, on a clock that only goes forward.
	At time.Duration
	// Sync is how long a write of the log takes, RoundTrip how long a message to another member and its answer.
	Sync, RoundTrip time.Duration
}

// Alarm says that the time has come for which Effects.Alarm asked.
type Alarm struct {
	At time.Duration
}

// Receive is a message from a peer. Messages that only a member itself may send are dropped.
type Receive struct {
	Message *raftpb.Message
}

// AppendDone says that append work is stable, and carries the responses that are for this member.
type AppendDone struct {
	Done Appended
}

// ApplyDone says that entries are applied.
type ApplyDone struct {
	Done Applied
}

// Proposal is one entry's payload. Sequence names it when it is dropped.
type Proposal struct {
	Sequence uint64
	Data     []byte
}

// Propose offers entries to the log, all or none. Callers hold proposals back while CanPropose is false.
type Propose struct {
	Proposals []Proposal
}

// Read asks for proof that this member may answer reads that arrived before now. Handle names it when it is done.
type Read struct {
	Handle uint64
	// Leader asks for more: this member must be the leader in that proof.
	Leader bool
}

// Guard says how long a change of members that a client asked for is allowed. The zero value is that of a member's own change, which always is.
type Guard struct {
	// Term is the only one in which it may be proposed: what others proposed before that was applied when it was looked at.
	Term uint64
	// Below is one more than the deny revision under which it was allowed. Whoever owns the core compares it, before the event comes here.
	Below uint64
}

// ChangeConf proposes a change of members. Handle names it when it is dropped.
type ChangeConf struct {
	Handle uint64
	Change *raftpb.ConfChangeV2
	Guard  Guard
}

// Transfer asks to hand leadership to another member. Handle names it where somebody waits until it is asked for; zero: nobody does.
type Transfer struct {
	Handle uint64
	To     uint64
	Guard  Guard
}

// Unreachable says that messages to a peer were lost.
type Unreachable struct {
	ID uint64
}

// SnapshotSent says how sending a snapshot to a peer ended. It is due for every one, else the peer gets nothing more.
type SnapshotSent struct {
	ID uint64
	OK bool
}

// Effects is what the caller has to do after a step. Its slices are reused; the caller takes what it keeps.
type Effects struct {
	// Append is work for the Appender, in order.
	Append []*raftpb.Message
	// Apply is work for the Applier, in order.
	Apply []*raftpb.Message
	// Send is for peers.
	Send []*raftpb.Message
	// Reads are finished reads.
	Reads []ReadDone
	// Dropped are proposals and conf changes that did not enter the log and never will.
	Dropped []Dropped
	// Leadership is set when term, leader or role changed.
	Leadership *Leadership
	// Started is the term whose first entry this member, its leader, has just applied; 0 otherwise.
	Started uint64
	// LeaderGone says that the process of the leader has ended, Episode that this member asks for votes because of that, now or
	// in its turn.
	LeaderGone, Episode bool
	// Alarm is when an Alarm is due; 0 if that has not changed.
	Alarm time.Duration
}

// Reset empties the effects for the next step.
func (fx *Effects) Reset() {
	clear(fx.Append)
	clear(fx.Apply)
	clear(fx.Send)
	*fx = Effects{
		Append: fx.Append[:0], Apply: fx.Apply[:0], Send: fx.Send[:0],
		Reads: fx.Reads[:0], Dropped: fx.Dropped[:0],
	}
}

// ReadDone finishes a Read: state applied up to the index of its proof may answer it.
type ReadDone struct {
	Handle uint64
	// Term is the term of the proof when Read asked for the leader.
	Term uint64
	// Index is the read index that is applied.
	Index uint64
	// Err is ErrNotLeader or ErrNoLeader when there is no proof.
	Err error
}

// Dropped names a proposal or conf change that is not in the log.
type Dropped struct {
	// Sequence is the proposal's; Handle the conf change's. The other is zero.
	Sequence, Handle uint64
	Err              error
}

// Role is what a member does in its term.
type Role uint8

const (
	// RoleFollower follows a leader, or waits for one.
	RoleFollower Role = iota
	// RoleCandidate asks for votes.
	RoleCandidate
	// RoleLeader leads.
	RoleLeader
)

// String returns the role in lower case.
func (r Role) String() string {
	switch r {
	case RoleLeader:
		return "leader"
	case RoleCandidate:
		return "candidate"
	default:
		return "follower"
	}
}

// Leadership says who leads as far as this member knows.
type Leadership struct {
	Term uint64
	// Leader is the leader's id, 0 when unknown.
	Leader uint64
	Role   Role
}
