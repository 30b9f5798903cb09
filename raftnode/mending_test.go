package raftnode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// lone is one of three members, alone with what it is sent.
type lone struct {
	t  *testing.T
	fs vfs.FS

	mu    sync.Mutex // guards votes
	votes map[uint64]bool

	node *raftnode.Node
	end  func() error
}

// Send takes note of the votes that the member gives.
func (l *lone) Send(msgs []*raftpb.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range msgs {
		if m.GetType() == raftpb.MsgVoteResp && !m.GetReject() {
			l.votes[m.GetTerm()] = true
		}
	}
}

// run starts the member with elections that never come.
func (l *lone) run() {
	l.t.Helper()
	o := raftnode.Options{FS: l.fs, Dir: "/data", Transport: l, ElectionTicks: 1 << 30}
	n, err := raftnode.Open(raftnode.WithGenesis(o, 1, 3))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	l.node, l.end = n, func() error {
		cancel()
		return <-ended
	}
}

// gives tells whether the member votes for a candidate of a term whose log is long enough for anybody.
func (l *lone) gives(from, term uint64) bool { return l.asks(from, term, term-1, 1000) }

// asks tells whether the member votes for a candidate whose log ends with an entry of a term.
func (l *lone) asks(from, term, logTerm, index uint64) bool {
	l.node.Receive(&raftpb.Message{
		Type: raftpb.MsgVote.Enum(), From: new(from), To: new(uint64(1)), Term: new(term),
		Index: new(index), LogTerm: new(logTerm),
	})
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	given := l.votes[term]
	delete(l.votes, term)
	return given
}

// A member that hears from its leader that its log should be longer remembers that before it ends: started again where
// nobody tells it, it does not vote.
func TestALostEndIsRememberedWhenTheLeaderTellsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lone{t: t, fs: vfs.NewMem(), votes: map[uint64]bool{}}
		l.run()
		l.node.Receive(&raftpb.Message{
			Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(5)), Commit: new(uint64(40)),
		})
		synctest.Wait()
		if err := l.end(); !errors.Is(err, raftnode.ErrLogLostTail) {
			t.Errorf("it ended with %v, want ErrLogLostTail", err)
		}
		if r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: l.fs, Dir: "/data", DryRun: true}); r.LostUpTo != 40 || err != nil {
			t.Errorf("recover says that it lost entries up to %d, %v, want 40", r.LostUpTo, err)
		}
		l.run()
		if got := l.node.Alarms(); len(got) != 1 || got[0].Name != raftnode.AlarmWipedDisk || got[0].Member != 1 {
			t.Errorf("alarms: got %v, want that of a disk that lost something", got)
		}
		for _, term := range []uint64{5, 6, 9} {
			if l.gives(3, term) {
				t.Errorf("it votes in term %d with a log that lost its end", term)
			}
		}
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
}

// In a term in which the member may have voted it votes for nobody, and in the next one like anybody.
func TestTermsOfLostVotesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lone{t: t, fs: vfs.NewMem(), votes: map[uint64]bool{}}
		l.run()
		if err := l.end(); err != nil {
			t.Fatal(err)
		}
		mendsTerm(t, l.fs, 7)
		for range 2 { // Also when it is started again.
			l.run()
			for _, term := range []uint64{6, 7} {
				if l.gives(2, term) {
					t.Errorf("it votes in term %d, in which it may have voted", term)
				}
			}
			if err := l.end(); err != nil {
				t.Fatal(err)
			}
		}
		l.run()
		if !l.gives(2, 8) {
			t.Error("it does not vote in the next term")
		}
		if l.gives(3, 8) {
			t.Error("it votes twice in one term")
		}
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
}

// A disk that was put back may hold entries that were never committed, where it held others that were. Heartbeats of a leader that
// counts on the latter commit none of the former.
func TestHeartbeatsCommitNothingOnAMemberThatMends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lone{t: t, fs: vfs.NewMem(), votes: map[uint64]bool{}}
		// The cluster begins with entry 1 of term 1.
		follow := func(leader, term uint64) {
			l.node.Receive(&raftpb.Message{
				Type: raftpb.MsgApp.Enum(), From: new(leader), To: new(uint64(1)), Term: new(term),
				Index: new(uint64(1)), LogTerm: new(uint64(1)),
				Entries: []*raftpb.Entry{{Term: new(term), Index: new(uint64(2))}},
			})
			synctest.Wait()
		}
		l.run()
		follow(3, 4)
		if err := l.end(); err != nil {
			t.Fatal(err)
		}
		writeMend(t, l.fs, `{"index":"100","index_term":"5","term":"5"}`)
		l.run()
		before := l.node.Status().Commit
		l.node.Receive(&raftpb.Message{
			Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(2)), To: new(uint64(1)), Term: new(uint64(5)), Commit: new(uint64(100)),
		})
		synctest.Wait()
		if got := l.node.Status().Commit; got != before {
			t.Errorf("a heartbeat moves the commit index from %d to %d", before, got)
		}
		follow(2, 5) // Entry 2 is replaced.
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
}

