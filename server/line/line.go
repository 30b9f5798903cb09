package line

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

// call is a call under way.
type call struct {
	number uint64
	verb   verb
	ctx    context.Context //nolint:containedctx // A call is its context, on its way to a goroutine.
	cancel context.CancelFunc
	bytes  int
	credit *credit // of a call with parts
	turn   *turn   // of the message that it came in; of a call with parts: while that begins or ends it, guarded by the line's mu
	ended  bool    // its answer was added; guarded by the outbox's mu, and only set of a call with parts
}

// line is one line. One goroutine reads it, one for each call under way makes that call, and one of the latter sends.
type line struct {
	options *Options
	turns   *share.Turns
	stream  grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]
	out     outbox
	calls   sync.WaitGroup // goroutines that make calls, or wait for one
	work    chan *call     // to those that wait
	closed  chan struct{}  // no more calls come

	// credentials are the metadata of calls by credential. They belong to the reader.
	credentials map[uint32]metadata.MD

	mu       sync.Mutex // guards what follows; that of the outbox may be taken under it
	last     uint64     // number that was started or refused
	open     map[uint64]*call
	bytes    int // of the requests of calls that are open
	waits    int // of calls that are open, those that may be for long
	draining bool
	idle     int // goroutines that wait for a call
}

func newLine(o *Options, turns *share.Turns, stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) *line {
	l := &line{
		options: o, turns: turns, stream: stream, work: make(chan *call), closed: make(chan struct{}),
		credentials: map[uint32]metadata.MD{}, open: map[uint64]*call{},
	}
	l.out.init(stream)
	return l
}

// run serves the line. The goroutine that reads ends with the stream, which ends when run has returned.
func (l *line) run() error {
	l.out.limits()
	valid := gate.ConnectionValid(l.stream.Context())
	defer context.AfterFunc(l.options.Stopping, func() { l.drain(reason.ErrStopping) })()
	defer context.AfterFunc(valid, func() { l.drain(reason.ErrConnectionEnds) })()
	ended := make(chan error, 1)
	go func() { ended <- l.read() }()
	var err error
	select {
	case err = <-ended:
	case <-l.options.Stopping.Done():
		err = reason.ErrStopping
		l.drain(err) // It may not have been called yet.
	case <-valid.Done():
		err = reason.ErrConnectionEnds
		l.drain(err)
	case <-l.out.broken:
		err = l.out.err
	}
	l.end(err)
	return err
}

// end waits until all calls have ended and their answers are sent; those of a line that broke are canceled.
func (l *line) end(err error) {
	gone := context.AfterFunc(l.stream.Context(), l.cancelAll)
	defer gone()
	if err != nil && !errors.Is(err, reason.ErrStopping) {
		l.cancelAll()
	}
	l.mu.Lock()
	l.draining = true // Nothing is started from here on: the reader may still be reading.
	l.mu.Unlock()
	close(l.closed)
	l.calls.Wait()
}

// cancelAll cancels all calls.
func (l *line) cancelAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		c.cancel()
	}
}

// drain says why no more calls are started.
func (l *line) drain(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		return
	}
	l.draining = true
	up := l.last
	l.calls.Go(func() {
		sent, refusal := l.options.Gate.Refuse(l.stream.Context(), tenurev1.LineService_Line_FullMethodName, why)
		l.out.drain(&tenurev1.LineDrain{UpTo: up, Status: statusOf(refusal)})
		sent()
	})
}

// read takes messages until the client closes its side: then it returns nil.
func (l *line) read() error {
	for {
		message, err := l.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		t, err := l.turn(message)
		if err != nil {
			return err
		}
		err = l.take(message, t)
		t.leave()
		if err != nil {
			return err
		}
		if err = l.out.await(l.stream.Context()); err != nil {
			return err
		}
	}
}

// take takes one message in its turn. An error ends the line.
func (l *line) take(message *tenurev1.LineRequest, t *turn) error {
	for _, list := range []struct {
		field     string
		has, most int
	}{
		{"credentials", len(message.GetCredentials()), credentialsMax},
		{"calls", len(message.GetCalls()), messageCallsMax},
		{"cancels", len(message.GetCancels()), messageCallsMax},
		{"credits", len(message.GetCredits()), messageCallsMax},
	} {
		if list.has > list.most {
			return reason.Invalid(list.field, "are %d; a message may have %d", list.has, list.most)
		}
	}
	for _, c := range message.GetCredentials() {
		if err := l.credential(c); err != nil {
			return err
		}
	}
	for _, c := range message.GetCalls() {
		t.pace(l.stream.Context())
		if err := l.start(c, t); err != nil {
			return err
		}
	}
	for _, number := range message.GetCancels() {
		t.pace(l.stream.Context())
		l.cancel(number, t)
	}
	for _, given := range message.GetCredits() {
		if c := l.find(given.GetNumber()); c != nil && c.credit != nil {
			c.credit.add(given.GetMessages(), given.GetBytes())
		}
	}
	return nil
}

// find returns the call of a number; nil if it is not under way.
func (l *line) find(number uint64) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[number]
}

// cancel cancels the call of a number, if it is under way.
func (l *line) cancel(number uint64, t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.open[number]
	if c == nil {
		return
	}
	if c.credit != nil && t != nil && c.turn != t { // One that is still beginning in another turn has outlasted that.
		c.turn = t
		t.joinGoing()
	}
	c.cancel()
}

