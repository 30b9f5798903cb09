package line

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// idleAfter is how long a line without calls stays open, at least; at most twice as long.
	idleAfter = 30 * time.Second
	// callsBefore is how many calls there may be before the member has said how many it takes, and bytesBefore how large they may be together.
	callsBefore = 256
	bytesBefore = 1 << 20
	// tokenSlots is how many tokens a line knows at a time.
	tokenSlots = 8
	// listMax is how many cancels, and how many credits, are in a message at most.
	listMax = 4096
)

// stream is one line. One goroutine sends and one receives.
type stream struct {
	transport *transport
	token     string        // That of the stream itself.
	wake      chan struct{} // One slot: there is something to send.
	ready     chan struct{} // Closed when the member has said its bounds, or the line is over.

	mu       sync.Mutex // Guards what follows.
	queue    []*call    // Not sent.
	cancels  []uint64   // Not sent.
	credits  []credit   // Not sent.
	open     map[uint64]*call
	number   uint64 // The last that was used.
	bytes    int    // Of calls that are queued or open.
	callsMax int
	bytesMax int
	waits    int   // Calls with parts that are queued or open.
	waitsMax int   // Zero: the member carries none.
	cause    error // Why the line is over; set before ready is closed then.
	opened   bool  // Whether the member has said its bounds.
	used     bool  // Since the last look.
	over     bool  // Whether no more calls are taken.
	drained  error
	slots    [tokenSlots]string // Tokens by credential, which is one more than the index.
	nextSlot int
}

func newStream(t *transport, token string) *stream {
	return &stream{
		transport: t, token: token, wake: make(chan struct{}, 1), ready: make(chan struct{}), open: map[uint64]*call{}, callsMax: callsBefore, bytesMax: bytesBefore,
	}
}

// add puts a call in the queue, and reports whether there was room.
func (s *stream) add(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.stream = s
	if s.drained != nil {
		c.end(outcome{err: s.drained})
		return true
	}
	calls := len(s.queue) + len(s.open)
	full := calls >= s.callsMax
	if c.long != nil {
		full = s.waits >= s.waitsMax
	}
	if s.over || full || calls > 0 && s.bytes+c.size > s.bytesMax {
		return false
	}
	if c.long != nil {
		s.waits++
	}
	s.queue = append(s.queue, c)
	s.bytes += c.size
	s.used = true
	s.poke()
	return true
}

// poke wakes the sender.
func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// leave says that the caller of a call does not wait for it any more.
func (s *stream) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.left && !s.over && s.open[c.number] == c {
		s.cancels = append(s.cancels, c.number)
		s.poke()
	}
	c.left = true
}

// give lets a call send as much more as its caller has taken.
func (s *stream) give(c *call, messages, bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over && s.open[c.number] == c {
		s.credits = append(s.credits, credit{number: c.number, messages: messages, bytes: bytes})
		s.poke()
	}
}

// forget notes that a call is not queued or open any more. Call it under mu.
func (s *stream) forget(c *call) {
	s.bytes -= c.size
	if c.long != nil {
		s.waits--
	}
}

// end ends a call. The stream forgets it before.
func (c *call) end(o outcome) {
	c.outcome = o
	close(c.done)
}

// run opens the line, and ends with it.
func (s *stream) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, authorization, bearer+s.token)
	}
	rpc, err := s.transport.NewStream(ctx, &tenurev1.LineService_ServiceDesc.Streams[0], tenurev1.LineService_Line_FullMethodName,
		grpc.ForceCodecV2(raw{}))
	if err != nil {
		s.fail(err)
		return
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send(ctx, rpc)
	}()
	err = s.receive(rpc)
	s.fail(err)
	cancel()
	<-sent
}

// send sends what is queued until ctx ends, or the line was idle.
func (s *stream) send(ctx context.Context, rpc grpc.ClientStream) {
	idle := time.NewTicker(idleAfter)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			if s.idle() {
				_ = rpc.CloseSend() // It never fails; the receiver learns how the line ends.
				return
			}
			continue
		case <-s.wake:
			runtime.Gosched() // Callers that were answered together call again together: theirs is the same message.
		}
		for message := s.next(); message != nil; message = s.next() {
			if rpc.SendMsg(message) != nil {
				return // The receiver has the cause.
			}
		}
	}
}

