package line

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// answer is an answer that waits to be sent, or a part that does.
type answer struct {
	message *tenurev1.LineAnswer // nil: part
	part    *part
	bytes   int
	sent    func() // nil: nothing is to be said then
	// reserved is how much room was kept for it.
	reserved int
	// uncounted says that it is more than the share of its caller, and counted in none.
	uncounted bool
}

// outbox has what is to be sent on a line, in order. Whoever finds that nobody sends, sends.
type outbox struct {
	stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]
	room   chan struct{} // one slot: something was sent since the reader looked
	broken chan struct{} // closed after err is set

	mu      sync.Mutex // guards what follows, and is held while nothing blocks
	queue   []*answer
	bytes   int // of answers in the queue
	answers int // in the queue
	// reserved is for answers that are made.
	reserved int
	// uncounted is how many of them are counted in no share.
	uncounted int
	parts     parts
	first     *tenurev1.LineLimits
	last      *tenurev1.LineDrain
	sending   bool
	kicked    bool // somebody is about to send
	err       error
}

func (o *outbox) init(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) {
	o.stream, o.room, o.broken = stream, make(chan struct{}, 1), make(chan struct{})
	o.parts.init()
}

// limits sends the bounds of the line.
func (o *outbox) limits() {
	o.mu.Lock()
	o.first = &tenurev1.LineLimits{CallsMax: callsMax, RequestBytesMax: requestBytesMax, WaitsMax: waitsMax}
	o.mu.Unlock()
	o.send()
}

// drain sends that the line drains.
func (o *outbox) drain(d *tenurev1.LineDrain) {
	o.mu.Lock()
	o.last = d
	o.mu.Unlock()
	o.send()
}

// reserve keeps room for the answer to a call that only reads, until it or why it failed is added. It reports false if there is none.
func (o *outbox) reserve(a *answer, m proto.Message) bool {
	size := proto.Size(m)
	o.mu.Lock()
	defer o.mu.Unlock()
	if held := o.bytes + o.reserved; held > 0 && held+size > keptBytesMax {
		return false
	}
	a.reserved = size
	o.reserved += size
	return true
}

// add adds an answer, and reports false if more than uncountedMax are counted in no share. Call send after.
func (o *outbox) add(a *answer) bool {
	a.bytes = proto.Size(a.message)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, a)
	o.bytes += a.bytes
	o.answers++
	o.reserved -= a.reserved
	if a.uncounted {
		o.uncounted++
	}
	return o.uncounted <= uncountedMax
}

// part adds a message of a call whose part before stands at last, and returns where it stands. If other calls may be sent the same bytes,
// it is one with theirs. It waits until there is room. Call kick after.
func (o *outbox) part(ctx context.Context, c *call, m item, last uint64) (uint64, error) {
	for {
		at, room, err := o.tryPart(c, m, last)
		if room == nil {
			return at, err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return last, context.Cause(ctx)
		}
	}
}

// tryPart is part, or returns what to wait for.
func (o *outbox) tryPart(c *call, m item, last uint64) (at uint64, room <-chan struct{}, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.ended {
		return last, nil, errEnded
	}
	if p := o.parts.same(m, last); p != nil {
		p.numbers = append(p.numbers, c.number)
		return p.at, nil, nil
	}
	if room = o.parts.full(); room != nil {
		return last, room, nil
	}
	p := o.parts.add(c, m)
	o.queue = append(o.queue, &answer{part: p, bytes: p.size()})
	return p.at, nil, nil
}

// full returns what to wait for before a part is made; nil if there is room.
func (o *outbox) full() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.parts.full()
}

// errEnded is the error for a part of a call whose service has ended while it was sending.
var errEnded = errors.New("the call has ended")

// end is add for the answer of a call with parts, after which it has none.
func (o *outbox) end(c *call, a *answer) bool {
	o.mu.Lock()
	c.ended = true
	o.mu.Unlock()
	return o.add(a)
}

// kick has what there is sent by a goroutine of its own, unless one does so.
func (o *outbox) kick(start func(func())) {
	if o.claim() {
		start(o.pump)
	}
}

// claim makes the caller the one who is about to send, and must call pump. It reports false if somebody else sends, or is about to.
func (o *outbox) claim() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	idle := !o.sending && !o.kicked
	o.kicked = o.kicked || idle
	return idle
}

// await waits until the answers that are not sent are few.
func (o *outbox) await(ctx context.Context) error {
	for {
		o.mu.Lock()
		few := o.answers < unsentMax && o.bytes < unsentBytesMax && o.uncounted < uncountedFew
		o.mu.Unlock()
		if few {
			return nil
		}
		select {
		case <-o.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send sends what there is, and what comes while it sends, unless another goroutine does so.
func (o *outbox) send() {
	if o.claim() {
		o.pump()
	}
}

// pump is send for who has claimed it.
func (o *outbox) pump() {
	for {
		runtime.Gosched() // Calls that were committed together end together: theirs is the same message.
		message, answers := o.next()
		if message == nil {
			return
		}
		err := o.pass(message, answers)
		for _, a := range answers {
			if a.sent != nil {
				a.sent()
			}
		}
		select {
		case o.room <- struct{}{}:
		default:
		}
		o.mu.Lock()
		o.sending = false
		if err != nil && o.err == nil {
			o.err = err
			close(o.broken)
		}
		o.mu.Unlock()
	}
}

// pass sends a message with what was taken for it.
func (o *outbox) pass(message *tenurev1.LineResponse, taken []*answer) error {
	var all []*part
	for _, a := range taken {
		if a.part != nil {
			all = append(all, a.part)
		}
	}
	if len(all) == 0 {
		return o.stream.SendMsg(message)
	}
	joined, err := join(all, message)
	if err != nil {
		return err
	}
	return o.stream.SendMsg(joined)
}

// next takes the next message, which the caller sends; nil if there is none, or somebody else sends.
func (o *outbox) next() (*tenurev1.LineResponse, []*answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kicked = false
	if o.sending || len(o.queue) == 0 && o.first == nil && o.last == nil {
		return nil, nil
	}
	n, bytes := 0, 0
	for n < len(o.queue) && (n == 0 || bytes+o.queue[n].bytes <= messageBytes) {
		bytes += o.queue[n].bytes
		n++
	}
	taken := o.queue[:n:n]
	if o.queue = o.queue[n:]; len(o.queue) == 0 {
		o.queue = nil
	}
	message := &tenurev1.LineResponse{Limits: o.first, Drain: o.last}
	for _, a := range taken {
		if a.part != nil {
			o.parts.taken(a.part)
			continue
		}
		o.bytes -= a.bytes
		o.answers--
		if a.uncounted {
			o.uncounted--
		}
		message.Answers = append(message.Answers, a.message)
	}
	o.first, o.last, o.sending = nil, nil, true
	return message, taken
}

// statusOf returns an error that is a status as it is sent on a line.
func statusOf(err error) *tenurev1.LineStatus {
	s := status.Convert(err).Proto()
	return &tenurev1.LineStatus{Code: s.GetCode(), Message: s.GetMessage(), Details: s.GetDetails()}
}

// refusal refuses a call that is beyond a bound of its line.
func refusal(limit string, most int) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
		"this line has %d calls in progress, which is its limit", most).
		With("limit", limit).With("limit_value", strconv.Itoa(most))
}
