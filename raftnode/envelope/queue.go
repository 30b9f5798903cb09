package envelope

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/storage"
)

const (
	// bytesTarget is where an entry is full; only a single larger command makes it larger.
	bytesTarget = 512 << 10
	// overhead bounds what an envelope adds to one command.
	overhead = 64
	// CommandBytesMax bounds one command, so that its entry fits in a message to a peer.
	CommandBytesMax = core.EntryBytesMax - overhead
	// takeBytesMax bounds what one turn of the loop proposes.
	takeBytesMax = 4 << 20
	// formatVersion is the format_version of the envelopes written here.
	formatVersion = 1
)

// state is who may decide about a proposal.
type state = int32

const (
	queued    state = iota // the caller may still take it back
	taken                  // it is in, or on its way to, the log
	cancelled              // the caller took it back
)

// Proposal is one command and the caller who waits for it.
type Proposal struct {
	data  []byte
	takes bool // it may take rights away
	state atomic.Int32
	done  chan struct{}
	// result and err are written before done is closed.
	result *storev1.Result
	err    error
}

// Done returns a channel that is closed when the outcome is known.
func (p *Proposal) Done() <-chan struct{} { return p.done }

// Result returns what the command returned. It is called after Done's channel was closed.
func (p *Proposal) Result() (*storev1.Result, error) { return p.result, p.err }

// Cancel takes the command back. It reports false if it is in, or on its way to, the log.
func (p *Proposal) Cancel() bool { return p.state.CompareAndSwap(queued, cancelled) }

func (p *Proposal) finish(result *storev1.Result, err error) {
	invariants.That((result == nil) != (err == nil), "a proposal ends with a result and an error, or with neither")
	p.result, p.err = result, err
	close(p.done)
}

// group is the proposals that share an entry.
type group struct {
	term    uint64
	bytes   int
	takes   bool // a member may take rights away
	members []*Proposal
}

// Queue gathers commands into envelopes and finds those who wait for them. One entry has one waiter, the group, so
// that its lock is taken once an entry and not once a command.
type Queue struct {
	proposer uint64
	bytesMax int
	pending  atomic.Int64 // commands that wait, for the metric

	mu     sync.Mutex // guards what follows
	queue  []*Proposal
	first  []*Proposal       // for the next burst
	held   []*Proposal       // the same, behind these
	groups map[uint64]*group // by sequence
	next   uint64            // sequence of the next envelope
	bytes  int               // of commands queued or in groups
	closed error             // why nothing is accepted any more
}

// New returns an empty queue. Proposer is the member whose envelopes these are, firstSequence the number of the next; bytesMax
// bounds the commands that wait.
func New(proposer, firstSequence uint64, bytesMax int) *Queue {
	return &Queue{proposer: proposer, bytesMax: bytesMax, groups: map[uint64]*group{}, next: firstSequence}
}

// Pending returns how many commands wait.
func (q *Queue) Pending() int64 { return q.pending.Load() }

// Add queues a marshalled command. It fails with ErrTooLarge, core.ErrTooBusy, or what Close was told.
func (q *Queue) Add(data []byte) (*Proposal, error) { return q.add(&Proposal{data: data}, &q.queue) }

// AddTaking is Add for a command that may take rights away.
func (q *Queue) AddTaking(data []byte) (*Proposal, error) {
	return q.add(&Proposal{data: data, takes: true}, &q.queue)
}

// Taking reports whether a command that may take rights away is in, or on its way to, the log, and was not applied here. Once it reports that there is
// none, the state has what all of them took that were taken from the queue before, as long as this member has not lost the leadership since.
func (q *Queue) Taking() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, g := range q.groups {
		if g.takes {
			return true
		}
	}
	return false
}

// hold takes a command that may take rights away, and is not proposed before unhold, and then perhaps before others.
func (q *Queue) hold(data []byte, first bool) (*Proposal, error) {
	p := &Proposal{data: data, takes: true}
	if first {
		return q.add(p, &q.first)
	}
	return q.add(p, &q.held)
}

// unhold queues what was held, all of it together.
func (q *Queue) unhold() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = slices.Concat(q.queue, q.first, q.held)
	q.first, q.held = nil, nil
}

// add adds a command to a list of the queue's.
func (q *Queue) add(p *Proposal, to *[]*Proposal) (*Proposal, error) {
	data := p.data
	if len(data) > CommandBytesMax {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), CommandBytesMax)
	}
	p.done = make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return nil, q.closed
	}
	if q.bytes > 0 && q.bytes+len(data) > q.bytesMax {
		return nil, core.ErrTooBusy
	}
	q.bytes += len(data)
	q.pending.Add(1)
	*to = append(*to, p)
	return p, nil
}

