package core

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// Progress is what a leader knows of a member.
type Progress struct {
	// ID is the member's.
	ID uint64
	// Self tells whether it is the leader itself, Learner whether it does not vote.
	Self, Learner bool
	// Match is the last entry that it has for certain.
	Match uint64
	// Active tells whether it was heard of since the last check of the quorum.
	Active bool
	// Replicating tells whether entries flow to it, Snapshot the index of the snapshot that it gets instead; 0 for none.
	Replicating bool
	Snapshot    uint64
}

// Progress appends what is known of every member, this one included, by id. On a member that does not lead that is
// nothing.
func (c *Core) Progress(dst []Progress) []Progress {
	if c.lead.Role != RoleLeader {
		return dst
	}
	c.rn.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		p := Progress{
			ID: id, Self: id == c.cfg.ID, Learner: typ == raft.ProgressTypeLearner, Match: pr.Match,
			Active: pr.RecentActive || id == c.cfg.ID, Replicating: pr.State == tracker.StateReplicate,
		}
		if pr.State == tracker.StateSnapshot {
			p.Snapshot = pr.PendingSnapshot
		}
		dst = append(dst, p)
	})
	return dst
}
