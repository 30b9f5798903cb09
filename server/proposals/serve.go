package proposals

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
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

// serving is the leader's end of one stream.
type serving struct {
	stream  grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]
	propose Propose
	slots   chan struct{} // one for each proposal under way
	news    chan struct{} // one slot: there may be answers
	working sync.WaitGroup

	mu   sync.Mutex // guards desk
	desk *Desk
}

// Serve answers the proposals of another member's clients, until the stream ends or the member stops. Then it starts nothing more,
// gives the answers of those under way, and says which were not started.
func Serve(
	stream grpc.BidiStreamingServer[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse], stopping <-chan struct{}, propose Propose,
) error {
	d := &serving{
		stream: stream, propose: propose, desk: NewDesk(),
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
func (d *serving) read() error {
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
func (d *serving) start(p *peerv1.NumberedProposal) (more bool, err error) {
	ctx, cancel := context.WithTimeout(d.stream.Context(), timeout(p.GetTimeoutMs()))
	d.mu.Lock()
	defer d.mu.Unlock()
	if more, err = d.desk.Start(p.GetNumber(), cancel); !more {
		cancel()
		return false, err
	}
	d.working.Go(func() {
		response, err := d.order(ctx, p.GetRequest())
		d.done(p.GetNumber(), response, err)
	})
	return true, nil
}

// order has the command of an encoded request ordered.
func (d *serving) order(ctx context.Context, text []byte) (*peerv1.ProposeResponse, error) {
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
func (d *serving) cancel(numbers []uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.desk.Cancel(numbers)
}

// done takes what came of a proposal.
func (d *serving) done(number uint64, response *peerv1.ProposeResponse, err error) {
	d.mu.Lock()
	d.desk.Done(number, response, err)
	d.mu.Unlock()
	<-d.slots
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// send sends the answers that there are.
func (d *serving) send() error {
	d.mu.Lock()
	messages := d.desk.Answers()
	d.mu.Unlock()
	for _, message := range messages {
		if err := d.stream.Send(message); err != nil {
			return err
		}
	}
	return nil
}

// drain ends the stream of a member that stops.
func (d *serving) drain() error {
	d.mu.Lock()
	message := d.desk.Drain()
	d.mu.Unlock()
	if err := d.stream.Send(message); err != nil {
		return d.close(err)
	}
	d.working.Wait() // A member that stops ends what is proposed, and the streams at last.
	if err := d.send(); err != nil {
		return err
	}
	return reason.ErrStopping
}

// close ends a stream that broke, or that its member does not use as it should. What is under way gets no answer.
func (d *serving) close(err error) error {
	d.mu.Lock()
	d.desk.Close()
	d.mu.Unlock()
	d.working.Wait()
	return err
}
