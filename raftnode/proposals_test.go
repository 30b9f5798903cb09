package raftnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

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

func mustAdd(t *testing.T, ps *proposals, data []byte) *proposal {
	t.Helper()
	p, err := ps.add(data)
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return p
}

func TestCommandsShareAnEnvelope(t *testing.T) {
	ps := newProposals(7, 100, 1<<20)
	var want []*proposal
	for i := range 3 {
		want = append(want, mustAdd(t, ps, command(t, fmt.Sprintf("k%d", i), 10)))
	}
	entries := ps.take(5, nil)
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
	ps.applied([]storage.EntryOutcome{{Proposer: 8, Sequence: 100, Results: results[:1]}})
	ps.applied([]storage.EntryOutcome{{Proposer: 7, Sequence: 100, Results: results}})
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
	ps := newProposals(7, 1, 64<<20)
	for range 20 {
		mustAdd(t, ps, command(t, "k", 300<<10))
	}
	mustAdd(t, ps, make([]byte, commandBytesMax))
	taken := 0
	for range 10 {
		entries := ps.take(1, nil)
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
	if _, err := ps.add(make([]byte, commandBytesMax+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large a command: got %v, want %v", err, ErrTooLarge)
	}
}

func TestWaitersLearnWhatIsKnown(t *testing.T) {
	tests := map[string]struct {
		end  func(ps *proposals)
		want error
	}{
		"an entry of a later term was applied: not applied": {
			end: func(ps *proposals) { ps.outrun(6, &NotLeaderError{Leader: 9}) }, want: ErrNotLeader,
		},
		"dropped by raft: not applied": {
			end: func(ps *proposals) { ps.drop(1, ErrTooBusy) }, want: ErrTooBusy,
		},
		"a snapshot took the place of the entry": {
			end: func(ps *proposals) { ps.skipped() }, want: ErrOutcomeUnknown,
		},
		"the member stops": {
			end: func(ps *proposals) { ps.close(ErrStopped) }, want: ErrOutcomeUnknown,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ps := newProposals(7, 1, 1<<20)
			p := mustAdd(t, ps, command(t, "k", 10))
			ps.take(5, nil)
			ps.outrun(5, errors.New("an entry of the same term ends no wait"))
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
		ps := newProposals(7, 1, 1<<20)
		p := mustAdd(t, ps, command(t, "k", 10))
		ps.close(ErrStopped)
		<-p.done
		if !errors.Is(p.err, ErrStopped) || errors.Is(p.err, ErrOutcomeUnknown) {
			t.Errorf("got %v, want %v and nothing unknown", p.err, ErrStopped)
		}
		if _, err := ps.add(nil); !errors.Is(err, ErrStopped) {
			t.Errorf("afterwards: got %v, want %v", err, ErrStopped)
		}
	})
}

func TestTooBusyIsBoundedByBytes(t *testing.T) {
	ps := newProposals(7, 1, 1000)
	mustAdd(t, ps, make([]byte, 900))
	if _, err := ps.add(make([]byte, 200)); !errors.Is(err, ErrTooBusy) {
		t.Errorf("got %v, want %v", err, ErrTooBusy)
	}
	// What a caller takes back makes room again.
	ps.queue[0].state.Store(proposalCancelled)
	ps.take(1, nil)
	mustAdd(t, ps, make([]byte, 200))
}

// A caller who gives up learns whether the command was proposed.
func TestCallersWhoGiveUp(t *testing.T) {
	n := &Node{proposals: newProposals(7, 1, 1<<20), mail: newMailbox()}
	n.view.Store(&view{lead: core.Leadership{Term: 1, Leader: 7, Role: core.RoleLeader}})
	cmd := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}}

	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		_, err := n.Propose(ctx, cmd)
		result <- err
	}()
	<-n.mail.wake
	cancel()
	err := <-result
	if got := n.proposals.take(1, nil); len(got) != 0 {
		t.Errorf("a command taken back is proposed: %v", got)
	}
	if !errors.Is(err, ErrNotProposed) || !errors.Is(err, context.Canceled) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("before it was proposed: got %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		_, err := n.Propose(ctx, cmd)
		result <- err
	}()
	<-n.mail.wake
	if got := n.proposals.take(1, nil); len(got) != 1 {
		t.Fatalf("entries: got %d, want 1", len(got))
	}
	cancel()
	if err := <-result; !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("after it was proposed: got %v", err)
	}
}
