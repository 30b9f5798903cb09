package raftnode

import (
	"errors"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/health"
	"github.com/tenure-io/tenure/raftnode/identity"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// Errors of Propose say what is known about the command. All but ErrOutcomeUnknown mean that it was not applied and
// never will be.
var (
	// ErrNotLeader says that this member does not lead. The error also is a NotLeaderError with a hint.
	ErrNotLeader = core.ErrNotLeader
	// ErrNoLeader says that no leader is known.
	ErrNoLeader = core.ErrNoLeader
	// ErrTransferring says that leadership is being handed over.
	ErrTransferring = core.ErrTransferring
	// ErrTooBusy says that too many bytes of commands are under way.
	ErrTooBusy = core.ErrTooBusy
	// ErrTooLarge says that one command is larger than an entry may be.
	ErrTooLarge = envelope.ErrTooLarge
	// ErrCommandUnknown says that a command holds a kind, field or value that this program does not know. In the log it
	// would stop every member, so it is not proposed.
	ErrCommandUnknown = errors.New("command holds what this program does not know")
	// ErrStopped says that the member is stopping.
	ErrStopped = core.ErrStopped
	// ErrNotProposed says that the caller gave up before the command entered the log. It comes with the context's error.
	ErrNotProposed = errors.New("given up before it was proposed")
	// ErrDiskHangs says that this member cannot apply what was asked for, because its disk hangs. Others can.
	ErrDiskHangs = core.ErrDiskHangs
	// ErrOutcomeUnknown says that the command may or may not be applied, now or later. It comes with the reason.
	ErrOutcomeUnknown = envelope.ErrOutcomeUnknown
)

// Errors of Open. Those of the data directory are also here, for callers who tell people what to do.
var (
	// ErrLocked says that another process uses the data directory.
	ErrLocked = datadir.ErrLocked
	// ErrNotDataDir says that the data directory holds other files than a member's.
	ErrNotDataDir = datadir.ErrNotDataDir
	// ErrLogLostTail says that the log ends before what was committed or applied: acknowledged entries are missing.
	ErrLogLostTail = identity.ErrLogLostTail
	// ErrCommittedLost says that the leader has other entries where this member knows what was committed: most members lost
	// what was acknowledged.
	ErrCommittedLost = identity.ErrCommittedLost
	// ErrLogCutPastState says that the log begins after the state machine's end: entries between them are missing.
	ErrLogCutPastState = errors.New("raft log starts after the end of the state machine")
	// ErrSnapshotMismatch says that a snapshot does not hold what it was announced to hold.
	ErrSnapshotMismatch = snapshots.ErrMismatch
	// ErrWrongCluster says that state machine and data directory belong to different clusters.
	ErrWrongCluster = identity.ErrWrongCluster
	// ErrRecoveryInterrupted says that a recovery of the directory has replaced its state and log, and did not finish. It comes
	// with ErrWrongCluster.
	ErrRecoveryInterrupted = errors.New("a recovery of this directory was interrupted: run \"tenure recover\" again")
)

// NotLeaderError is ErrNotLeader with a hint.
type NotLeaderError = turn.NotLeaderError

// Errors of changes of members. With all of them nothing was changed.
var (
	// ErrMemberUnknown says that no member has that id.
	ErrMemberUnknown = membership.ErrMemberUnknown
	// ErrMemberExists says that a member has that name, or that id from another disk.
	ErrMemberExists = membership.ErrMemberExists
	// ErrMemberRemoved says that the id belonged to a member that was removed. Ids are never used again.
	ErrMemberRemoved = membership.ErrMemberRemoved
	// ErrMemberRefused says that the member cannot be of this cluster; the text says why.
	ErrMemberRefused = membership.ErrMemberRefused
	// ErrLosesQuorum says that too few voters could be reached after the change.
	ErrLosesQuorum = membership.ErrLosesQuorum
	// ErrNotCaughtUp says that a member lacks too much of the log for what is asked of it.
	ErrNotCaughtUp = membership.ErrNotCaughtUp
	// ErrConfChangePending says that another change of members is not finished.
	ErrConfChangePending = core.ErrConfChangePending
	// ErrTransferFailed says that the leadership was not taken over in time.
	ErrTransferFailed = membership.ErrTransferFailed
	// ErrOnlyVoter says that the leadership cannot be handed over, because no other member votes.
	ErrOnlyVoter = membership.ErrOnlyVoter
	// ErrRightsTaken says that rights were taken away since the change was allowed, as AllowedBelow says.
	ErrRightsTaken = membership.ErrRightsTaken
	// ErrRightsUnsettled says that rights are perhaps being taken away, and were for as long as the change waited.
	ErrRightsUnsettled = membership.ErrRightsUnsettled
	// ErrRemoved says that this member was removed from its cluster, and stops for good.
	ErrRemoved = membership.ErrRemoved
	// ErrJoinToken says that a member cannot join with the token that it brought.
	ErrJoinToken = membership.ErrJoinToken
	// ErrNotEnabled says that the cluster version does not allow it yet.
	ErrNotEnabled = membership.ErrNotEnabled
)

// Errors of members whose disks or states are in danger.
var (
	// ErrDiskFull says that a disk of the cluster has too little room for what makes the state grow. What frees some, and
	// renewals and expiries, go on.
	ErrDiskFull = health.ErrDiskFull
	// ErrStateDiffers says that this member's state differs from that of a quorum. It stops, and must not be used again.
	ErrStateDiffers = health.ErrStateDiffers
	// ErrNoAgreement says that the members' states differ and no quorum has the same: nobody can say which is right, so
	// nothing is written.
	ErrNoAgreement = health.ErrNoAgreement
)

// Errors of members that cannot begin or join a cluster. Their texts say what to do.
var (
	// ErrNotFounding says that the member's name is not in its own list of first members.
	ErrNotFounding = identity.ErrNotFounding
	// ErrClusterBegan says that the cluster began without this directory.
	ErrClusterBegan = identity.ErrClusterBegan
	// ErrWaitsForCluster says that the member was told to begin or join a cluster before, and is not told any more.
	ErrWaitsForCluster = identity.ErrWaitsForCluster
	// ErrBadAnswer says that another member gave an answer with which this one cannot begin.
	ErrBadAnswer = identity.ErrBadAnswer
	// ErrNoPeers says that a member that should have peers has no listener for them.
	ErrNoPeers = identity.ErrNoPeers
)
