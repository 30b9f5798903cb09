package memnet

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
)

var (
	errBroken  = status.Error(codes.Unavailable, "the connection broke")
	errMissing = status.Error(codes.Unimplemented, "no such method")
)

// messagesMax is how many messages a stream holds that nobody has read.
const messagesMax = 64

// connection is one connection; a conn.Transport.
type connection struct {
	member *Member
	broken chan struct{}
	once   sync.Once
	heard  atomic.Uint64
}

func newConnection(m *Member) *connection {
	return &connection{member: m, broken: make(chan struct{})}
}

// Broken is closed when the connection broke.
func (c *connection) Broken() <-chan struct{} { return c.broken }

// Close breaks the connection.
func (c *connection) Close() error {
	c.once.Do(func() {
		close(c.broken)
		c.member.forget(c)
	})
	return nil
}

// cut tells whether the connection broke. Contexts that end with it do so a moment later.
func (c *connection) cut() bool {
	select {
	case <-c.broken:
		return true
	default:
		return false
	}
}

// with returns a context that ends with the connection, too.
func (c *connection) with(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-c.broken:
			cancel()
		case <-ctx.Done():
		case <-done:
		}
	}()
	return ctx, func() { close(done); cancel() }
}

func (c *connection) lookUp(method string) (service, string, error) {
	name, method, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	c.member.mu.Lock()
	s, ok := c.member.services[name]
	c.member.mu.Unlock()
	if !ok {
		return service{}, "", errMissing
	}
	return s, method, nil
}

// Invoke makes a unary call.
func (c *connection) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	s, name, err := c.lookUp(method)
	if err != nil {
		return err
	}
	for _, m := range s.description.Methods {
		if m.MethodName != name {
			continue
		}
		if c.cut() {
			return errBroken
		}
		inner, cancel := c.with(ctx)
		defer cancel()
		if err := c.member.pass(inner); err != nil {
			return c.failure(ctx, err)
		}
		answer, err := c.handle(inner, m.Handler, s.server, args)
		if passed := c.member.pass(inner); passed != nil {
			return c.failure(ctx, passed)
		}
		c.heard.Add(1)
		if errors.Is(err, errBroken) {
			return err
		}
		if err != nil {
			return told(ctx, err)
		}
		return copyMessage(reply, answer)
	}
	return errMissing
}

