package proposals

import (
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// Desk knows the proposals of one stream that the leader has under way, and the answers that are to be sent. Each that was started
// gets one answer. It is a value: nothing in it waits.
type Desk struct {
	started map[uint64]func()        // what ends the wait for a proposal under way
	last    uint64                   // number of the last one that was started
	answers []*peerv1.NumberedAnswer // to be sent
	closed  bool                     // nothing is started any more
}

// NewDesk returns the desk of a stream on which nothing came.
func NewDesk() *Desk { return &Desk{started: make(map[uint64]func())} }

// Start takes a proposal, which cancel gives up. It reports whether it is to be ordered; an error ends the stream.
func (d *Desk) Start(number uint64, cancel func()) (started bool, err error) {
	switch {
	case d.closed:
		return false, nil
	case number <= d.last:
		return false, reason.Invalid("number", "is not above that of the proposal before")
	}
	d.last = number
	d.started[number] = cancel
	return true, nil
}

// Cancel gives up the proposals whose clients left.
func (d *Desk) Cancel(numbers []uint64) {
	for _, number := range numbers {
		if cancel := d.started[number]; cancel != nil {
			cancel()
		}
	}
}

// Done takes what came of a proposal: a response, or a status.
func (d *Desk) Done(number uint64, response *peerv1.ProposeResponse, err error) {
	answer := &peerv1.NumberedAnswer{Number: number, Response: response}
	if err != nil {
		answer.Response = nil
		answer.Status, _ = proto.Marshal(status.Convert(err).Proto()) // A status is text that was text before.
	}
	d.started[number]()
	delete(d.started, number)
	d.answers = append(d.answers, answer)
}

// Answers returns the messages that there are to be sent.
func (d *Desk) Answers() (messages []*peerv1.ProposeManyResponse) {
	answers := d.answers
	d.answers = nil
	for len(answers) > 0 {
		n, size := 1, proto.Size(answers[0])
		for n < len(answers) {
			if size += proto.Size(answers[n]); size > messageBytes {
				break
			}
			n++
		}
		messages = append(messages, &peerv1.ProposeManyResponse{Answers: answers[:n:n]})
		answers = answers[n:]
	}
	return messages
}

// Drain starts nothing more, and returns the message that says so.
func (d *Desk) Drain() *peerv1.ProposeManyResponse {
	d.closed = true
	last := d.last
	return &peerv1.ProposeManyResponse{Drained: &last}
}

// Close starts nothing more, and gives up what is under way.
func (d *Desk) Close() {
	d.closed = true
	for _, cancel := range d.started {
		cancel()
	}
}
