package core_test

import (
	"testing"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// follower returns member 1 of three, which follows member 3 in term 2.
func follower(t *testing.T) *core.Core {
	t.Helper()
	s := raft.NewMemoryStorage()
	members := &raftpb.ConfState{Voters: []uint64{1, 2, 3}}
	snapshot := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(3)), Term: new(uint64(1)), ConfState: members}}
	if err := s.ApplySnapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	if err := s.SetHardState(&raftpb.HardState{Term: new(uint64(1)), Commit: new(uint64(3))}); err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{ID: 1, Storage: s, Applied: 3, Logger: quiet{Logger: &raft.DefaultLogger{Logger: discard()}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(&core.Effects{}, core.Receive{Message: &raftpb.Message{
		Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(3)), To: new(uint64(1)), Term: new(uint64(2)),
	}})
	if l := c.Leadership(); l.Leader != 3 || l.Role != core.RoleFollower {
		t.Fatalf("got %+v, want a follower of member 3", l)
	}
	return c
}

// What a member sends is from itself: a peer that gets another's message ends the stream that brings it.
func TestAFollowerPassesNothingOnOfOthers(t *testing.T) {
	question := &raftpb.Message{
		Type: raftpb.MsgReadIndex.Enum(), From: new(uint64(2)), To: new(uint64(1)), Entries: []*raftpb.Entry{{Data: []byte("12345678")}},
	}
	tests := map[string]core.Event{
		"a question for a read of a member that takes it for the leader":  core.Receive{Message: question},
		"a wish who is to lead, which comes after the leadership is lost": core.Transfer{To: 2},
	}
	for sentence, event := range tests {
		t.Run(sentence, func(t *testing.T) {
			c, fx := follower(t), core.Effects{}
			c.Step(&fx, event)
			for _, m := range fx.Send {
				t.Errorf("member 1 sends %v from %x to %x", m.GetType(), m.GetFrom(), m.GetTo())
			}
		})
	}
}