// idle reports whether the line was not used since it was last asked. Then it takes no more calls.
func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used || len(s.queue)+len(s.open) > 0 {
		s.used = false
		return false
	}
	s.over = true
	return true
}

// next returns the next message; nil if there is none.
func (s *stream) next() mem.Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.queue)+len(s.cancels)+len(s.credits) == 0 {
		return nil
	}
	cancels, credits := s.cancels[:min(len(s.cancels), listMax)], s.credits[:min(len(s.credits), listMax)]
	size := perCallBytes * (len(cancels) + len(credits))
	n := 0
	for _, c := range s.queue {
		if size += len(c.body) + len(c.token) + perCallBytes; n > 0 && size > messageBytes {
			break
		}
		n++
	}
	pool := mem.DefaultBufferPool()
	data := pool.Get(size)
	message := (*data)[:0]
	for _, number := range cancels {
		message = appendCancel(message, number)
	}
	for _, given := range credits {
		message = appendCredit(message, given)
	}
	s.cancels, s.credits = rest(s.cancels, len(cancels)), rest(s.credits, len(credits))
	for taken := range n {
		var ok bool
		if message, ok = s.append(message, s.queue[taken], taken == 0); !ok {
			n = taken
			break
		}
	}
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil
	}
	*data = message
	return mem.NewBuffer(data, pool)
}

// rest returns a list without its first n; nil if that is empty.
func rest[T any](list []T, n int) []T {
	if n == len(list) {
		return nil
	}
	return list[n:]
}

// append appends a call to a message. It reports false if the call needs a credential that the message must begin with. Call it under mu.
func (s *stream) append(message []byte, c *call, first bool) ([]byte, bool) {
	if c.left { // It was never sent.
		s.forget(c)
		return message, true
	}
	credential := uint32(0)
	if c.token != s.token {
		slot := s.slot(c.token)
		if slot < 0 {
			if !first {
				return message, false
			}
			slot = s.nextSlot
			s.nextSlot = (slot + 1) % tokenSlots
			s.slots[slot] = c.token
			message = appendCredential(message, uint32(slot+1), c.token)
		}
		credential = uint32(slot + 1)
	}
	s.number++
	c.number = s.number
	s.open[c.number] = c
	message = appendCall(message, c, credential)
	if c.long != nil {
		c.body = nil // It may be there for days.
	}
	return message, true
}

// slot returns where a token is known; negative if it is not. Call it under mu.
func (s *stream) slot(token string) int {
	for i, known := range s.slots {
		if known == token && token != "" {
			return i
		}
	}
	return -1
}

// receive takes what the member sends. It returns why the line ended.
func (s *stream) receive(rpc grpc.ClientStream) error {
	for {
		var m message
		if err := rpc.RecvMsg(&m); err != nil {
			return err
		}
		if err := fields(m.data, s.take); err != nil {
			return status.Error(codes.Internal, err.Error())
		}
	}
}

// take takes one field of a message.
func (s *stream) take(field protowire.Number, _ uint64, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch field {
	case fieldLimits:
		return s.limits(data)
	case fieldAnswers:
		number, out, err := answerOf(data)
		if err != nil {
			return err
		}
		c := s.open[number]
		if c == nil {
			return fmt.Errorf("%w: an answer to call %d, which is not running", errWire, number)
		}
		delete(s.open, number)
		s.forget(c)
		full := s.noRoom(out.err)
		out.alone = c.long == nil && (full || status.Code(out.err) == codes.Unimplemented)
		c.end(out)
	case fieldDrain:
		return s.drain(data)
	case fieldParts:
		return s.part(data)
	default:
	}
	return nil
}

