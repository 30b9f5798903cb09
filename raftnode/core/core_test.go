package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.etcd.io/raft/v3"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/raftlog"
	"github.com/tenure-io/tenure/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// member is a core with its storage, driven by hand.
type member struct {
	id       uint64
	fs       *vfs.MemFS
	log      *raftlog.Log
	core     *core.Core
	appender *core.Appender
	applier  *core.Applier
	state    *recorder
	members  *raftpb.ConfState

	appendWork, applyWork []*raftpb.Message
}

// recorder is a state machine that remembers what it was given.
type recorder struct {
	applied storage.Applied
	batches []string
	fail    error
}

func (r *recorder) Apply(batch []storage.Entry) (storage.Outcome, error) {
	if r.fail != nil {
		return storage.Outcome{}, r.fail
	}
	var parts []string
	for _, e := range batch {
		text := fmt.Sprintf("%d/%d", e.Index, e.Term)
		if len(e.Data) > 0 {
			text += fmt.Sprintf(" %s", e.Data)
		}
		if e.ConfState != nil {
			cs := &raftpb.ConfState{}
			if err := proto.Unmarshal(e.ConfState, cs); err != nil {
				return storage.Outcome{}, err
			}
			text += fmt.Sprintf(" voters=%v learners=%v", cs.GetVoters(), cs.GetLearners())
		}
		parts = append(parts, text)
		r.applied.Index, r.applied.Term = e.Index, e.Term
	}
	r.batches = append(r.batches, strings.Join(parts, ", "))
	return storage.Outcome{Applied: r.applied}, nil
}

type quiet struct{ raft.Logger }

// fixedStorage adds to a log what raft wants to know besides.
type fixedStorage struct {
	*raftlog.Log
	members *raftpb.ConfState
}

func (s fixedStorage) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return s.HardState(), s.members, nil
}

func (s fixedStorage) Snapshot() (*raftpb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}

// cluster is the members of one script, and the messages between them.
type cluster struct {
	t       *testing.T
	members []*member
	wire    []*raftpb.Message
	cut     map[uint64]bool // members whose messages are lost, both ways
	deaf    uint64          // the member that is never told to take over
	out     strings.Builder
}

func (c *cluster) add(id uint64, voters []uint64) error {
	m := &member{
		id: id, fs: vfs.NewCrashableMem(), state: &recorder{applied: storage.Applied{Index: 1, Term: 1}},
		members: &raftpb.ConfState{Voters: voters},
	}
	var err error
	if m.log, err = raftlog.Open(raftlog.Options{FS: m.fs, Dir: "log"}); err != nil {
		return err
	}
	if err := m.log.Bootstrap(raftlog.EntryID{Index: 1, Term: 1}); err != nil {
		return err
	}
	c.members = append(c.members, m)
	return c.open(m)
}

// open makes the core from what the log holds.
func (c *cluster) open(m *member) (err error) {
	m.appendWork, m.applyWork = nil, nil
	m.appender = core.NewAppender(core.AppenderOptions{Log: m.log})
	m.applier = core.NewApplier(core.ApplierOptions{
		State: func() core.StateMachine { return m.state },
		ConfChange: func(cc *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
			return m.core.ApplyConfChange(cc), nil
		},
		BatchBytesMax: 100,
	})
	m.core, err = core.New(core.Config{
		ID: m.id, Storage: fixedStorage{Log: m.log, members: m.members}, Applied: m.state.applied.Index,
		Logger: quiet{Logger: &raft.DefaultLogger{Logger: discard()}}, ElectionTicks: 30, HeartbeatTicks: 1, ElectionTimeout: time.Second,
		UncommittedBytesMax: 100, ReadSeed: m.id * 1000,
	})
	return err
}

func (c *cluster) close() {
	for _, m := range c.members {
		if err := m.log.Close(); err != nil {
			c.t.Errorf("close: %v", err)
		}
	}
}

// step gives a member events and says what follows.
func (c *cluster) step(m *member, events ...core.Event) {
	var fx core.Effects
	m.core.Step(&fx, events...)
	m.appendWork = append(m.appendWork, fx.Append...)
	m.applyWork = append(m.applyWork, fx.Apply...)
	c.wire = append(c.wire, fx.Send...)
	for _, d := range fx.Dropped {
		c.say(m, "dropped %d%s: %v", d.Sequence, handle(d.Handle), d.Err)
	}
	if l := fx.Leadership; l != nil {
		c.say(m, "%s in term %d, leader %d", l.Role, l.Term, l.Leader)
	}
	if fx.Started != 0 {
		c.say(m, "leads, first entry of term %d applied", fx.Started)
	}
	if fx.LeaderGone {
		c.say(m, "leader gone, asks for votes %v", fx.Episode)
	}
	if fx.Alarm != 0 {
		c.say(m, "alarm at %v", fx.Alarm)
	}
	for _, r := range fx.Reads {
		c.say(m, "read %d: index %d term %d error %v", r.Handle, r.Index, r.Term, r.Err)
	}
}

