package turn_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/raftnode/membership"
	"github.com/tenure-io/tenure/raftnode/turn"
)

// member follows a script, and writes down what its turns do.
type member struct {
	told    []string
	stops   bool
	script  script
	view    turn.View
	readers *turn.Readers
	queue   *envelope.Queue
	confs   *membership.ConfChanges
	posted  []core.Event // by those who change members
	deny    uint64       // the deny revision of what is applied
	turn    *turn.Turn
}

// script is a core that does what it is told.
type script struct {
	m       *member
	lead    core.Leadership
	commit  uint64
	hangs   bool
	busy    bool         // an append is under way
	effects core.Effects // of the next step
}

func newMember() *member {
	m := &member{readers: turn.NewReaders(), queue: envelope.New(1, 1, 1<<20)}
	m.script = script{m: m, lead: core.Leadership{Term: 1, Leader: 1, Role: core.RoleLeader}, commit: 7}
	m.confs = membership.NewConfChanges(membership.ConfOptions{
		Member: 1, Patience: time.Second, MayPropose: func() error { return nil },
		Post: func(ev ...core.Event) { m.posted = append(m.posted, ev...) },
	})
	m.turn = turn.New(turn.Options{
		Core: &m.script, View: &m.view, Readers: m.readers, Proposals: m.queue, Peers: &membership.Peers{},
		Confs: m.confs, ElectionTicks: 10, DenyRevision: func() uint64 { return m.deny }, Self: m, Surroundings: m,
	})
	return m
}

func (m *member) tell(format string, args ...any) {
	m.told = append(m.told, fmt.Sprintf(format, args...))
}

// is compares what the turns did since the last time.
func (m *member) is(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(m.told, want) {
		t.Errorf("got %q, want %q", m.told, want)
	}
	m.told = nil
}

func (s *script) Step(fx *core.Effects, events ...core.Event) {
	for _, ev := range events {
		s.m.tell("%T", ev)
	}
	next := s.effects
	s.effects = core.Effects{}
	if next.Leadership != nil {
		s.lead, fx.Leadership = *next.Leadership, next.Leadership
	}
	fx.Append = append(fx.Append, next.Append...)
	fx.Send = append(fx.Send, next.Send...)
	fx.Reads = append(fx.Reads, next.Reads...)
	fx.Dropped = append(fx.Dropped, next.Dropped...)
	fx.Started = max(fx.Started, next.Started)
	fx.LeaderGone, fx.Episode, fx.Alarm = next.LeaderGone, next.Episode, max(fx.Alarm, next.Alarm)
}

func (s *script) Leadership() core.Leadership                  { return s.lead }
func (s *script) Commit() uint64                               { return s.commit }
func (s *script) CanPropose() bool                             { return !s.busy }
func (s *script) Hangs() bool                                  { return s.hangs }
func (s *script) Progress(dst []core.Progress) []core.Progress { return dst }

func (m *member) Filter(events []core.Event, _ uint64) []core.Event {
	return slices.DeleteFunc(events, func(ev core.Event) bool {
		_, campaign := ev.(core.Campaign)
		return campaign
	})
}

func (m *member) Retire(term, commit uint64) { m.tell("retire term %d at %d", term, commit) }
func (m *member) Stops() bool                { return m.stops }
func (m *member) Hangs(hangs bool)           { m.tell("hangs %t", hangs) }
func (m *member) Dropped()                   { m.tell("dropped") }
func (m *member) Gone(asks bool)             { m.tell("gone, asks %t", asks) }
func (m *member) Alarm(at time.Duration)     { m.tell("alarm at %v", at) }
func (m *member) Released()                  { m.tell("released") }
func (m *member) Started(term uint64)        { m.tell("started term %d", term) }

func (m *member) Changed(l core.Leadership) {
	m.tell("%v of term %d, shown is term %d", l.Role, l.Term, m.view.Lead().Term)
}

func (m *member) work(kind string, work []*raftpb.Message) {
	if len(work) > 0 {
		m.tell("%s %d", kind, len(work))
	}
}

func (m *member) Append(work []*raftpb.Message) { m.work("append", work) }
func (m *member) Apply(work []*raftpb.Message)  { m.work("apply", work) }
func (m *member) Send(msgs []*raftpb.Message)   { m.work("send", msgs) }

// What a turn does comes in this order: what must not be believed is taken away, others see the new leader before anybody
// is told of it, and work is handed out before callers are answered.
func TestATurnDoesThingsInOrder(t *testing.T) {
	m := newMember()
	read, first, err := m.readers.Join(true)
	if err != nil || !first {
		t.Fatal(first, err)
	}
	m.script.effects = core.Effects{
		Leadership: &core.Leadership{Term: 2, Leader: 2}, Append: []*raftpb.Message{{}}, Send: []*raftpb.Message{{}, {}},
		Reads: []core.ReadDone{{Handle: 1, Err: core.ErrNotLeader}}, Dropped: []core.Dropped{{Sequence: 9, Err: core.ErrNotLeader}},
	}
	if rest := m.turn.Step([]core.Event{core.Tick{}, core.Campaign{}}); len(rest) != 0 {
		t.Errorf("events are left: %v", rest)
	}
	m.is(t, "core.Tick", "core.Read", "retire term 1 at 7", "follower of term 2, shown is term 2", "append 1", "send 2", "dropped")
	var hint *turn.NotLeaderError
	if _, err := read.Proof(); !errors.As(err, &hint) || hint.Leader != 2 || hint.Term != 2 {
		t.Errorf("the reader gets %v, want the new leader", err)
	}
}