// noRoom reports whether a call was refused because the line had no room for it. It then takes no more on the line than there are. The only one with
// parts is refused, too, while the member still counts some that have just ended; a bound of zero would say that it carries none. Call it under mu.
func (s *stream) noRoom(err error) bool {
	if status.Code(err) != codes.ResourceExhausted {
		return false
	}
	switch errorinfo.Fact(err, "limit") {
	case "line_waits_max":
		s.waitsMax = min(s.waitsMax, max(1, s.waits))
	case "line_calls_max":
		s.callsMax = min(s.callsMax, len(s.queue)+len(s.open))
	case "line_request_bytes_max":
		s.bytesMax = min(s.bytesMax, s.bytes)
	default:
		return false
	}
	return true
}

// part takes a message of calls with parts. Call it under mu.
func (s *stream) part(data []byte) error {
	numbers, message, err := partOf(data)
	if err != nil {
		return err
	}
	if len(message) < copyBytes {
		message = slices.Clone(message) // It may be there for long, and is a part of something larger.
	}
	for _, number := range numbers {
		c := s.open[number]
		if c == nil || c.long == nil {
			return fmt.Errorf("%w: a part of call %d, which has none", errWire, number)
		}
		if !c.left {
			c.long.put(message)
		}
	}
	return nil
}

// limits takes the bounds of the line. Call it under mu.
func (s *stream) limits(data []byte) error {
	if !s.opened {
		s.opened = true
		defer close(s.ready)
	}
	return fields(data, func(field protowire.Number, value uint64, _ []byte) error {
		switch field {
		case fieldCallsMax:
			s.callsMax = int(min(value, 1<<20))
		case fieldBytesMax:
			s.bytesMax = int(min(value, 1<<30))
		case fieldWaitsMax:
			s.waitsMax = int(min(value, 1<<20))
		default:
		}
		return nil
	})
}

// drain ends what the member has not started, as it stops. Call it under mu.
func (s *stream) drain(data []byte) error {
	up := uint64(0)
	err := fields(data, func(field protowire.Number, value uint64, part []byte) error {
		switch field {
		case fieldNumber:
			up = value
		case fieldStatus:
			s.drained = statusOf(part)
		default:
		}
		return nil
	})
	if err != nil || s.drained == nil {
		return errors.Join(errWire, err)
	}
	for number, c := range s.open {
		if number > up {
			delete(s.open, number)
			c.end(outcome{err: s.drained})
		}
	}
	for _, c := range s.queue {
		c.end(outcome{err: s.drained})
	}
	s.queue = nil
	return nil
}

// fail ends all calls: the line is over.
func (s *stream) fail(cause error) {
	s.mu.Lock()
	s.over = true
	queue, open, opened := s.queue, s.open, s.opened
	s.queue, s.open, s.cancels, s.credits = nil, nil, nil, nil
	s.cause = unsent(cause, opened)
	s.mu.Unlock()
	code := status.Code(cause)
	refused := !opened && (code == codes.Unimplemented || code == codes.ResourceExhausted)
	if refused {
		s.transport.over(s, code)
	} else {
		s.transport.over(s, codes.OK)
	}
	if !opened {
		close(s.ready)
	}
	for _, c := range queue {
		c.end(outcome{alone: refused, err: unsent(cause, opened)})
	}
	for _, c := range open {
		c.end(outcome{alone: refused, err: unanswered(cause, opened)})
	}
}

// unanswered is the error of a call that was sent on a line that ended. Where the line was never opened, the member says why.
func unanswered(cause error, opened bool) error {
	if errors.Is(cause, io.EOF) || opened && len(status.Convert(cause).Details()) > 0 {
		return status.Error(codes.Unavailable, "the line ended without an answer")
	}
	return cause
}

// unsent is the error of a call that was not sent.
func unsent(cause error, opened bool) error {
	if !opened && !errors.Is(cause, io.EOF) {
		return cause
	}
	s, err := status.New(codes.Unavailable, "the line ended").WithDetails(&errdetails.ErrorInfo{Metadata: map[string]string{"applied": "no"}})
	if err != nil {
		return status.Error(codes.Unavailable, "the line ended")
	}
	return s.Err()
}
