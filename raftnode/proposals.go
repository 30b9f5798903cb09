package raftnode

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

const (
	// envelopeBytesTarget is where an entry is full; only a single larger command makes it larger.
	envelopeBytesTarget = 512 << 10
	// envelopeOverhead bounds what an envelope adds to one command.
	envelopeOverhead = 64
	// commandBytesMax bounds one command, so that its entry fits in a message to a peer.
	commandBytesMax = core.EntryBytesMax - envelopeOverhead
	// takeBytesMax bounds what one turn of the loop proposes.
	takeBytesMax = 4 << 20
	// envelopeFormat is the format_version of the envelopes written here.
	envelopeFormat = 1
)

// proposalState is who may decide about a proposal.
type proposalState = int32

const (
	proposalQueued    proposalState = iota // the caller may still take it back
	proposalTaken                          // it is in, or on its way to, the log
	proposalCancelled                      // the caller took it back
)

// proposal is one command and the caller who waits for it.
type proposal struct {
	data  []byte
	state atomic.Int32
	done  chan struct{}
	// result and err are written before done is closed.
	result *storev1.Result
	err    error
}

func (p *proposal) finish(result *storev1.Result, err error) {
	p.result, p.err = result, err
	close(p.done)
}

// group is the proposals that share an entry.
type group struct {
	term    uint64
	bytes   int
	members []*proposal
}

// proposals gathers commands into envelopes and finds those who wait for them. One entry has one waiter, the group, so
// that its lock is taken once an entry and not once a command.
type proposals struct {
	proposer uint64
	bytesMax int
	pending  atomic.Int64 // commands that wait, for the metric

	mu     sync.Mutex // guards what follows
	queue  []*proposal
	groups map[uint64]*group // by sequence
	next   uint64            // sequence of the next envelope
	bytes  int               // of commands queued or in groups
	closed error             // why nothing is accepted any more
}

func newProposals(proposer, firstSequence uint64, bytesMax int) *proposals {
	return &proposals{proposer: proposer, bytesMax: bytesMax, groups: map[uint64]*group{}, next: firstSequence}
}

// add queues a command.
func (ps *proposals) add(data []byte) (*proposal, error) {
	if len(data) > commandBytesMax {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), commandBytesMax)
	}
	p := &proposal{data: data, done: make(chan struct{})}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed != nil {
		return nil, ps.closed
	}
	if ps.bytes > 0 && ps.bytes+len(data) > ps.bytesMax {
		return nil, ErrTooBusy
	}
	ps.bytes += len(data)
	ps.pending.Add(1)
	ps.queue = append(ps.queue, p)
	return p, nil
}

// take makes entries of what is queued and remembers who waits for them, in this term.
func (ps *proposals) take(term uint64, dst []core.Proposal) []core.Proposal {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	n, total := 0, 0
	var g *group
	for ; n < len(ps.queue) && total < takeBytesMax; n++ {
		p := ps.queue[n]
		if !p.state.CompareAndSwap(proposalQueued, proposalTaken) {
			ps.release(len(p.data), 1)
			continue
		}
		if g == nil || g.bytes+len(p.data) > envelopeBytesTarget {
			dst = ps.seal(g, dst)
			g = &group{term: term}
		}
		g.members = append(g.members, p)
		g.bytes += len(p.data)
		total += len(p.data)
	}
	rest := copy(ps.queue, ps.queue[n:])
	clear(ps.queue[rest:])
	ps.queue = ps.queue[:rest]
	return ps.seal(g, dst)
}

// seal writes a group's envelope. The caller holds mu.
func (ps *proposals) seal(g *group, dst []core.Proposal) []core.Proposal {
	if g == nil {
		return dst
	}
	seq := ps.next
	ps.next++
	ps.groups[seq] = g
	return append(dst, core.Proposal{Sequence: seq, Data: appendEnvelope(ps.proposer, seq, g)})
}

// Numbers of storev1.Envelope's fields. The envelope is written here by hand, because its commands are already
// marshalled by those who proposed them.
const (
	envelopeFieldFormat   = 1
	envelopeFieldProposer = 2
	envelopeFieldSequence = 3
	envelopeFieldCommands = 4
)

func appendEnvelope(proposer, sequence uint64, g *group) []byte {
	b := make([]byte, 0, g.bytes+envelopeOverhead+4*len(g.members))
	b = protowire.AppendTag(b, envelopeFieldFormat, protowire.VarintType)
	b = protowire.AppendVarint(b, envelopeFormat)
	b = protowire.AppendTag(b, envelopeFieldProposer, protowire.VarintType)
	b = protowire.AppendVarint(b, proposer)
	b = protowire.AppendTag(b, envelopeFieldSequence, protowire.VarintType)
	b = protowire.AppendVarint(b, sequence)
	for _, p := range g.members {
		b = protowire.AppendTag(b, envelopeFieldCommands, protowire.BytesType)
		b = protowire.AppendBytes(b, p.data)
	}
	return b
}

