package core

import (
	"fmt"
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// change is a change of members that is in the log and not applied. Raft counts by the members before it, so that it would
// hand the leadership to one that the change takes the vote from.
type change struct {
	index uint64
	of    *raftpb.ConfChangeV2
}

// loadChanges finds the changes in the log behind what is applied.
func (c *Core) loadChanges() error {
	last, err := c.cfg.Storage.LastIndex()
	if err != nil {
		return fmt.Errorf("read the log's end: %w", err)
	}
	for next := c.applied + 1; next <= last; {
		ents, err := c.cfg.Storage.Entries(next, last+1, MessageBytesMax)
		if err != nil {
			return fmt.Errorf("read entries from %d: %w", next, err)
		}
		if len(ents) == 0 {
			return nil
		}
		c.noteChanges(ents)
		next = ents[len(ents)-1].GetIndex() + 1
	}
	return nil
}

// noteChanges takes note of entries that enter the log. They replace what was there from the first of them on.
func (c *Core) noteChanges(ents []*raftpb.Entry) {
	if len(ents) == 0 {
		return
	}
	first := ents[0].GetIndex()
	c.changes = slices.DeleteFunc(c.changes, func(ch change) bool { return ch.index >= first })
	for _, e := range ents {
		var of *raftpb.ConfChangeV2
		switch e.GetType() {
		case raftpb.EntryConfChange:
			cc := &raftpb.ConfChange{}
			if proto.Unmarshal(e.GetData(), cc) == nil { // Apply says what is wrong with it.
				of = cc.AsV2()
			}
		case raftpb.EntryConfChangeV2:
			cc := &raftpb.ConfChangeV2{}
			if proto.Unmarshal(e.GetData(), cc) == nil {
				of = cc
			}
		default:
		}
		if of != nil {
			c.changes = append(c.changes, change{index: e.GetIndex(), of: of})
		}
	}
}

// forgetChanges forgets what is applied: raft counts with it.
func (c *Core) forgetChanges() {
	c.changes = slices.DeleteFunc(c.changes, func(ch change) bool { return ch.index <= c.applied })
}

// stays reports whether a member votes now and after all changes that are in the log.
func (c *Core) stays(id uint64) bool {
	_, votes := c.rn.Status().Config.Voters[0][id]
	for _, ch := range c.changes {
		for _, one := range ch.of.GetChanges() {
			if one.GetNodeId() == id {
				votes = one.GetType() == raftpb.ConfChangeAddNode
			}
		}
	}
	return votes
}