// handle lets a member answer a unary call. When ctx ends it returns; the member may go on. What the member answers after the connection
// broke reaches nobody.
func (c *connection) handle(ctx context.Context, handler grpc.MethodHandler, server, args any) (any, error) {
	type result struct {
		answer any
		err    error
	}
	request, ok := args.(proto.Message)
	if !ok {
		return nil, errMissing
	}
	request = proto.Clone(request) // The caller may be gone, and use it again.
	done := make(chan result, 1)
	go func() {
		answer, err := handler(server, ctx, func(to any) error { return copyMessage(to, request) }, nil)
		if c.cut() {
			err = errBroken
		}
		done <- result{answer: answer, err: err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done: // It was answered before.
		return r.answer, r.err
	default:
		return nil, c.failure(ctx, ctx.Err())
	}
}

// failure returns what the caller of an interrupted call sees.
func (c *connection) failure(ctx context.Context, err error) error {
	if c.cut() {
		return errBroken
	}
	return told(ctx, err)
}

// told returns what the caller of a call that failed sees.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

func copyMessage(to, from any) error {
	target, ok := to.(proto.Message)
	source, ok2 := from.(proto.Message)
	if !ok || !ok2 {
		return errMissing
	}
	proto.Reset(target)
	proto.Merge(target, source)
	return nil
}

// NewStream makes a streaming call.
func (c *connection) NewStream(
	ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, name, err := c.lookUp(method)
	if err != nil {
		return nil, err
	}
	for i := range s.description.Streams {
		d := &s.description.Streams[i]
		if d.StreamName != name {
			continue
		}
		if c.cut() {
			return nil, errBroken
		}
		inner, cancel := c.with(ctx)
		st := &stream{
			c: c, outer: ctx, inner: inner, up: make(chan proto.Message, messagesMax),
			down: make(chan proto.Message, messagesMax), ended: make(chan struct{}),
		}
		go func() {
			defer cancel()
			st.err = st.outcome(d.Handler(s.server, &serverStream{st}))
			close(st.ended)
		}()
		return &clientStream{st}, nil
	}
	return nil, errMissing
}

// stream is what both ends of a streaming call share.
type stream struct {
	c            *connection
	outer, inner context.Context //nolint:containedctx // A stream has a context by gRPC's definition.
	up, down     chan proto.Message
	upClosed     sync.Once
	ended        chan struct{} // Closed after the handler returned, and err was set.
	err          error
}

// outcome returns what the client is told of a stream whose handler returned an error or nil. How a member ends what was cut off reaches nobody.
func (s *stream) outcome(err error) error {
	if err == nil {
		err = s.inner.Err()
	}
	if err == nil && !s.c.cut() {
		return nil
	}
	return s.c.failure(s.outer, err)
}

// send leaves a message on its way: it does not wait for silence to end, its receiver does.
func send(ctx context.Context, ch chan<- proto.Message, message any) error {
	source, ok := message.(proto.Message)
	if !ok {
		return errMissing
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case ch <- proto.Clone(source):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type clientStream struct{ *stream }

func (s *clientStream) Context() context.Context     { return s.outer }
func (s *clientStream) Header() (metadata.MD, error) { return metadata.MD{}, nil }
func (s *clientStream) Trailer() metadata.MD         { return nil }

// CloseSend ends what the client sends.
func (s *clientStream) CloseSend() error {
	s.upClosed.Do(func() { close(s.up) })
	return nil
}

func (s *clientStream) SendMsg(message any) error {
	select {
	case <-s.ended:
		return io.EOF
	default:
	}
	if s.c.cut() || send(s.inner, s.up, message) != nil {
		return io.EOF // As gRPC does: the reader is told why.
	}
	return nil
}

func (s *clientStream) RecvMsg(message any) error {
	m, err := s.receive()
	if err != nil {
		return err
	}
	if err := s.c.member.pass(s.inner); err != nil {
		select {
		case <-s.ended: // The end came after the message.
		default:
			return s.c.failure(s.outer, err)
		}
	}
	s.c.heard.Add(1)
	return copyMessage(message, m)
}

// receive returns the next message, or why there is none. What was sent before the end comes before it.
func (s *clientStream) receive() (proto.Message, error) {
	select {
	case m := <-s.down:
		return m, nil
	default:
	}
	select {
	case m := <-s.down:
		return m, nil
	case <-s.inner.Done():
	case <-s.ended:
	}
	select {
	case m := <-s.down:
		return m, nil
	default:
	}
	select {
	case <-s.ended:
	default:
		return nil, s.c.failure(s.outer, s.inner.Err())
	}
	if s.err == nil {
		return nil, io.EOF
	}
	return nil, s.err
}

type serverStream struct{ *stream }

func (s *serverStream) Context() context.Context     { return s.inner }
func (s *serverStream) SetHeader(metadata.MD) error  { return nil }
func (s *serverStream) SendHeader(metadata.MD) error { return nil }
func (s *serverStream) SetTrailer(metadata.MD)       {}
func (s *serverStream) SendMsg(message any) error {
	if s.c.cut() {
		return errBroken
	}
	return send(s.inner, s.down, message)
}

func (s *serverStream) RecvMsg(message any) error {
	select {
	case m, ok := <-s.up:
		if !ok {
			return io.EOF
		}
		if err := s.c.member.pass(s.inner); err != nil {
			return err
		}
		return copyMessage(message, m)
	case <-s.inner.Done():
		return s.inner.Err()
	}
}

// Streams is how many streams a connection carries.
func (*connection) Streams(context.Context) int { return conn.LineStreamsMax }

// Heard counts answers, and messages of streams.
func (c *connection) Heard() uint64 { return c.heard.Load() }

// Ping returns when messages pass.
func (c *connection) Ping(ctx context.Context) {
	inner, cancel := c.with(ctx)
	defer cancel()
	if c.member.pass(inner) == nil {
		c.heard.Add(1)
	}
}