// credential notes a credential.
func (l *line) credential(c *tenurev1.LineCredential) error {
	if c.GetNumber() == 0 {
		return reason.Invalid("credentials.number", "must be 1 or more")
	}
	if len(c.GetToken()) > tokenBytesMax {
		return reason.Invalid("credentials.token", "is %d bytes long; at most %d are allowed", len(c.GetToken()), tokenBytesMax)
	}
	if _, known := l.credentials[c.GetNumber()]; !known && len(l.credentials) >= credentialsMax {
		return reason.Invalid("credentials", "are more than %d", credentialsMax)
	}
	given, _ := metadata.FromIncomingContext(l.stream.Context())
	given = given.Copy()
	given.Delete("authorization")
	if c.GetToken() != "" {
		given.Set("authorization", "Bearer "+c.GetToken())
	}
	l.credentials[c.GetNumber()] = given
	return nil
}

// start starts a call in the turn of its message, or refuses it. An error ends the line.
func (l *line) start(asked *tenurev1.LineCall, t *turn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.draining:
		return nil // It has a number above that of the drain, which was its answer.
	case asked.GetNumber() <= l.last:
		return reason.Invalid("calls.number", "%d comes after %d; numbers must rise, from 1 on", asked.GetNumber(), l.last)
	}
	l.last = asked.GetNumber()
	c := &call{number: asked.GetNumber()}
	if err := l.prepare(c, asked); err != nil {
		sent, refusal := l.options.Gate.Refuse(l.stream.Context(), c.verb.method, err)
		l.out.add(&answer{message: &tenurev1.LineAnswer{Number: c.number, Status: statusOf(refusal)}, sent: sent})
		l.out.kick(l.calls.Go)
		return nil
	}
	l.open[c.number] = c
	l.bytes += c.bytes
	if c.verb.waits {
		l.waits++
	}
	if c.verb.follow != nil {
		c.turn = t
		t.joinGoing()
		l.calls.Go(func() { l.follow(c) })
		return nil
	}
	if !c.verb.waits {
		c.turn = t
		t.join()
	}
	select {
	case l.work <- c:
	default:
		l.calls.Go(func() { l.serve(c) })
	}
	return nil
}

// prepare makes what a call needs, or returns why it is refused. Call it under mu.
func (l *line) prepare(c *call, asked *tenurev1.LineCall) error {
	v, known := l.options.verb(asked)
	if !known {
		c.verb.method = tenurev1.LineService_Line_FullMethodName
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND, "lines do not carry this call: make it without a line")
	}
	c.verb = v
	base := l.stream.Context()
	if number := asked.GetCredential(); number != 0 {
		given, known := l.credentials[number]
		if !known {
			return reason.Invalid("credential", "%d was not given on this line", number)
		}
		base = metadata.NewIncomingContext(base, given)
	}
	if remaining := asked.GetRemainingTime(); remaining != nil && remaining.CheckValid() != nil {
		return reason.Invalid("remaining_time", "must be a valid duration")
	}
	c.bytes = proto.Size(c.verb.request)
	switch {
	case c.verb.waits && l.waits >= waitsMax:
		return refusal("line_waits_max", waitsMax)
	case !c.verb.waits && len(l.open)-l.waits >= callsMax:
		return refusal("line_calls_max", callsMax)
	}
	if len(l.open) > 0 && l.bytes+c.bytes > requestBytesMax {
		return refusal("line_request_bytes_max", requestBytesMax)
	}
	if c.verb.follow != nil {
		c.credit = newCredit(asked.GetCreditMessages(), asked.GetCreditBytes())
	}
	if asked.GetRemainingTime() == nil {
		c.ctx, c.cancel = context.WithCancel(base)
	} else {
		c.ctx, c.cancel = context.WithTimeout(base, min(asked.GetRemainingTime().AsDuration(), remainingMax))
	}
	return nil
}

// remainingMax is far enough for any call, and can be added to any time.
const remainingMax = 365 * 24 * time.Hour

// serve makes a call, and then others, until too many wait for one.
func (l *line) serve(c *call) {
	for {
		l.make(c)
		l.mu.Lock()
		waits := l.idle < idleMax
		if waits {
			l.idle++
		}
		l.mu.Unlock()
		if !waits {
			return
		}
		select {
		case c = <-l.work:
		case <-l.closed:
			return
		}
		l.mu.Lock()
		l.idle--
		l.mu.Unlock()
	}
}

// make makes a call, and sends its answer with what else there is.
func (l *line) make(c *call) {
	a := &answer{message: &tenurev1.LineAnswer{Number: c.number}}
	kept, err := l.options.Gate.Call(c.ctx, c.verb.method, c.verb.request, c.verb.handler, func(m proto.Message) bool { return l.out.reserve(a, m) })
	if err != nil {
		l.failed(c, a, err)
	} else {
		c.verb.put(a.message, kept.Message)
		a.sent = kept.Sent
	}
	l.over(c)
	if !l.out.add(a) {
		l.options.Gate.Cut(l.stream.Context())
	}
	c.turn.leave()
	l.out.send()
}

// failed says in the answer to a call why it failed. That counts for its caller, too: calls that are refused cost their client nothing.
func (l *line) failed(c *call, a *answer, err error) {
	a.message.Status = statusOf(err)
	sent, ok := l.options.Gate.Owe(c.ctx, a.message)
	a.sent, a.uncounted = sent, !ok
}

// over says that a call has ended; its answer is not sent yet.
func (l *line) over(c *call) {
	c.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c.number)
	l.bytes -= c.bytes
	if c.verb.waits {
		l.waits--
	}
}
