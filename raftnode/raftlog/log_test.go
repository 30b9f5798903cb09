package raftlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/raftnode/raftlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, fs vfs.FS, tailEntries int) *raftlog.Log {
	t.Helper()
	l, err := raftlog.Open(raftlog.Options{FS: fs, Dir: "log", TailEntriesMax: tailEntries})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l
}

func entries(first, term uint64, n, size int) []*raftpb.Entry {
	var ents []*raftpb.Entry
	for i := range n {
		ents = append(ents, &raftpb.Entry{
			Index: new(first + uint64(i)), Term: new(term), Data: []byte(strings.Repeat("x", size)),
		})
	}
	return ents
}

// TestScripts runs the dialogues in testdata. Commands:
//
//	append [first= term= n= size=]... one argument set a line   one batch, synced
//	truncate to=          cut the front
//	hardstate term= vote= commit=
//	reset index= term=    begin behind a snapshot
//	end-install
//	entries lo= hi= [max=]
//	term index=
//	reopen                close and open
//	crash                 open a copy that lost what was not synced
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t, fs: vfs.NewCrashableMem()}
		s.log = open(t, s.fs, s.tail())
		defer func() {
			if err := s.log.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			out, err := s.run(d)
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			return out
		})
	})
}

type script struct {
	t   *testing.T
	fs  *vfs.MemFS
	log *raftlog.Log
}

// tail is small, so that entries are read from disk and from memory.
func (s *script) tail() int { return 3 }

func (s *script) run(d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "append":
		return s.append(d)
	case "truncate":
		err := s.log.TruncatePrefix(number(d, "to"))
		return s.state(), err
	case "hardstate":
		b := s.log.NewBatch()
		if err := b.SetHardState(&raftpb.HardState{
			Term: new(number(d, "term")), Vote: new(number(d, "vote")), Commit: new(number(d, "commit")),
		}); err != nil {
			return "", err
		}
		err := b.Commit(true)
		return s.state(), err
	case "reset":
		b := s.log.NewBatch()
		id := raftlog.EntryID{Index: number(d, "index"), Term: number(d, "term")}
		if err := b.Reset(raftlog.Install{ID: id, Epoch: 7, Name: "snap-a"}); err != nil {
			return "", err
		}
		if err := b.Commit(true); err != nil {
			return "", err
		}
		return s.state(), nil
	case "end-install":
		if err := s.log.EndInstall(); err != nil {
			return "", err
		}
		return s.state(), nil
	case "entries":
		limit := uint64(1 << 20)
		if d.HasArg("max") {
			limit = number(d, "max")
		}
		ents, err := s.log.Entries(number(d, "lo"), number(d, "hi"), limit)
		return show(ents), err
	case "term":
		term, err := s.log.Term(number(d, "index"))
		return fmt.Sprintf("%d\n", term), err
	case "reopen":
		if err := s.log.Close(); err != nil {
			return "", err
		}
		s.log = open(s.t, s.fs, s.tail())
		return s.state(), nil
	case "crash":
		clone := s.fs.CrashClone(vfs.CrashCloneCfg{})
		if err := s.log.Close(); err != nil {
			return "", err
		}
		s.fs = clone
		s.log = open(s.t, s.fs, s.tail())
		return s.state(), nil
	case "state":
		return s.state(), nil
	default:
		return "", fmt.Errorf("unknown command %s", d.Cmd)
	}
}

// append writes one batch: the arguments are one append, each line of the input another. nosync leaves it unsynced.
func (s *script) append(d *datadriven.TestData) (string, error) {
	b := s.log.NewBatch()
	var first, term uint64
	n, size := 1, 4
	read := func(args string) error {
		for arg := range strings.FieldsSeq(args) {
			name, value, _ := strings.Cut(arg, "=")
			to := map[string]any{"first": &first, "term": &term, "n": &n, "size": &size}[name]
			if to == nil {
				continue
			}
			if _, err := fmt.Sscan(value, to); err != nil {
				return err
			}
		}
		return b.Append(entries(first, term, n, size))
	}
	for line := range strings.SplitSeq(d.Input, "\n") {
		if line == "" {
			continue
		}
		if err := read(line); err != nil {
			return "", err
		}
	}
	if err := b.Commit(!d.HasArg("nosync")); err != nil {
		return "", err
	}
	return s.state(), nil
}

func number(d *datadriven.TestData, name string) uint64 {
	var text string
	for _, a := range d.CmdArgs {
		if a.Key == name {
			text = a.Vals[0]
		}
	}
	var n uint64
	if _, err := fmt.Sscan(text, &n); err != nil {
		return 0
	}
	return n
}

func (s *script) state() string {
	first, _ := s.log.FirstIndex()
	last, _ := s.log.LastIndex()
	out := fmt.Sprintf("first=%d last=%d", first, last)
	if hs := s.log.HardState(); hs != nil {
		out += fmt.Sprintf(" term=%d vote=%d commit=%d", hs.GetTerm(), hs.GetVote(), hs.GetCommit())
	}
	if in, ok, err := s.log.PendingInstall(); ok || err != nil {
		out += fmt.Sprintf(" installing=%+v err=%v", in, err)
	}
	return out + "\n"
}

func show(ents []*raftpb.Entry) string {
	var b strings.Builder
	for _, e := range ents {
		fmt.Fprintf(&b, "%d/%d:%d ", e.GetIndex(), e.GetTerm(), len(e.GetData()))
	}
	return strings.TrimSpace(b.String()) + "\n"
}
