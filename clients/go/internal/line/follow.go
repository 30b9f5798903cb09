package line

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

const (
	// aheadMessages and aheadBytes are how far a call with parts may be ahead of its caller. The last message may exceed the bytes.
	aheadMessages = 16
	aheadBytes    = 64 << 10
	// copyBytes is how large a message is that is kept as it came, and what came with it.
	copyBytes = 16 << 10
	// longLinesMax is how many lines with waits and watches a connection has.
	longLinesMax = 8
)

// credit is what a call may send more.
type credit struct{ number, messages, bytes uint64 }

// inbox has the messages of a call that its caller has not taken. Its credit bounds them.
type inbox struct {
	some chan struct{} // One slot: there may be a message.

	mu       sync.Mutex // Guards what follows; that of a stream may be held.
	messages [][]byte
}

func newInbox() *inbox { return &inbox{some: make(chan struct{}, 1)} }

// put adds a message.
func (i *inbox) put(message []byte) {
	i.mu.Lock()
	i.messages = append(i.messages, message)
	i.mu.Unlock()
	select {
	case i.some <- struct{}{}:
	default:
	}
}

// take returns the first message, if there is one.
func (i *inbox) take() (message []byte, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.messages) == 0 {
		return nil, false
	}
	message = i.messages[0]
	i.messages[0] = nil
	i.messages = rest(i.messages, 1)
	return message, true
}

// followed is a call with parts as a stream. One goroutine sends and receives.
type followed struct {
	transport *transport
	ctx       context.Context //nolint:containedctx // A stream is its context.
	open      func() (grpc.ClientStream, error)
	method    string

	call     *call
	stop     func() bool
	alone    grpc.ClientStream // The stream of its own, where lines do not serve.
	messages uint64            // That were taken since credit was given.
	bytes    uint64
}

// NewStream begins a stream: a call on a line, where lines carry it.
func (t *transport) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	open := func() (grpc.ClientStream, error) { return t.Transport.NewStream(ctx, description, method, options...) }
	if _, known := longs[method]; !known || len(options) > 1 { // Generated code gives one option, that the method's name is known.
		return open()
	}
	return &followed{transport: t, ctx: ctx, open: open, method: method}, nil
}

// Header is empty: lines have no metadata for a call.
func (f *followed) Header() (metadata.MD, error) {
	if f.alone != nil {
		return f.alone.Header()
	}
	return nil, nil
}

// Trailer is empty, too.
func (f *followed) Trailer() metadata.MD {
	if f.alone != nil {
		return f.alone.Trailer()
	}
	return nil
}

// Context is that of the call.
func (f *followed) Context() context.Context { return f.ctx }

// SendMsg sends the request, once.
func (f *followed) SendMsg(request any) error {
	c := newCall(f.ctx, f.method, request)
	if c != nil {
		switch joined, err := f.transport.joinLong(f.ctx, c); {
		case err != nil:
			return err
		case joined:
			f.call = c
			f.stop = context.AfterFunc(f.ctx, func() { c.stream.leave(c) })
			return nil
		}
	}
	alone, err := f.open()
	if err != nil {
		return err
	}
	f.alone = alone
	return alone.SendMsg(request)
}

// CloseSend says that there is no other request.
func (f *followed) CloseSend() error {
	if f.alone != nil {
		return f.alone.CloseSend()
	}
	return nil
}

// RecvMsg receives a message.
func (f *followed) RecvMsg(to any) error {
	if f.alone != nil {
		return f.alone.RecvMsg(to)
	}
	data, err := f.next()
	if err != nil {
		return err
	}
	response, ok := to.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "%T is not a message", to)
	}
	if err = proto.Unmarshal(data, response); err != nil {
		return status.Errorf(codes.Internal, "a message on the line: %v", err)
	}
	return nil
}

// next returns the next message. Its error is how the call ended, io.EOF if it ended well.
func (f *followed) next() ([]byte, error) {
	c := f.call
	for {
		if data, ok := c.long.take(); ok {
			f.took(len(data))
			return data, nil
		}
		select {
		case <-c.long.some:
		case <-f.ctx.Done():
			return nil, status.FromContextError(f.ctx.Err()).Err()
		case <-c.done:
			if data, ok := c.long.take(); ok { // It came before the end.
				return data, nil
			}
			f.stop()
			if c.err == nil {
				return nil, io.EOF
			}
			return nil, c.err
		}
	}
}

// took gives credit for messages that were taken, not for each.
func (f *followed) took(bytes int) {
	f.messages++
	f.bytes += uint64(bytes)
	if f.messages >= aheadMessages/2 || f.bytes >= aheadBytes/2 {
		f.call.stream.give(f.call, f.messages, f.bytes)
		f.messages, f.bytes = 0, 0
	}
}

// joinLong puts a call with parts on a line, and reports whether one has room. It waits until a member has said how many it carries.
func (t *transport) joinLong(ctx context.Context, c *call) (joined bool, err error) {
	for {
		opening, joined := t.tryLong(c.token, c)
		if opening == nil {
			return joined, nil
		}
		if err = t.opened(ctx, opening); err != nil {
			return false, err
		}
	}
}

// opened waits until a line is open, or cannot be. An error is that of a line that broke.
func (t *transport) opened(ctx context.Context, s *stream) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch code := status.Code(s.cause); {
	case !s.over, s.opened, code == codes.Unimplemented, code == codes.ResourceExhausted:
		return nil
	default:
		return s.cause
	}
}

// tryLong puts a call, if there is one, on a line with room. It returns the line that is being opened, if that must be awaited first.
func (t *transport) tryLong(token string, c *call) (opening *stream, joined bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed() || t.noLong {
		return nil, false
	}
	for _, s := range t.long {
		select {
		case <-s.ready:
		default:
			return s, false
		}
		s.mu.Lock()
		none := s.opened && s.waitsMax == 0
		s.mu.Unlock()
		if none {
			t.noLong = true
			return nil, false
		}
		if c == nil || s.add(c) {
			return nil, true
		}
	}
	if len(t.long) >= longLinesMax {
		return nil, false
	}
	s := newStream(t, token)
	t.long = append(t.long, s)
	t.streams.Go(s.run)
	return s, false
}

// Streams returns how many streams the connection carries. The first time it asks the member.
func (t *transport) Streams(ctx context.Context) int {
	token, plain := tokenOf(ctx)
	if !plain {
		return conn.LineStreamsMax
	}
	for {
		opening, open := t.tryLong(token, nil)
		if opening == nil {
			if open {
				return longLinesMax * t.waitsMax()
			}
			return conn.LineStreamsMax
		}
		if t.opened(ctx, opening) != nil {
			return conn.LineStreamsMax
		}
	}
}

// waitsMax returns how many waits and watches one line has.
func (t *transport) waitsMax() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := 0
	for _, s := range t.long {
		s.mu.Lock()
		most = max(most, s.waitsMax)
		s.mu.Unlock()
	}
	return most
}
