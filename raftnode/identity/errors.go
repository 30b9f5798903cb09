package identity

import "errors"

// Errors of members whose directory is not what others know of it.
var (
	// ErrLogLostTail says that the log ends before what was committed or applied: acknowledged entries are missing.
	ErrLogLostTail = errors.New("raft log ends before entries that were committed")
	// ErrCommittedLost says that the leader has other entries where this member knows what was committed: most members lost
	// what was acknowledged.
	ErrCommittedLost = errors.New("the leader's log contradicts what this member knows to be committed")
	// ErrWrongCluster says that state machine and data directory belong to different clusters.
	ErrWrongCluster = errors.New("state machine belongs to another cluster")
)
