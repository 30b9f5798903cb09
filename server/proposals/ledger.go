package proposals

import (
	"time"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

const (
	// messageBytes is how large a message grows. One proposal, or answer, may be larger, and is then alone.
	messageBytes = 64 << 10
	// ProposalsMax is how many proposals, or cancelled ones, a message may have.
	ProposalsMax = 4096
)

// Outcome is what became of a proposal.
type Outcome struct {
	// Answer is the leader's; nil if the stream ended before it.
	Answer *peerv1.NumberedAnswer
	// Err tells why there is no answer.
	Err error
	// Sent tells, without an answer, whether the leader may have started the proposal.
	Sent bool
}

// Proposal is what one client of this member proposes.
type Proposal struct {
	// Request is an encoded ProposeRequest.
	Request []byte
	// Deadline is how long the client waits; zero: without limit.
	Deadline time.Time
	// Decided gets the outcome; it has room for it.
	Decided chan<- Outcome

	number uint64 // zero before it is sent
	left   bool   // the client waits no longer
}

// Ledger knows the proposals of one stream to the leader: those to be sent, and those that wait for their answers. Each gets one
// outcome, unless its client leaves. It is a value: nothing in it waits.
type Ledger struct {
	last      uint64      // number of the last one that was sent
	queue     []*Proposal // those to be sent, in the order in which they came
	sent      map[uint64]*Proposal
	cancelled []uint64 // numbers of those sent whose clients left, which the leader has not heard
	drained   bool     // the leader starts no more
}

// NewLedger returns the ledger of a stream on which nothing was sent.
func NewLedger() *Ledger { return &Ledger{sent: make(map[uint64]*Proposal)} }

// Add takes a proposal, and reports whether the stream can carry it.
func (l *Ledger) Add(p *Proposal) bool {
	if l.drained {
		return false
	}
	l.queue = append(l.queue, p)
	return true
}

// Fill returns the next message; nil if there is nothing to say.
func (l *Ledger) Fill(now time.Time) *peerv1.ProposeManyRequest {
	var message peerv1.ProposeManyRequest
	n := min(len(l.cancelled), ProposalsMax)
	message.Cancelled, l.cancelled = l.cancelled[:n:n], l.cancelled[n:]
	for size := 0; len(l.queue) > 0 && len(message.GetProposals()) < ProposalsMax; {
		p := l.queue[0]
		if !p.left {
			if size > 0 && size+len(p.Request) > messageBytes {
				break
			}
			size += len(p.Request)
			message.Proposals = append(message.Proposals, l.number(p, now))
		}
		l.queue[0] = nil
		l.queue = l.queue[1:]
	}
	if len(l.queue) == 0 {
		l.queue = nil
	}
	if len(message.GetProposals()) == 0 && len(message.GetCancelled()) == 0 {
		return nil
	}
	return &message
}

// number gives a proposal the next number, under which its answer comes.
func (l *Ledger) number(p *Proposal, now time.Time) *peerv1.NumberedProposal {
	l.last++
	p.number = l.last
	l.sent[p.number] = p
	numbered := &peerv1.NumberedProposal{Number: p.number, Request: p.Request}
	if !p.Deadline.IsZero() {
		numbered.TimeoutMs = uint64(max(p.Deadline.Sub(now).Milliseconds(), 1))
	}
	return numbered
}

// Leave tells that the client of a proposal waits no longer. It reports whether the leader may have started it.
func (l *Ledger) Leave(p *Proposal) (sent bool) {
	if p.number == 0 {
		p.left = true
		return false
	}
	if l.sent[p.number] == p {
		delete(l.sent, p.number)
		l.cancelled = append(l.cancelled, p.number)
	}
	return true
}

// Answered takes answers. Those that nobody waits for are dropped.
func (l *Ledger) Answered(answers []*peerv1.NumberedAnswer) {
	for _, answer := range answers {
		if p := l.sent[answer.GetNumber()]; p != nil {
			delete(l.sent, answer.GetNumber())
			p.Decided <- Outcome{Answer: answer}
		}
	}
}

// Drained tells that the leader starts nothing with a higher number.
func (l *Ledger) Drained(number uint64, err error) {
	l.drained = true
	for n, p := range l.sent {
		if n > number {
			delete(l.sent, n)
			p.Decided <- Outcome{Err: err}
		}
	}
	l.dropQueue(err)
}

// Broken tells that the stream has ended. What was sent may have been started.
func (l *Ledger) Broken(err error) {
	l.drained = true
	for n, p := range l.sent {
		delete(l.sent, n)
		p.Decided <- Outcome{Err: err, Sent: true}
	}
	l.dropQueue(err)
}

// dropQueue gives up what was not sent.
func (l *Ledger) dropQueue(err error) {
	for _, p := range l.queue {
		if !p.left {
			p.Decided <- Outcome{Err: err}
		}
	}
	l.queue = nil
}
