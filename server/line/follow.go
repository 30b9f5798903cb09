package line

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// followed is a wait or a watch, whose messages are parts. One goroutine at a time sends.
type followed struct {
	line *line
	call *call
	// free says that the call needs no credit.
	free bool
	// begun says that it has come to its first part.
	begun bool
	// last is where the last part stands in the outbox.
	last uint64
}

// follow makes a call that has parts, and sends its answer after them.
func (l *line) follow(c *call) {
	serve := c.verb.follow
	c.verb.follow, c.verb.request = nil, nil // A wait needs its request only to begin.
	f := &followed{line: l, call: c, free: !c.verb.keeps}
	a := &answer{message: &tenurev1.LineAnswer{Number: c.number}}
	if err := l.options.Gate.Follow(f, c.verb.method, serve); err != nil {
		l.failed(c, a, err)
	}
	l.over(c)
	if !l.out.end(c, a) {
		l.options.Gate.Cut(l.stream.Context())
	}
	l.leave(c)
	l.out.send()
}

// leave says that a call has come to its first part, or has ended.
func (l *line) leave(c *call) {
	l.mu.Lock()
	t := c.turn
	c.turn = nil
	l.mu.Unlock()
	t.leaveGoing()
}

// begin notes that the call has come to its first part.
func (f *followed) begin() {
	if !f.begun {
		f.begun = true
		f.line.leave(f.call)
	}
}

// settle says that the request of a call is not needed any more.
func (l *line) settle(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= c.bytes
	c.bytes = 0
}

// Context ends with the call.
func (f *followed) Context() context.Context { return f.call.ctx }

// encoded is a message whose bytes many calls share, and nobody changes any more.
type encoded interface{ Encoded() []byte }

// Send sends a part. It waits for the credit of the call, and for room on the line, until ctx ends. It encodes what it may send, and nothing
// else.
func (f *followed) Send(ctx context.Context, m any) error {
	l, c := f.line, f.call
	f.begin()
	counts := true
	switch {
	case f.free:
		l.settle(c)
		if counts = moves(m); counts && !c.credit.enough() {
			return nil
		}
	default:
		if err := c.credit.await(ctx); err != nil {
			return err
		}
	}
	data, shared, err := encode(m)
	if err != nil {
		return err
	}
	if counts {
		c.credit.spend(len(data))
	}
	if f.last, err = l.out.part(ctx, c, item{data: data, shared: shared}, f.last); err != nil {
		return err
	}
	l.out.kick(l.calls.Go)
	return nil
}

// Ready reports whether Send would neither wait for credit nor for room on the line.
func (f *followed) Ready() bool {
	return (f.free || f.call.credit.enough()) && f.line.out.full() == nil
}

// Await waits until Ready does, or ctx ends.
func (f *followed) Await(ctx context.Context) error {
	f.begin()
	for !f.Ready() {
		if !f.free {
			if err := f.call.credit.await(ctx); err != nil {
				return err
			}
		}
		room := f.line.out.full()
		if room == nil {
			continue
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Offer is Send for a message that many calls share, if it needs not wait. It reports whether it was sent, or will be by Flush.
func (f *followed) Offer(ctx context.Context, m any) bool {
	f.begin()
	shared, ok := m.(encoded)
	if !ok || f.free || ctx.Err() != nil || !f.call.credit.enough() {
		return false
	}
	data := shared.Encoded()
	at, room, err := f.line.out.tryPart(f.call, item{data: data, shared: true}, f.last)
	if room != nil || err != nil {
		return false
	}
	f.last = at
	f.call.credit.spend(len(data))
	return true
}

// Flush has what was offered sent.
func (f *followed) Flush() { f.line.out.kick(f.line.calls.Go) }

// encode returns the bytes of a message, and whether other calls may be sent the same.
func encode(m any) (data []byte, shared bool, err error) {
	switch m := m.(type) {
	case encoded:
		return m.Encoded(), true, nil
	case proto.Message:
		data, err = proto.Marshal(m)
		return data, false, err
	default:
		return nil, false, fmt.Errorf("%T is not a message", m)
	}
}

// moves reports whether a message only says that a position in a queue changed.
func moves(m any) bool {
	switch m := m.(type) {
	case *tenurev1.AcquireLockResponse:
		return m.GetMoved() != nil
	case *tenurev1.CampaignResponse:
		return m.GetMoved() != nil
	default:
		return false
	}
}
