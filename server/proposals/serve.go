package proposals

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// startedMax is how many proposals of one stream are under way. Beyond it nothing is read, until one has its answer.
const startedMax = 4096

// timeoutMax is longer than any client waits, and than no limit.
const timeoutMax = 24 * time.Hour

// Propose orders the command of one proposal. Its error is a status.
type Propose func(ctx context.Context, request *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error)

// desk is the leader's end of one stream.
type desk struct {
	stream  grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]
	propose Propose
	slots   chan struct{} // one for each proposal under way
	news    chan struct{} // one slot: there may be answers
	working sync.WaitGroup

	mu       sync.Mutex                    // guards what follows
	started  map[uint64]context.CancelFunc // proposals under way
	last     uint64                        // number of the last one that was started
	answers  []*peerv1.NumberedAnswer      // to be sent
	draining bool                          // nothing is started any more
}

// Serve answers the proposals of another member's clients, until the stream ends or the member stops. Then it starts nothing more,
// gives the answers of those under way, and says which were not started.
func Serve(
	stream grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse], stopping <-chan struct{}, propose Propose,
) error {
	d := &desk{
		stream: stream, propose: propose, started: make(map[uint64]context.CancelFunc),
		slots: make(chan struct{}, startedMax), news: make(chan struct{}, 1),
	}
	ended := make(chan error, 1)
	go func() { ended <- d.read() }() // It ends when gRPC ends the stream, which is right after Serve returns.
	for {
		select {
		case <-d.news:
			runtime.Gosched() // What was applied together is answered together.
			if err := d.send(); err != nil {
				return d.close(err)
			}
		case err := <-ended:
			return d.close(err)
		case <-stopping:
			return d.drain()
		}
	}
}

// read starts proposals until the stream ends.
func (d *desk) read() error {
	for {
		request, err := d.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(request.GetProposals()) > ProposalsMax || len(request.GetCancelled()) > ProposalsMax {
			return reason.Invalid("proposals", "are too many")
		}
		d.cancel(request.GetCancelled())
		for _, p := range request.GetProposals() {
			select {
			case d.slots <- struct{}{}:
			case <-d.stream.Context().Done():
				return d.stream.Context().Err()
			}
			if started, err := d.start(p); err != nil || !started {
				return err
			}
		}
	}
}

// start has a proposal ordered. It reports whether there may be more.
func (d *desk) start(p *peerv1.NumberedProposal) (more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.draining:
		return false, nil
	case p.GetNumber() <= d.last:
		return false, reason.Invalid("number", "is not above that of the proposal before")
	}
	d.last = p.GetNumber()
	ctx, cancel := context.WithTimeout(d.stream.Context(), timeout(p.GetTimeoutMs()))
	d.started[p.GetNumber()] = cancel
	d.working.Go(func() {
		response, err := d.order(ctx, p.GetRequest())
		d.done(p.GetNumber(), response, err)
	})
	return true, nil
}

// order has the command of an encoded request ordered.
func (d *desk) order(ctx context.Context, text []byte) (*peerv1.ProposeResponse, error) {
	var request peerv1.ProposeRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		refused, _ := reason.Status(reason.Invalid("request", "cannot be decoded"), "")
		return nil, refused.Err()
	}
	return d.propose(ctx, &request)
}

// timeout returns how long a client still waits.
func timeout(ms uint64) time.Duration {
	if ms == 0 || ms > uint64(timeoutMax.Milliseconds()) {
		return timeoutMax
	}
	return time.Duration(ms) * time.Millisecond
}

// cancel ends the wait for proposals whose clients left.
func (d *desk) cancel(numbers []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, number := range numbers {
		if cancel := d.started[number]; cancel != nil {
			cancel()
		}
	}
}

// done takes what came of a proposal.
func (d *desk) done(number uint64, response *peerv1.ProposeResponse, err error) {
	answer := &peerv1.NumberedAnswer{Number: number, Response: response}
	if err != nil {
		answer.Response = nil
		answer.Status, _ = proto.Marshal(status.Convert(err).Proto()) // A status is text that was text before.
	}
	d.mu.Lock()
	d.started[number]()
	delete(d.started, number)
	d.answers = append(d.answers, answer)
	d.mu.Unlock()
	<-d.slots
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// send sends the answers that there are.
func (d *desk) send() error {
	d.mu.Lock()
	answers := d.answers
	d.answers = nil
	d.mu.Unlock()
	for len(answers) > 0 {
		n, size := 1, proto.Size(answers[0])
		for n < len(answers) {
			if size += proto.Size(answers[n]); size > messageBytes {
				break
			}
			n++
		}
		if err := d.stream.Send(&peerv1.ProposeManyResponse{Answers: answers[:n]}); err != nil {
			return err
		}
		answers = answers[n:]
	}
	return nil
}

// drain ends the stream of a member that stops.
func (d *desk) drain() error {
	d.mu.Lock()
	d.draining = true
	last := d.last
	d.mu.Unlock()
	if err := d.stream.Send(&peerv1.ProposeManyResponse{Drained: &last}); err != nil {
		return d.close(err)
	}
	d.working.Wait() // A member that stops ends what is proposed, and the streams at last.
	if err := d.send(); err != nil {
		return err
	}
	return reason.ErrStopping
}

// close ends a stream that broke, or that its member does not use as it should. What is under way gets no answer.
func (d *desk) close(err error) error {
	d.mu.Lock()
	d.draining = true
	for _, cancel := range d.started {
		cancel()
	}
	d.mu.Unlock()
	d.working.Wait()
	return err
}
