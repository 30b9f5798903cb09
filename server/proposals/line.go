package proposals

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
)

// BrokenError tells that a proposal got no answer.
type BrokenError struct {
	// Sent tells whether the leader may have started it.
	Sent bool
	// Err is why.
	Err error
}

// Error is the cause's.
func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// stream is what a line speaks over.
type stream = grpc.BidiStreamingClient[peerv1.ProposeManyRequest, peerv1.ProposeManyResponse]

// Line carries proposals to one leader, over one stream at a time, which is opened when there is something to send. Any
// goroutine may call Propose.
type Line struct {
	life context.Context //nolint:containedctx // It is the line's life, not a call's.
	open func(ctx context.Context) (stream, error)
	news chan struct{} // one slot: there may be something to send

	mu     sync.Mutex // guards ledger
	ledger *Ledger    // of the present stream; nil when there is none
}

// NewLine returns a line over streams that open makes, until life ends.
func NewLine(
	life context.Context, open func(ctx context.Context, options ...grpc.CallOption) (stream, error),
) *Line {
	return &Line{
		life: life,
		open: func(ctx context.Context) (stream, error) { return open(ctx) },
		news: make(chan struct{}, 1),
	}
}

// Propose has the leader order a command, and returns its response. The error is the leader's status, or a BrokenError.
func (l *Line) Propose(ctx context.Context, request *peerv1.ProposeRequest) (*peerv1.ProposeResponse, error) {
	// The command belongs to the caller, which may change it as soon as this returns.
	text, err := proto.Marshal(request)
	if err != nil {
		return nil, &BrokenError{Err: fmt.Errorf("encode a command: %w", err)}
	}
	decided := make(chan Outcome, 1)
	p := &Proposal{Request: text, Decided: decided}
	p.Deadline, _ = ctx.Deadline()
	l.add(p) //nolint:contextcheck // The stream lives longer than the call.
	select {
	case outcome := <-decided:
		return outcome.Response()
	case <-ctx.Done():
	}
	l.mu.Lock()
	sent := l.leave(p)
	l.mu.Unlock()
	select {
	case outcome := <-decided: // It came first.
		return outcome.Response()
	default:
		return nil, &BrokenError{Sent: sent, Err: errLeft}
	}
}

// leave tells the ledger that the client of a proposal waits no longer; mu is held.
func (l *Line) leave(p *Proposal) (sent bool) {
	if l.ledger == nil {
		return p.number != 0
	}
	defer ring(l.news)
	return l.ledger.Leave(p)
}

// add gives a proposal to the present stream, or to the next.
func (l *Line) add(p *Proposal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		p.Decided <- Outcome{Err: errEnded}
		return
	}
	if l.ledger == nil {
		l.ledger = NewLedger()
		go l.carry(l.ledger)
	}
	if !l.ledger.Add(p) {
		p.Decided <- Outcome{Err: errDrained}
		return
	}
	ring(l.news)
}

var (
	errLeft    = errors.New("the caller waits no longer")
	errEnded   = errors.New("the line to the leader has ended")
	errDrained = errors.New("the leader stops")
)

// carry opens a stream for a ledger and uses it until it ends.
func (l *Line) carry(ledger *Ledger) {
	// What the leader says of the stream, it does not say of the proposals on it.
	err := fmt.Errorf("the line to the leader broke: %s", status.Convert(l.use(ledger)).Message())
	l.mu.Lock()
	defer l.mu.Unlock()
	ledger.Broken(err)
	l.ledger = nil
}

// use sends proposals and takes answers until the stream breaks or the line's life ends.
func (l *Line) use(ledger *Ledger) error {
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	over, err := l.open(ctx)
	if err != nil {
		return err
	}
	broken := make(chan error, 1)
	var receiving sync.WaitGroup
	receiving.Go(func() { broken <- l.receive(over, ledger) })
	// Nobody takes answers any more when the ledger is closed.
	defer func() { cancel(); receiving.Wait() }()
	for {
		l.mu.Lock()
		message := ledger.Fill(time.Now())
		l.mu.Unlock()
		if message != nil {
			if over.Send(message) != nil {
				return <-broken // It says why.
			}
			continue
		}
		select {
		case <-l.news:
			runtime.Gosched() // Who is about to propose goes into the same message.
		case err := <-broken:
			return err
		}
	}
}

// receive takes answers until the stream ends, and returns why it did.
func (l *Line) receive(from stream, ledger *Ledger) error {
	for {
		response, err := from.Recv()
		if err != nil {
			return err
		}
		l.mu.Lock()
		ledger.Answered(response.GetAnswers())
		if response.Drained != nil {
			ledger.Drained(response.GetDrained(), errDrained)
		}
		l.mu.Unlock()
	}
}

// Response returns what a proposal's caller gets.
func (o Outcome) Response() (*peerv1.ProposeResponse, error) {
	if o.Err != nil {
		return nil, &BrokenError{Sent: o.Sent, Err: o.Err}
	}
	if text := o.Answer.GetStatus(); len(text) > 0 {
		var s spb.Status
		if err := proto.Unmarshal(text, &s); err != nil || s.GetCode() == int32(codes.OK) {
			return nil, &BrokenError{Sent: true, Err: errors.New("the leader's answer cannot be read")}
		}
		return nil, status.FromProto(&s).Err()
	}
	return o.Answer.GetResponse(), nil
}

// ring tells a goroutine that there is news.
func ring(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}
