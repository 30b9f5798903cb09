package raftnode

import (
	"errors"
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

// recoverBatchBytes bounds what is applied at once.
const recoverBatchBytes = 4 << 20

// applyRest applies the entries up to and with last that a state lacks. Of the changes of members among them only who is a
// member in the end matters: all but this one are given up. Entries that this program cannot apply are left out, and
// returned.
func (d *disk) applyRest(o storage.Options, last uint64) (a storage.Applied, unreadable []UnreadableEntry, err error) {
	s, err := storage.Open(o)
	if err != nil {
		return a, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	begun, err := core.UnmarshalConfState(s.Applied().ConfState)
	if err != nil {
		return a, nil, err
	}
	members := membersOf(begun)
	applier := core.NewApplier(core.ApplierOptions{
		State: func() core.StateMachine { return s },
		ConfChange: func(change *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
			for _, c := range change.GetChanges() {
				members = without(members, c.GetNodeId())
				if c.GetType() != raftpb.ConfChangeRemoveNode {
					members = append(members, c.GetNodeId())
				}
			}
			return &raftpb.ConfState{Voters: members}, nil
		},
	})
	for next := s.Applied().Index + 1; next <= last; next = s.Applied().Index + 1 {
		entries, err := d.rlog.Entries(next, last+1, recoverBatchBytes)
		if err != nil {
			return a, nil, err
		}
		entries, unreadable = blankUnreadable(entries, unreadable)
		if _, err := applier.Apply([]*raftpb.Message{{Entries: entries}}); err != nil {
			return a, nil, err
		}
	}
	return s.Applied(), unreadable, s.Flush()
}

// blankUnreadable returns the entries with an empty one in the place of each that the state machine could not apply, and
// found with those added.
func blankUnreadable(entries []*raftpb.Entry, found []UnreadableEntry) ([]*raftpb.Entry, []UnreadableEntry) {
	readable := make([]*raftpb.Entry, 0, len(entries))
	for _, e := range entries {
		if e.GetType() == raftpb.EntryNormal && len(e.GetData()) > 0 {
			if _, err := storage.DecodeEnvelope(e.GetData()); err != nil {
				found = append(found, UnreadableEntry{Index: e.GetIndex(), Term: e.GetTerm(), Cause: err})
				e = &raftpb.Entry{Index: new(e.GetIndex()), Term: new(e.GetTerm())}
			}
		}
		readable = append(readable, e)
	}
	return readable, found
}

func without(ids []uint64, id uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(ids), func(x uint64) bool { return x == id })
}
