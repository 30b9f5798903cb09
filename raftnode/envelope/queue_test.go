package envelope

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

var errStopped = errors.New("stopped")

// command is a put, marshalled as its proposer does.
func command(t *testing.T, key string, size int) []byte {
	t.Helper()
	b, err := proto.Marshal(&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
		Key: key, Value: bytes.Repeat([]byte{'x'}, size),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustAdd(t *testing.T, ps *Queue, data []byte) *Proposal {
	t.Helper()
	p, err := ps.Add(data)
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return p
}

func TestCommandsShareAnEnvelope(t *testing.T) {
	ps := New(7, 100, 1<<20)
	var want []*Proposal
	for i := range 3 {
		want = append(want, mustAdd(t, ps, command(t, fmt.Sprintf("k%d", i), 10)))
	}
	entries := ps.Take(5, nil)
	if len(entries) != 1 || entries[0].Sequence != 100 {
		t.Fatalf("entries: got %+v, want one with sequence 100", entries)
	}
	env, err := storage.DecodeEnvelope(entries[0].Data)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	if env.GetFormatVersion() != 1 || env.GetProposer() != 7 || env.GetSequence() != 100 || len(env.GetCommands()) != 3 {
		t.Errorf("envelope: got %v", env)
	}
	again, err := storage.EncodeEnvelope(env)
	if err != nil || !bytes.Equal(again, entries[0].Data) {
		t.Errorf("the envelope is not what storage writes: %v", err)
	}
	// Each caller gets the result of its own command, and only those of this proposer.
	results := []*storev1.Result{{Revision: 1}, {Revision: 2}, {Revision: 3}}
	ps.Applied([]storage.EntryOutcome{{Proposer: 8, Sequence: 100, Results: results[:1]}})
	ps.Applied([]storage.EntryOutcome{{Proposer: 7, Sequence: 100, Results: results}})
	for i, p := range want {
		<-p.done
		if p.err != nil || p.result != results[i] {
			t.Errorf("proposal %d: got %v %v, want %v", i, p.result, p.err, results[i])
		}
	}
	if ps.bytes != 0 || ps.pending.Load() != 0 || len(ps.groups) != 0 {
		t.Errorf("left behind: %d bytes, %d pending, %d groups", ps.bytes, ps.pending.Load(), len(ps.groups))
	}
}

func TestEnvelopesAreBounded(t *testing.T) {
	ps := New(7, 1, 64<<20)
	for range 20 {
		mustAdd(t, ps, command(t, "k", 300<<10))
	}
	mustAdd(t, ps, make([]byte, CommandBytesMax))
	taken := 0
	for range 10 {
		entries := ps.Take(1, nil)
		total := 0
		for _, e := range entries {
			if len(e.Data) > core.EntryBytesMax {
				t.Errorf("an entry of %d bytes", len(e.Data))
			}
			total += len(e.Data)
		}
		if total > takeBytesMax+core.EntryBytesMax {
			t.Errorf("one turn takes %d bytes", total)
		}
		taken += len(entries)
	}
	if taken != 21 {
		t.Errorf("entries: got %d, want 21", taken)
	}
	if _, err := ps.Add(make([]byte, CommandBytesMax+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large a command: got %v, want %v", err, ErrTooLarge)
	}
}

func TestWaitersLearnWhatIsKnown(t *testing.T) {
	tests := map[string]struct {
		end  func(ps *Queue)
		want error
	}{
		"an entry of a later term was applied: not applied": {
			end: func(ps *Queue) { ps.Outrun(6, core.ErrNotLeader) }, want: core.ErrNotLeader,
		},
		"dropped by raft: not applied": {
			end: func(ps *Queue) { ps.Drop(1, core.ErrTooBusy) }, want: core.ErrTooBusy,
		},
		"a snapshot took the place of the entry": {
			end: func(ps *Queue) { ps.Skipped() }, want: ErrOutcomeUnknown,
		},
		"the member stops": {
			end: func(ps *Queue) { ps.Close(errStopped) }, want: ErrOutcomeUnknown,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ps := New(7, 1, 1<<20)
			p := mustAdd(t, ps, command(t, "k", 10))
			ps.Take(5, nil)
			ps.Outrun(5, errors.New("an entry of the same term ends no wait"))
			tt.end(ps)
			<-p.done
			if !errors.Is(p.err, tt.want) {
				t.Errorf("got %v, want %v", p.err, tt.want)
			}
			if ps.bytes != 0 || len(ps.groups) != 0 {
				t.Errorf("left behind: %d bytes, %d groups", ps.bytes, len(ps.groups))
			}
		})
	}
	t.Run("the member stops before it was proposed: not applied", func(t *testing.T) {
		ps := New(7, 1, 1<<20)
		p := mustAdd(t, ps, command(t, "k", 10))
		ps.Close(errStopped)
		<-p.done
		if !errors.Is(p.err, errStopped) || errors.Is(p.err, ErrOutcomeUnknown) {
			t.Errorf("got %v, want %v and nothing unknown", p.err, errStopped)
		}
		if _, err := ps.Add(nil); !errors.Is(err, errStopped) {
			t.Errorf("afterwards: got %v, want %v", err, errStopped)
		}
	})
}

func TestTooBusyIsBoundedByBytes(t *testing.T) {
	ps := New(7, 1, 1000)
	mustAdd(t, ps, make([]byte, 900))
	if _, err := ps.Add(make([]byte, 200)); !errors.Is(err, core.ErrTooBusy) {
		t.Errorf("got %v, want %v", err, core.ErrTooBusy)
	}
	// What a caller takes back makes room again.
	ps.queue[0].state.Store(cancelled)
	ps.Take(1, nil)
	mustAdd(t, ps, make([]byte, 200))
}
