package gate

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/server/unread"
)

// Kept is the answer to a call that is sent together with others. It counts for its caller until it is sent.
type Kept struct {
	// Message is the response.
	Message proto.Message
	pay     func()
}

// Sent says that the answer is sent, or never will be.
func (k *Kept) Sent() {
	if k.pay != nil {
		k.pay()
	}
}

// Call makes a call that came on a line, as Unary makes one that came by itself. A call that only reads is refused if its line has no room for
// the answer. Its error is a status.
func (g *Gate) Call(
	ctx context.Context, method string, request proto.Message, handler grpc.UnaryHandler, fits func(proto.Message) bool,
) (*Kept, error) {
	response, err := g.serve(ctx, request, method, answering{handler: handler, counted: keeping(fits)})
	if err != nil {
		return nil, err
	}
	kept, _ := response.(*Kept)
	return kept, nil
}

// Followed is a call of a line that has many messages.
type Followed interface {
	// Context ends with the call.
	Context() context.Context
	// Send sends a message, which nobody changes any more, until ctx ends.
	Send(ctx context.Context, m any) error
	// Ready reports whether Send would not wait, and Await waits for that.
	Ready() bool
	Await(ctx context.Context) error
	// Offer sends a message that many calls share, if that does not wait, once Flush is called. It reports whether it does.
	Offer(ctx context.Context, m any) bool
	Flush()
}

// onLine is such a call as a stream. Its service has the request already; lines have no metadata for a call.
type onLine struct{ Followed }

func (onLine) SetHeader(metadata.MD) error  { return nil }
func (onLine) SendHeader(metadata.MD) error { return nil }
func (onLine) SetTrailer(metadata.MD)       {}
func (onLine) RecvMsg(any) error            { return nil }
func (o onLine) SendMsg(m any) error        { return o.Send(o.Context(), m) }

// Paced reports whether the stream is a call of a line. One of its own needs none of this: SendMsg waits until the client has read most of it.
func (s *gatedStream) Paced() bool {
	_, ok := s.ServerStream.(onLine)
	return ok
}

// Ready reports whether SendMsg would not wait.
func (s *gatedStream) Ready() bool {
	on, ok := s.ServerStream.(onLine)
	return !ok || on.Ready()
}

// Await waits until Ready does.
func (s *gatedStream) Await() error {
	if on, ok := s.ServerStream.(onLine); ok {
		return on.Await(s.ctx)
	}
	return nil
}

// Offer sends a message that is the same for all who may read it, if that does not wait, and reports whether it does.
func (s *gatedStream) Offer(m any) bool {
	if s.access != nil && s.access.Sends() != nil {
		return false // SendMsg says why.
	}
	on, ok := s.ServerStream.(onLine)
	return ok && on.Offer(s.ctx, m)
}

// Flush has what was offered sent.
func (s *gatedStream) Flush() {
	if on, ok := s.ServerStream.(onLine); ok {
		on.Flush()
	}
}

// Follow makes a call that came on a line and has many messages, as Stream makes one that came by itself: it ends with the server and with its
// caller's rights. It sends what the caller may read. serve takes its request from the stream, in a message that has it already. The error is a
// status.
func (g *Gate) Follow(to Followed, method string, serve func(grpc.ServerStream) error) error {
	return g.Stream(nil, onLine{to}, &grpc.StreamServerInfo{FullMethod: method}, func(_ any, stream grpc.ServerStream) error { return serve(stream) })
}

// keeping returns what makes an answer one that counts on the connection of its line. Lines inside this process have none.
func keeping(fits func(proto.Message) bool) func(context.Context, string, any) (any, error) {
	return func(ctx context.Context, method string, response any) (any, error) {
		message, _ := response.(proto.Message)
		if onlyReads(method) && !fits(message) {
			return nil, unread.Refusal()
		}
		conn := answersOf(ctx)
		if conn == nil {
			return &Kept{Message: message}, nil
		}
		pay, ok := unread.Hold(conn, message)
		if !ok {
			return nil, overShare(conn, method)
		}
		return &Kept{Message: message, pay: pay}, nil
	}
}

// Owe counts what a line says of a call beside its answer, such as why it failed, until sent is called. It reports false if that is more than
// the caller's share, and then counts nothing.
func (g *Gate) Owe(ctx context.Context, message proto.Message) (sent func(), ok bool) {
	conn := answersOf(ctx)
	if conn == nil {
		return func() {}, true
	}
	if sent, ok = unread.Hold(conn, message); !ok {
		return func() {}, false
	}
	return sent, true
}

// Cut closes the connection of a line. Lines inside this process have none.
func (g *Gate) Cut(ctx context.Context) {
	if conn := answersOf(ctx); conn != nil {
		conn.Cut()
	}
}

// Refuse returns the status of an error that ends a call of a line before it is made, and counts the call. The status counts for the caller
// until sent is called: whoever sends calls beyond the bounds and reads no answers loses the connection.
func (g *Gate) Refuse(ctx context.Context, method string, err error) (sent func(), refusal error) {
	why, err := g.refuse(method, err)
	g.metrics.call(method, why, 0)
	conn := answersOf(ctx)
	if conn == nil {
		return func() {}, err
	}
	sent, ok := unread.Hold(conn, status.Convert(err).Proto())
	if !ok {
		conn.Cut()
		return func() {}, err
	}
	return sent, err
}