func ms(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }

func handle(h uint64) string {
	if h == 0 {
		return ""
	}
	return fmt.Sprintf(" (change %d)", h)
}

func (c *cluster) say(m *member, format string, args ...any) {
	fmt.Fprintf(&c.out, "%d: %s\n", m.id, fmt.Sprintf(format, args...))
}

// append does the member's append work, all of it in one write.
func (c *cluster) append(m *member) error {
	work := m.appendWork
	m.appendWork = nil
	if len(work) == 0 {
		return nil
	}
	done, err := m.appender.Append(work)
	if err != nil {
		return err
	}
	c.say(m, "appended %d entries from %d messages, synced %v", done.Count, len(work), done.Synced)
	var own []*raftpb.Message
	for _, r := range done.Responses {
		if r.GetTo() == m.id {
			own = append(own, r)
		} else {
			c.wire = append(c.wire, r)
		}
	}
	done.Responses = own
	c.step(m, core.AppendDone{Done: done})
	return nil
}

// apply does one batch of the member's apply work.
func (c *cluster) apply(m *member) error {
	if len(m.applyWork) == 0 {
		return nil
	}
	done, err := m.applier.Apply(m.applyWork)
	if err != nil {
		return err
	}
	m.applyWork = m.applyWork[done.Messages:]
	c.say(m, "applied %s", m.state.batches[len(m.state.batches)-1])
	c.step(m, core.ApplyDone{Done: done})
	return nil
}

// deliver brings every message on the wire to its member, except where the link is cut.
func (c *cluster) deliver() {
	wire := c.wire
	c.wire = nil
	for _, msg := range wire {
		if c.cut[msg.GetFrom()] || c.cut[msg.GetTo()] || msg.GetType() == raftpb.MsgTimeoutNow && msg.GetTo() == c.deaf {
			continue
		}
		// Members never share memory.
		b, err := proto.Marshal(msg)
		if err != nil {
			c.t.Fatal(err)
		}
		copied := &raftpb.Message{}
		if err := proto.Unmarshal(b, copied); err != nil {
			c.t.Fatal(err)
		}
		for _, m := range c.members {
			if m.id == msg.GetTo() {
				c.step(m, core.Receive{Message: copied})
			}
		}
	}
}

// settle does all work until there is none, but for the writes of a member whose disk hangs.
func (c *cluster) settle(hanging uint64) error {
	for {
		busy := len(c.wire) > 0
		c.deliver()
		for _, m := range c.members {
			if m.id == hanging {
				continue
			}
			busy = busy || len(m.appendWork) > 0 || len(m.applyWork) > 0
			if err := errors.Join(c.append(m), c.apply(m)); err != nil {
				return err
			}
		}
		if !busy {
			return nil
		}
	}
}

// TestScripts runs the dialogues in testdata. Every line of output begins with the member it is about. Commands:
//
//	members N                   N voters
//	campaign ID                 ask for votes now
//	take-over ID                ask for votes although there is a leader
//	tick ID [n=]                time passes; less than an election time-out, which is random
//	beat ID [n=]                time passes for a leader, and what it sends is answered, but for what needs a disk
//	propose ID SEQ...           one entry for each sequence
//	read ID HANDLE [leader]     ask for proof
//	change ID HANDLE learner=|voter=|remove=
//	transfer ID to=
//	append ID, apply ID         do work
//	deliver                     carry every message
//	cut ID..., heal             lose all messages of members, or none
//	deaf ID                     lose what tells a member to take over
//	crash ID                    start again from what was synced
//	settle                      do everything until nothing is left
//	settle-without ID           the same, but for the writes of a member's log
//	gone ID of= at= [sync=]     the process of a member has ended; times in milliseconds
//	alarm ID at=                the time has come
//	status ID
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := &cluster{t: t, cut: map[uint64]bool{}}
		defer c.close()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c.t = t
			c.out.Reset()
			if err := c.run(d); err != nil {
				fmt.Fprintf(&c.out, "error: %v\n", err)
			}
			return c.out.String()
		})
	})
}