// Take makes entries of what is queued and remembers who waits for them, in this term.
func (q *Queue) Take(term uint64, dst []core.Proposal) []core.Proposal {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, total := 0, 0
	var g *group
	for ; n < len(q.queue) && total < takeBytesMax; n++ {
		p := q.queue[n]
		if !p.state.CompareAndSwap(queued, taken) {
			q.release(len(p.data), 1)
			continue
		}
		if g == nil || g.bytes+len(p.data) > bytesTarget {
			dst = q.seal(g, dst)
			g = &group{term: term}
		}
		g.members = append(g.members, p)
		g.takes = g.takes || p.takes
		g.bytes += len(p.data)
		total += len(p.data)
	}
	rest := copy(q.queue, q.queue[n:])
	clear(q.queue[rest:])
	q.queue = q.queue[:rest]
	return q.seal(g, dst)
}

// seal writes a group's envelope. The caller holds mu.
func (q *Queue) seal(g *group, dst []core.Proposal) []core.Proposal {
	if g == nil {
		return dst
	}
	seq := q.next
	q.next++
	invariants.That(q.groups[seq] == nil && len(g.members) > 0, "envelope %d is there already, or empty", seq)
	q.groups[seq] = g
	return append(dst, core.Proposal{Sequence: seq, Data: appendEnvelope(q.proposer, seq, g)})
}

// Numbers of storev1.Envelope's fields. The envelope is written here by hand, because its commands are already
// marshalled by those who proposed them.
const (
	fieldFormat   = 1
	fieldProposer = 2
	fieldSequence = 3
	fieldCommands = 4
)

func appendEnvelope(proposer, sequence uint64, g *group) []byte {
	b := make([]byte, 0, g.bytes+overhead+4*len(g.members))
	b = protowire.AppendTag(b, fieldFormat, protowire.VarintType)
	b = protowire.AppendVarint(b, formatVersion)
	b = protowire.AppendTag(b, fieldProposer, protowire.VarintType)
	b = protowire.AppendVarint(b, proposer)
	b = protowire.AppendTag(b, fieldSequence, protowire.VarintType)
	b = protowire.AppendVarint(b, sequence)
	for _, p := range g.members {
		b = protowire.AppendTag(b, fieldCommands, protowire.BytesType)
		b = protowire.AppendBytes(b, p.data)
	}
	return b
}

// release gives back the room of commands. The caller holds mu.
func (q *Queue) release(bytes, count int) {
	q.bytes -= bytes
	left := q.pending.Add(-int64(count))
	invariants.That(q.bytes >= 0 && left >= 0, "more commands left the queue than came: %d bytes, %d commands are left", q.bytes, left)
}

// remove forgets a group and returns it; nil when nobody waits.
func (q *Queue) remove(sequence uint64) *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.groups[sequence]
	if g != nil {
		delete(q.groups, sequence)
		q.release(g.bytes, len(g.members))
	}
	return g
}

// Drop ends the wait for an entry that did not enter the log.
func (q *Queue) Drop(sequence uint64, err error) {
	if g := q.remove(sequence); g != nil {
		g.fail(err)
	}
}

// Applied hands out the results of a batch.
func (q *Queue) Applied(entries []storage.EntryOutcome) {
	for _, e := range entries {
		if e.Proposer != q.proposer {
			continue
		}
		g := q.remove(e.Sequence)
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

// Outrun ends the wait for entries of terms before one that was applied: terms in a log never go down, so they are not
// in it and never will be.
func (q *Queue) Outrun(term uint64, err error) {
	q.failWhere(err, func(g *group) bool { return g.term < term })
}

// Skipped ends the wait for everything proposed: a snapshot replaced the entries in which the results would have come.
func (q *Queue) Skipped() {
	q.failWhere(fmt.Errorf("%w: a snapshot was installed", ErrOutcomeUnknown), func(*group) bool { return true })
}

func (q *Queue) failWhere(err error, match func(*group) bool) {
	q.mu.Lock()
	var failed []*group
	for seq, g := range q.groups {
		if match(g) {
			delete(q.groups, seq)
			q.release(g.bytes, len(g.members))
			failed = append(failed, g)
		}
	}
	q.mu.Unlock()
	for _, g := range failed {
		g.fail(err)
	}
}

// Close ends every wait, as Abandon does, and accepts nothing more.
func (q *Queue) Close(err error) {
	q.mu.Lock()
	if q.closed == nil {
		q.closed = err
	}
	q.mu.Unlock()
	q.Abandon(err)
}

// Abandon ends every wait: what is queued was not proposed, of the rest the outcome is unknown.
func (q *Queue) Abandon(err error) {
	q.mu.Lock()
	queue := slices.Concat(q.queue, q.first, q.held)
	q.queue, q.first, q.held = nil, nil, nil
	for _, p := range queue {
		q.release(len(p.data), 1)
	}
	q.mu.Unlock()
	for _, p := range queue {
		if p.state.CompareAndSwap(queued, taken) {
			p.finish(nil, err)
		}
	}
	q.failWhere(fmt.Errorf("%w: %w", ErrOutcomeUnknown, err), func(*group) bool { return true })
}

func (g *group) fail(err error) {
	for _, p := range g.members {
		p.finish(nil, err)
	}
}