// mendsTerm makes a stopped member one that may have voted in terms up to one.
func mendsTerm(t *testing.T, fs vfs.FS, term uint64) {
	t.Helper()
	writeMend(t, fs, fmt.Sprintf(`{"index":"0","term":"%d"}`, term))
}

// writeMend says on the disk of a stopped member what it has to mend.
func writeMend(t *testing.T, fs vfs.FS, mend string) {
	t.Helper()
	dir, err := datadir.Open(fs, "/data")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dir.WriteMend([]byte(mend)), dir.Close()); err != nil {
		t.Fatal(err)
	}
}

// Members that all forgot a term elect a leader in a later one, though nobody who knows of it comes back.
func TestAQuorumThatForgotItsTermElects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(3)
		f.put("k", "v")
		f.agree(1, 2, 3)
		for id := uint64(1); id <= 3; id++ {
			f.stop(id)
		}
		for _, id := range []uint64{1, 2} {
			mendsTerm(t, f.disks[id], 50)
			f.start(id)
		}
		f.put("k2", "v")
		if got := f.leader().Status().Term; got <= 50 {
			t.Errorf("term: got %d, want more than 50", got)
		}
	})
}

// While it leads, a member tells of all that others acknowledged to it: it goes on to count on it, committed or not.
func TestWhatIsAcknowledgedToTheLeaderIsPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, nil)
		f.begin(5)
		f.put("k", "v")
		f.agree(1, 2, 3, 4, 5)
		leader := f.leader()
		id := leader.Status().MemberID
		witness := id%5 + 1
		for other := uint64(1); other <= 5; other++ {
			if other != id && other != witness {
				f.stop(other)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := leader.Propose(ctx, put("k2", "v")); !errors.Is(err, raftnode.ErrOutcomeUnknown) {
			t.Fatalf("a minority: got %v, want ErrOutcomeUnknown", err)
		}
		st := leader.Status()
		index, term := raftnode.Promised(leader, witness)
		if last := f.node(witness).Status().LastIndex; index != last || last <= st.Commit || term != st.Term {
			t.Errorf("promised: got entry %d of term %d, want %d of term %d; %d is committed", index, term, last, st.Term, st.Commit)
		}
	})
}

// What others know of a member is held against what is on its disk.
func TestAMemberHoldsItsDiskAgainstWhatOthersKnow(t *testing.T) {
	// The log holds entry 1 of term 1.
	tests := map[string]struct {
		w     *peerv1.Witness
		mends bool
		term  uint64
	}{
		"nothing is known":                      {&peerv1.Witness{}, false, 1},
		"all is there":                          {&peerv1.Witness{Index: 1, IndexTerm: 1, Term: 1}, false, 1},
		"all is there, of a term nobody knows":  {&peerv1.Witness{Index: 1, Term: 1}, false, 1},
		"a vote may be lost":                    {&peerv1.Witness{Index: 1, IndexTerm: 1, Term: 9}, false, 9},
		"the end is lost":                       {&peerv1.Witness{Index: 2, IndexTerm: 1, Term: 1}, true, 1},
		"the end is lost, of an unknown term":   {&peerv1.Witness{Index: 2, Term: 3}, true, 3},
		"the log was overwritten, and is not":   {&peerv1.Witness{Index: 1, IndexTerm: 2, Term: 2}, true, 2},
		"what came later was shorter":           {&peerv1.Witness{Index: 0, IndexTerm: 0, Term: 2}, false, 2},
		"entries of a term before are replaced": {&peerv1.Witness{Index: 30, IndexTerm: 0, Term: 1}, true, 1},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			b := newBeginSweep(t)
			probe := b.s.probe
			b.s.probe = func(caller *peerv1.PeerHeader) *peerv1.ProbeResponse {
				resp := probe(caller)
				if !strings.Contains(string(caller.GetClusterId()), "founded") {
					return resp
				}
				resp.Header.ClusterId, resp.Witness = b.founded[:], test.w
				return resp
			}
			fs := vfs.NewMem()
			n, err := b.open(fs, beginnings(b.s, b.self)["founding"])
			if err != nil {
				t.Fatal(err)
			}
			if got := n.Status().Term; got != test.term {
				t.Errorf("term: got %d, want %d", got, test.term)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := fs.Stat("/data/MEND"); (err == nil) != test.mends {
				t.Errorf("MEND: got %v, want it to be there: %v", err, test.mends)
			}
			if b.sailor.said("does not hold what it has promised") != test.mends {
				t.Errorf("it says that it lost something: want %v", test.mends)
			}
		})
	}
}

