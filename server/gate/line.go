package gate

import (
	"context"

	"google.golang.org/grpc"
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

// Call makes a call that came on a line, as Unary makes one that came by itself. Its error is a status.
func (g *Gate) Call(ctx context.Context, method string, request proto.Message, handler grpc.UnaryHandler) (*Kept, error) {
	response, err := g.serve(ctx, request, method, answering{handler: handler, counted: keep})
	if err != nil {
		return nil, err
	}
	kept, _ := response.(*Kept)
	return kept, nil
}

// keep returns an answer that counts on the connection of its line. Lines inside this process have none.
func keep(ctx context.Context, method string, response any) (any, error) {
	message, _ := response.(proto.Message)
	conn := answersOf(ctx)
	if conn == nil {
		return &Kept{Message: message}, nil
	}
	pay, ok := unread.Owe(conn, message)
	if !ok {
		return nil, overShare(conn, method)
	}
	return &Kept{Message: message, pay: pay}, nil
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
	sent, ok := unread.Owe(conn, status.Convert(err).Proto())
	if !ok {
		conn.Cut()
		return func() {}, err
	}
	return sent, err
}
