package core_test

import (
	"testing"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// A leader that believes this member has entries which its disk has lost sends what follows on them as soon as it is refused. It is refused once
// a tick, however often it sends the same; what is refused at another place is refused at once.
func TestTheSameEntriesAreRefusedOnceATick(t *testing.T) {
	s := raft.NewMemoryStorage()
	members := &raftpb.ConfState{Voters: []uint64{1, 2}}
	snapshot := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(3)), Term: new(uint64(1)), ConfState: members}}
	if err := s.ApplySnapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	if err := s.SetHardState(&raftpb.HardState{Term: new(uint64(1)), Commit: new(uint64(3))}); err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{ID: 2, Storage: s, Applied: 3, Logger: quiet{Logger: &raft.DefaultLogger{Logger: discard()}}})
	if err != nil {
		t.Fatal(err)
	}
	var refused []uint64 // where the leader's entries were to follow
	step := func(ev core.Event) {
		fx := core.Effects{}
		c.Step(&fx, ev)
		for _, m := range fx.Append {
			if len(m.GetEntries()) > 0 {
				t.Errorf("entries were taken: %v", m)
			}
			for _, r := range m.GetResponses() {
				if r.GetType() == raftpb.MsgAppResp && r.GetReject() {
					refused = append(refused, r.GetIndex())
				}
			}
		}
	}
	entries := func(follow uint64) core.Event {
		return core.Receive{Message: &raftpb.Message{
			Type: raftpb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(1)), Index: new(follow), LogTerm: new(uint64(1)),
			Commit: new(follow), Entries: []*raftpb.Entry{{Index: new(follow + 1), Term: new(uint64(1))}},
		}}
	}
	for _, tick := range []core.Event{core.Tick{}, core.Age{}} {
		refused = nil
		for range 10 {
			step(entries(9))
		}
		step(entries(7))
		step(entries(9))
		if len(refused) != 3 || refused[0] != 9 || refused[1] != 7 || refused[2] != 9 {
			t.Errorf("before the next tick, entries were refused at %v, want 9, 7 and 9", refused)
		}
		step(tick)
	}
}
