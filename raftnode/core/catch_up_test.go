package core_test

import (
	"testing"

	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
)

// readCounter counts what raft reads of the log.
type readCounter struct {
	*raft.MemoryStorage
	bytes int
}

func (s *readCounter) Entries(lo, hi, bytesMax uint64) ([]*raftpb.Entry, error) {
	ents, err := s.MemoryStorage.Entries(lo, hi, bytesMax)
	for _, e := range ents {
		s.bytes += len(e.GetData())
	}
	return ents, err
}

// stepBytesMax is what one step may read of the log for one member: it is read between two heartbeats.
const stepBytesMax = 10 << 20

// The loop does not stand still while a member that is far behind is sent the log.
func TestAStepReadsLittleForAMemberFarBehind(t *testing.T) {
	const entries = 200
	s := &readCounter{MemoryStorage: raft.NewMemoryStorage()}
	members := &raftpb.ConfState{Voters: []uint64{1}, Learners: []uint64{2}}
	snapshot := &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: members}}
	if err := s.ApplySnapshot(snapshot); err != nil {
		t.Fatal(err)
	}
	var old []*raftpb.Entry
	for i := range uint64(entries) {
		old = append(old, &raftpb.Entry{Index: new(i + 2), Term: new(uint64(1)), Data: make([]byte, core.EntryBytesMax)})
	}
	if err := s.Append(old); err != nil {
		t.Fatal(err)
	}
	if err := s.SetHardState(&raftpb.HardState{Term: new(uint64(1)), Commit: new(uint64(entries + 1))}); err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Config{
		ID: 1, Storage: s, Applied: entries + 1, Logger: quiet{Logger: &raft.DefaultLogger{Logger: discard()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sent, most := uint64(0), 0 // newest entry sent, and the most bytes read in a step
	var step func(events ...core.Event)
	step = func(events ...core.Event) {
		s.bytes = 0
		fx := core.Effects{}
		c.Step(&fx, events...)
		most = max(most, s.bytes)
		for _, m := range fx.Send {
			if n := len(m.GetEntries()); n > 0 {
				sent = max(sent, m.GetEntries()[n-1].GetIndex())
			}
		}
		for _, m := range fx.Append {
			if err := s.Append(m.GetEntries()); err != nil {
				t.Fatal(err)
			}
			done := core.Appended{Responses: m.GetResponses()}
			if len(m.GetEntries()) > 0 {
				done.Entries = 1
			}
			step(core.AppendDone{Done: done})
		}
	}
	answer := func(index uint64, reject bool) core.Event {
		term := c.Leadership().Term
		return core.Receive{Message: &raftpb.Message{
			Type: raftpb.MsgAppResp.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(term),
			Index: new(index), Reject: new(reject), RejectHint: new(uint64(1)), LogTerm: new(uint64(1)),
		}}
	}
	step(core.Campaign{})
	if c.Leadership().Role != core.RoleLeader {
		t.Fatalf("it does not lead: %v", c.Leadership())
	}
	sent = 0 // What was sent to find out where the member is does not count.
	step(answer(entries+1, true))
	steps := 0
	for ; sent < entries+1 && steps < 10*entries; steps++ {
		step(answer(sent, false))
	}
	if sent < entries+1 || most > stepBytesMax {
		t.Errorf("sent up to %d of %d in %d steps; the most read in one was %d bytes, want at most %d",
			sent, entries+1, steps, most, stepBytesMax)
	}
	if most < 2<<20 {
		t.Errorf("read %d bytes at most in a step: the member was not far behind", most)
	}
}