// release gives back the room of commands. The caller holds mu.
func (ps *proposals) release(bytes, count int) {
	ps.bytes -= bytes
	ps.pending.Add(-int64(count))
}

// remove forgets a group and returns it; nil when nobody waits.
func (ps *proposals) remove(sequence uint64) *group {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	g := ps.groups[sequence]
	if g != nil {
		delete(ps.groups, sequence)
		ps.release(g.bytes, len(g.members))
	}
	return g
}

// drop ends the wait for an entry that did not enter the log.
func (ps *proposals) drop(sequence uint64, err error) {
	if g := ps.remove(sequence); g != nil {
		g.fail(err)
	}
}

// applied hands out the results of a batch.
func (ps *proposals) applied(entries []storage.EntryOutcome) {
	for _, e := range entries {
		if e.Proposer != ps.proposer {
			continue
		}
		g := ps.remove(e.Sequence)
		if g == nil {
			continue
		}
		for i, p := range g.members {
			if i >= len(e.Results) {
				p.finish(nil, fmt.Errorf("%w: entry %d has %d results", ErrOutcomeUnknown, e.Index, len(e.Results)))
				continue
			}
			p.finish(e.Results[i], nil)
		}
	}
}

// outrun ends the wait for entries of terms before one that was applied: terms in a log never go down, so they are not
// in it and never will be.
func (ps *proposals) outrun(term uint64, err error) {
	ps.failWhere(err, func(g *group) bool { return g.term < term })
}

// skipped ends the wait for everything proposed: a snapshot replaced the entries in which the results would have come.
func (ps *proposals) skipped() {
	ps.failWhere(fmt.Errorf("%w: a snapshot was installed", ErrOutcomeUnknown), func(*group) bool { return true })
}

func (ps *proposals) failWhere(err error, match func(*group) bool) {
	ps.mu.Lock()
	var failed []*group
	for seq, g := range ps.groups {
		if match(g) {
			delete(ps.groups, seq)
			ps.release(g.bytes, len(g.members))
			failed = append(failed, g)
		}
	}
	ps.mu.Unlock()
	for _, g := range failed {
		g.fail(err)
	}
}

// close ends every wait and accepts nothing more: what is queued was not proposed, the rest is unknown.
func (ps *proposals) close(err error) {
	ps.mu.Lock()
	queue := ps.queue
	ps.queue = nil
	if ps.closed == nil {
		ps.closed = err
	}
	for _, p := range queue {
		ps.release(len(p.data), 1)
	}
	ps.mu.Unlock()
	for _, p := range queue {
		if p.state.CompareAndSwap(proposalQueued, proposalTaken) {
			p.finish(nil, err)
		}
	}
	ps.failWhere(fmt.Errorf("%w: %w", ErrOutcomeUnknown, err), func(*group) bool { return true })
}

func (g *group) fail(err error) {
	for _, p := range g.members {
		p.finish(nil, err)
	}
}

// Propose replicates a command, waits until it is applied here, and returns what it returned. A broken rule of the
// state machine is in the Result, not an error. The Result is shared: the caller does not change it.
//
// An error that is not ErrOutcomeUnknown means that the command was not applied and never will be. When ctx ends, the
// error is ctx's together with ErrNotProposed or ErrOutcomeUnknown.
func (n *Node) Propose(ctx context.Context, cmd *storev1.Command) (*storev1.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProposed, err)
	}
	if err := n.mayPropose(); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	p, err := n.proposals.add(data)
	if err != nil {
		return nil, err
	}
	n.mail.ring()
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
	}
	if p.state.CompareAndSwap(proposalQueued, proposalCancelled) {
		return nil, fmt.Errorf("%w: %w", ErrNotProposed, ctx.Err())
	}
	select {
	case <-p.done:
		return p.result, p.err
	default:
		return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}

// mayPropose refuses at once what the loop would drop.
func (n *Node) mayPropose() error {
	l := n.view.Load().lead
	switch {
	case l.Role == core.RoleLeader:
		return nil
	case l.Leader == 0:
		return ErrNoLeader
	default:
		return &NotLeaderError{Leader: l.Leader, Term: l.Term}
	}
}

// explain adds the hint to what core says about a proposal or read.
func (n *Node) explain(err error) error {
	if err == ErrNotLeader { //nolint:errorlint // The bare sentinel is what core returns; a wrapped one has its hint.
		l := n.view.Load().lead
		return &NotLeaderError{Leader: l.Leader, Term: l.Term}
	}
	return err
}