// Whoever must stop answers nothing: raft would acknowledge what is lost.
func TestAMemberThatStopsTakesNoSteps(t *testing.T) {
	m := newMember()
	m.stops = true
	m.turn.Step([]core.Event{core.Receive{Message: &raftpb.Message{}}})
	m.is(t)
}

// Proposals wait while an append is under way, and enter the log with the next turn after it.
func TestProposalsWaitForTheAppend(t *testing.T) {
	m := newMember()
	if _, err := m.queue.Add([]byte("a")); err != nil {
		t.Fatal(err)
	}
	m.script.busy = true
	m.turn.Step(nil)
	m.is(t)
	m.script.busy = false
	m.turn.Step(nil)
	m.is(t, "core.Propose")
}

// On a disk that hangs nobody waits at a member that does not lead, and a hang is told once.
func TestAHangEndsWaitsWhereNobodyLeads(t *testing.T) {
	m := newMember()
	m.script.hangs, m.script.busy = true, true
	p, err := m.queue.Add([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	m.turn.Step(nil)
	m.turn.Step(nil)
	m.is(t, "hangs true")
	select {
	case <-p.Done():
		t.Fatal("a leader gave a proposal up that others may take over")
	default:
	}
	m.script.effects.Leadership = &core.Leadership{Term: 2, Leader: 3}
	m.turn.Step(nil)
	m.is(t, "retire term 1 at 7", "follower of term 2, shown is term 2")
	var hint *turn.NotLeaderError
	if _, err := p.Result(); !errors.As(err, &hint) || hint.Leader != 3 {
		t.Errorf("the proposer gets %v, want the new leader", err)
	}
	m.script.hangs = false
	m.turn.Step(nil)
	m.is(t, "hangs false")
}

// What had to wait for the disk goes to peers at once, and to the member itself through its loop.
func TestWrittenWorkIsAnswered(t *testing.T) {
	var sent []uint64
	var posted []core.Event
	turn.Written(1, core.Appended{Entries: 3, Responses: []*raftpb.Message{
		{To: new(uint64(2))}, {To: new(uint64(1))}, {To: new(uint64(3))},
	}}, func(msgs []*raftpb.Message) {
		for _, m := range msgs {
			sent = append(sent, m.GetTo())
		}
	}, func(ev ...core.Event) { posted = append(posted, ev...) })
	if !slices.Equal(sent, []uint64{2, 3}) {
		t.Errorf("sent to %v, want 2 and 3", sent)
	}
	done, ok := posted[0].(core.AppendDone)
	if !ok || len(posted) != 1 || done.Done.Entries != 3 || len(done.Done.Responses) != 1 || done.Done.Responses[0].GetTo() != 1 {
		t.Errorf("posted %v, want one answer with the response to itself", posted)
	}
}

// Work that nobody waits for lies until somebody waits for what follows.
func TestWorkLiesUntilSomebodyWaits(t *testing.T) {
	var w turn.Work
	w.Add([]*raftpb.Message{{Commit: new(uint64(1))}})
	if w.Urgent() {
		t.Error("a commit index alone is urgent")
	}
	w.Add([]*raftpb.Message{{Responses: []*raftpb.Message{{}}}})
	if !w.Urgent() {
		t.Error("what is waited for is not urgent")
	}
	if got := w.Take(nil); len(got) != 2 || w.Urgent() {
		t.Errorf("took %d, urgent %t, want both and nothing left", len(got), w.Urgent())
	}
}

// Others sleep until who leads is another one.
func TestTheViewTellsWhoeverWaitsForAnotherLeader(t *testing.T) {
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var v turn.View
	first := core.Leadership{Term: 1, Role: core.RoleFollower}
	v.Show(first, 1)
	for i, test := range []struct {
		lead    core.Leadership
		changed bool
	}{
		{lead: first},
		{lead: core.Leadership{Term: 1, Leader: 2, Role: core.RoleFollower}, changed: true},
		{lead: core.Leadership{Term: 1, Leader: 2, Role: core.RoleFollower}},
		{lead: core.Leadership{Term: 2, Leader: 2, Role: core.RoleFollower}, changed: true},
		{lead: core.Leadership{Term: 2, Leader: 1, Role: core.RoleLeader}, changed: true},
	} {
		changed := v.LeadChanged()
		v.Show(test.lead, uint64(2+i))
		if closed(changed) != test.changed || closed(v.LeadChanged()) || v.Lead() != test.lead {
			t.Errorf("%d: shown %+v, which is told: %t; want %t", i, test.lead, !test.changed, test.changed)
		}
	}
}