func (c *cluster) run(d *datadriven.TestData) error {
	arg := func(i int) uint64 {
		n, err := strconv.ParseUint(d.CmdArgs[i].Key, 10, 64)
		if err != nil {
			c.t.Fatalf("%s: %v", d.Pos, err)
		}
		return n
	}
	named := func(name string) uint64 {
		for _, a := range d.CmdArgs {
			if a.Key == name {
				n, err := strconv.ParseUint(a.Vals[0], 10, 64)
				if err != nil {
					c.t.Fatalf("%s: %v", d.Pos, err)
				}
				return n
			}
		}
		return 0
	}
	switch d.Cmd {
	case "members":
		var ids []uint64
		for i := range arg(0) {
			ids = append(ids, i+1)
		}
		for _, id := range ids {
			if err := c.add(id, ids); err != nil {
				return err
			}
		}
		return nil
	case "settle":
		return c.settle(0)
	case "settle-without":
		return c.settle(arg(0))
	case "deliver":
		c.deliver()
		return nil
	case "cut":
		for i := range d.CmdArgs {
			c.cut[arg(i)] = true
		}
		return nil
	case "deaf":
		c.deaf = arg(0)
		return nil
	case "heal":
		clear(c.cut)
		return nil
	}
	i := slices.IndexFunc(c.members, func(m *member) bool { return m.id == arg(0) })
	m := c.members[i]
	switch d.Cmd {
	case "campaign":
		c.step(m, core.Campaign{})
	case "take-over":
		// What a leader sends to its successor; it needs no time to pass.
		l := m.core.Leadership()
		c.step(m, core.Receive{Message: &raftpb.Message{
			Type: raftpb.MsgTimeoutNow.Enum(), From: new(l.Leader), To: new(m.id), Term: new(l.Term),
		}})
	case "tick":
		for range max(1, named("n")) {
			c.step(m, core.Tick{})
		}
	case "beat":
		for range max(1, named("n")) {
			c.step(m, core.Tick{})
			c.deliver()
			c.deliver()
		}
	case "propose":
		var ps []core.Proposal
		for i := 1; i < len(d.CmdArgs); i++ {
			ps = append(ps, core.Proposal{Sequence: arg(i), Data: fmt.Appendf(nil, "p%d", arg(i))})
		}
		c.say(m, "may propose %v", m.core.CanPropose())
		c.step(m, core.Propose{Proposals: ps})
	case "propose-large":
		c.step(m, core.Propose{Proposals: []core.Proposal{{Sequence: arg(1), Data: bytes.Repeat([]byte("x"), 60)}}})
	case "read":
		c.step(m, core.Read{Handle: arg(1), Leader: d.HasArg("leader")})
	case "change":
		single := &raftpb.ConfChangeSingle{}
		switch {
		case d.HasArg("learner"):
			single.Type, single.NodeId = raftpb.ConfChangeAddLearnerNode.Enum(), new(named("learner"))
		case d.HasArg("voter"):
			single.Type, single.NodeId = raftpb.ConfChangeAddNode.Enum(), new(named("voter"))
		default:
			single.Type, single.NodeId = raftpb.ConfChangeRemoveNode.Enum(), new(named("remove"))
		}
		change := &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single}}
		c.step(m, core.ChangeConf{Handle: arg(1), Change: change, Guard: core.Guard{Term: named("term")}})
	case "transfer":
		c.step(m, core.Transfer{To: named("to"), Guard: core.Guard{Term: named("term")}})
	case "gone":
		c.step(m, core.Gone{ID: named("of"), At: ms(named("at")), Sync: ms(named("sync"))})
	case "alarm":
		c.step(m, core.Alarm{At: ms(named("at"))})
	case "append":
		return c.append(m)
	case "apply":
		return c.apply(m)
	case "crash":
		m.fs = m.fs.CrashClone(vfs.CrashCloneCfg{})
		if err := m.log.Close(); err != nil {
			return err
		}
		var err error
		if m.log, err = raftlog.Open(raftlog.Options{FS: m.fs, Dir: "log"}); err != nil {
			return err
		}
		m.state = &recorder{applied: storage.Applied{Index: 1, Term: 1}}
		return c.open(m)
	case "status":
		last, _ := m.log.LastIndex()
		l := m.core.Leadership()
		c.say(m, "%s in term %d, leader %d, commit %d, last %d, applied %d, sole voter %v%s", l.Role, l.Term, l.Leader,
			m.core.Commit(), last, m.state.applied.Index, m.core.SoleVoter(), map[bool]string{true: ", hangs"}[m.core.Hangs()])
	default:
		return fmt.Errorf("unknown command %s", d.Cmd)
	}
	return nil
}
