package conn

import (
	"context"
	"errors"
	"net"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/secure"
)

// Token is what calls carry to say who calls.
type Token interface {
	// Get returns the token. That there is none yet is a secure.ErrLate.
	Get(ctx context.Context) (string, error)
	// Renew looks for another one after a member refused the one that was used, and reports whether there is. That it is not known yet is a
	// secure.ErrLate.
	Renew(ctx context.Context, used string) (bool, error)
}

// errClear says that a token would be read by whoever listens.
var errClear = &CauseError{text: "the token is not sent there without TLS: use tenures://, or insecure=true"}

// Bearing returns a Dial whose connections send a token with each call that shows no credential of its own. A call that is refused for that token
// waits for what its source answers, and is made again if that is another token. OnlyLocal refuses all connections but those to this machine: where there is no TLS.
func Bearing(dial Dial, token Token, onlyLocal bool) Dial {
	return func(ctx context.Context, address string) (Transport, error) {
		if onlyLocal && !Local(address) {
			return nil, errClear
		}
		t, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		return &bearer{Transport: t, token: token}, nil
	}
}

// Local reports whether an address, host:port, is surely on this machine.
func Local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// authorization is the metadata with the credential of a call.
const authorization = "authorization"

// bearer is a connection that sends a token with each call that shows no credential.
type bearer struct {
	Transport

	token Token
}

// shows reports whether a call has a credential of its own: whoever made it acts as that, and not as the owner of the connection.
func shows(ctx context.Context) bool {
	sent, _ := metadata.FromOutgoingContext(ctx)
	return len(sent.Get(authorization)) > 0
}

// carrying returns a context of a call that sends the token, and the token.
func (b *bearer) carrying(ctx context.Context) (inner context.Context, used string, err error) {
	used, err = b.token.Get(ctx)
	if err != nil {
		return nil, "", noToken(ctx, err)
	}
	return metadata.AppendToOutgoingContext(ctx, authorization, "Bearer "+used), used, nil
}

// noToken returns the error of a call that has no token to send. If the source has only not answered yet, the call may be made again.
func noToken(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, secure.ErrLate) && ctx.Err() != nil:
		return late{unapplied(status.FromContextError(ctx.Err()).Code(), err.Error())}
	case errors.Is(err, secure.ErrLate):
		return late{unapplied(codes.Unavailable, err.Error())}
	default:
		return unapplied(codes.Unauthenticated, err.Error())
	}
}

// late is the error of a call that waited in vain for the source of its token: a secure.ErrLate. It tells nothing of the member.
type late struct{ error }

// Is reports whether it is such an error.
func (late) Is(target error) bool { return target == secure.ErrLate }

// GRPCStatus returns what it is for grpc.
func (l late) GRPCStatus() *status.Status { return status.Convert(l.error) }

// Invoke makes a call.
func (b *bearer) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if shows(ctx) {
		return b.Transport.Invoke(ctx, method, args, reply, options...)
	}
	calling, used, err := b.carrying(ctx)
	if err != nil {
		return err
	}
	err = b.Transport.Invoke(calling, method, args, reply, options...)
	if status.Code(err) != codes.Unauthenticated {
		return err
	}
	switch another, missing := b.token.Renew(ctx, used); {
	case missing != nil:
		return noToken(ctx, missing)
	case !another:
		return err
	}
	if calling, _, err = b.carrying(ctx); err != nil {
		return err
	}
	return b.Transport.Invoke(calling, method, args, reply, options...)
}

// NewStream begins a stream.
func (b *bearer) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if shows(ctx) {
		return b.Transport.NewStream(ctx, description, method, options...)
	}
	calling, used, err := b.carrying(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.Transport.NewStream(calling, description, method, options...)
	if err != nil {
		return nil, err
	}
	return &bearerStream{ClientStream: s, refused: func(err error) error {
		switch another, missing := b.token.Renew(ctx, used); {
		case missing != nil:
			return noToken(ctx, missing)
		case another:
			return unapplied(codes.Unavailable, "the token was replaced")
		default:
			return err
		}
	}}, nil
}

// Streams asks with the token.
func (b *bearer) Streams(ctx context.Context) int {
	if shows(ctx) {
		return b.Transport.Streams(ctx)
	}
	calling, _, err := b.carrying(ctx)
	if err != nil {
		return LineStreamsMax // Calls learn why.
	}
	return b.Transport.Streams(calling)
}

// bearerStream is a stream that was begun with a token.
type bearerStream struct {
	grpc.ClientStream

	refused func(err error) error // Looks for another token, and returns how the stream ends.
}

// RecvMsg receives a message. A stream that is refused for its token, where there is another one by now or may be soon, ends as one that breaks: it
// is opened again.
func (s *bearerStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if status.Code(err) == codes.Unauthenticated {
		return s.refused(err)
	}
	return err
}

// unapplied returns the error of a call that changed nothing.
func unapplied(code codes.Code, text string) error {
	s := status.New(code, text)
	told, err := s.WithDetails(&errdetails.ErrorInfo{Metadata: map[string]string{"applied": "no"}})
	if err != nil {
		return s.Err()
	}
	return told.Err()
}