// A majority that lost what it had acknowledged goes on without it. A member that has it finds that out, and stops before
// it is made to forget, with everything that it had.
func TestAMajorityThatLostItsEndIsFound(t *testing.T) {
	names := []string{"a", "b", "c"}
	c := newCrew(t, names...)
	c.sail(names...)
	c.put("first", names...)
	keeper := c.follower(names...)
	var losers []*sailor
	for _, s := range c.members {
		if s != keeper {
			s.awaitMet(t)
			losers = append(losers, s)
		}
	}
	old := map[*sailor]*vfs.MemFS{}
	for _, s := range losers {
		old[s] = s.fs.CrashClone(vfs.CrashCloneCfg{})
	}
	for i := range 20 {
		c.put(fmt.Sprint("k", i), names...)
	}
	c.has("k19", keeper.name) // It has applied all that was acknowledged.
	if err := keeper.stop(); err != nil {
		t.Fatal(err)
	}
	for _, s := range losers {
		s.crash(t)
		s.fs = old[s]
	}
	c.sail(losers[0].name, losers[1].name)
	c.put("other", losers[0].name, losers[1].name)
	for range 2 {
		err := keeper.runToEnd(t)
		if !errors.Is(err, raftnode.ErrCommittedLost) || !strings.Contains(err.Error(), "tenure recover") {
			t.Fatalf("it ended with %v, want ErrCommittedLost and what to do", err)
		}
	}
	// From what it has the cluster can go on.
	r, err := raftnode.RecoverDir(raftnode.RecoverOptions{FS: keeper.fs, Dir: "/data"})
	if err != nil || r.Keys != 21 {
		t.Errorf("recovered: got %d keys, %v, want 21", r.Keys, err)
	}
}

// Two members, one of which lost what it had acknowledged, elect the other one again after its restart, whether or not the one
// that mends has followed it meanwhile. A candidate that lacks what was acknowledged gets no vote.
func TestAMemberThatMendsElectsWhoHoldsItsPromise(t *testing.T) {
	for name, followed := range map[string]bool{"it has followed the leader": true, "it knows no leader": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, nil)
				f.begin(2)
				f.put("k", "v")
				f.agree(1, 2)
				older := map[uint64]vfs.FS{1: vfs.NewMem(), 2: vfs.NewMem()}
				for id, copied := range older {
					f.stop(id)
					copyDir(t, f.disks[id], "/data", copied, "/data")
				}
				f.restart(1, 2)
				for i := range 20 {
					f.put(fmt.Sprint("k", i), "v")
				}
				f.put("last", "v")
				f.agree(1, 2)
				last := f.leader().Status()
				leader, mends := last.MemberID, 3-last.MemberID
				f.stop(mends)
				f.disks[mends] = older[mends]
				writeMend(t, older[mends], fmt.Sprintf(`{"index":"%d","index_term":"%d","term":"%d"}`, last.LastIndex, last.Term, last.Term))
				if followed {
					f.start(mends)
					f.await("a leader known", func() bool { return f.node(mends).Status().Leader == leader })
					f.restart(leader)
				} else {
					f.restart(leader)
					f.start(mends)
				}
				f.put("after", "v")
				f.agree(1, 2)
			})
		})
	}
}

// The vote of a member that mends is for members that hold what it has promised.
func TestAMemberThatMendsVotesForNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lone{t: t, fs: vfs.NewMem(), votes: map[uint64]bool{}}
		l.run()
		if err := l.end(); err != nil {
			t.Fatal(err)
		}
		writeMend(t, l.fs, `{"index":"100","index_term":"5","term":"7"}`)
		l.run()
		tests := []struct {
			what                 string
			term, logTerm, index uint64
			want                 bool
		}{
			{"a candidate of a closed term", 7, 6, 200, false},
			{"an end that is too early", 8, 5, 99, false},
			{"an older term, however long", 9, 4, 1000, false},
			{"all that was promised", 10, 5, 100, true},
			{"a later leader's log", 11, 6, 2, true},
		}
		for _, test := range tests {
			if got := l.asks(2, test.term, test.logTerm, test.index); got != test.want {
				t.Errorf("%s: votes: got %t, want %t", test.what, got, test.want)
			}
		}
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
}

// A leader whose own write hangs tells of entries that others acknowledged and that its own disk lacks: they may be committed.
func TestWhatAHangingLeaderWasToldIsPromised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, disks := hangingFleet(t, 3)
		f.put("k", "v")
		f.agree(1, 2, 3)
		leader := f.leader()
		before := leader.Status()
		witness := before.MemberID%3 + 1
		release := disks[before.MemberID].hang()
		ctx, cancel := context.WithCancel(t.Context())
		var proposing sync.WaitGroup
		proposing.Go(func() { _, _ = leader.Propose(ctx, put("k2", "v")) }) // It may be too late for an answer.
		f.await("the member to hold the entry", func() bool { return f.node(witness).Status().LastIndex > before.LastIndex })
		synctest.Wait()
		index, term := raftnode.Promised(leader, witness)
		if index != before.LastIndex+1 || term != before.Term {
			t.Errorf("promised: got entry %d of term %d, want %d of term %d", index, term, before.LastIndex+1, before.Term)
		}
		release()
		cancel()
		proposing.Wait()
	})
}
