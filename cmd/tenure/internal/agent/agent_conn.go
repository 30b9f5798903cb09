package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/reason"
)

// clusterPatience is how long a call of an agent, or the beginning of a stream, waits for a member that can answer it, if the caller
// sets no limit.
const clusterPatience = 10 * time.Second

// clusterConn carries an agent's calls, and those of the clients of Consul that it serves, to any member that answers. A change is
// applied once, however often it is sent.
type clusterConn struct{ client *tenure.Client }

// Invoke makes a call. Reads are made again until they are answered. Changes are, too, under an idempotency key; those that cannot
// have one are sent again only if a member said that nothing was applied.
func (c clusterConn) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, clusterPatience)
		defer cancel()
	}
	send := func(ctx context.Context, member grpc.ClientConnInterface) error {
		return member.Invoke(ctx, method, request, response, options...)
	}
	switch {
	case takesKey(request):
		return conveyed(c.client.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, o *tenurev1.CallOptions) error {
			return member.Invoke(ctx, method, withKey(request, o.GetIdempotencyKey()), response, options...)
		}))
	case repeats(method) == cli.MayRepeat:
		return conveyed(c.client.Read(ctx, send))
	default:
		return conveyed(c.client.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) error {
			return decided(send(ctx, member))
		}))
	}
}

// NewStream opens a stream on the connection to one member. It ends with the connection, or with ctx.
func (c clusterConn) NewStream(
	ctx context.Context, of *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	waiting, cancel := context.WithTimeout(ctx, clusterPatience)
	defer cancel()
	member, release, err := c.client.Streams(waiting)
	if err != nil {
		return nil, conveyed(err)
	}
	stream, err := member.NewStream(ctx, of, method, options...)
	if err != nil {
		release()
		return nil, conveyed(err)
	}
	context.AfterFunc(ctx, release)
	return stream, nil
}

// repeats reports whether a call does the same when it is made twice: reads, renewals, ends of sessions, and syncs, which are numbered.
func repeats(method string) cli.Repeatable {
	name := method[strings.LastIndexByte(method, '/')+1:]
	switch {
	case strings.HasPrefix(name, "Get"), strings.HasPrefix(name, "List"), name == "ExecuteQuery", name == "ExplainQuery",
		name == "WhoAmI", name == "CheckAccess", name == "SyncNode", name == "RenewSession", name == "DestroySession":
		return cli.MayRepeat
	default:
		return cli.OnlyOnce
	}
}

// takesKey reports whether a request is known again by an idempotency key, and has none.
func takesKey(request any) bool {
	change, ok := request.(interface{ GetOptions() *tenurev1.CallOptions })
	switch request.(type) {
	case *tenurev1.RenewSessionRequest, *tenurev1.AttachSessionRequest, *tenurev1.DestroySessionRequest, *tenurev1.CancelWaitRequest,
		*tenurev1.ProclaimRequest, *tenurev1.ResignRequest:
		return false // A member refuses it: a renewal is not applied, a session ends once, and the others act as their session.
	}
	if !ok {
		return false
	}
	return change.GetOptions().GetRequestId() == nil && len(change.GetOptions().GetIdempotencyKey()) == 0
}

// withKey returns a request with an idempotency key.
func withKey(request any, key []byte) any {
	m, ok := request.(proto.Message)
	if !ok {
		return request
	}
	m = proto.Clone(m)
	field := m.ProtoReflect().Descriptor().Fields().ByName("options")
	if options, ok := m.ProtoReflect().Mutable(field).Message().Interface().(*tenurev1.CallOptions); ok {
		options.IdempotencyKey = key
	}
	return m
}

// unsafe returns the error of a call that shows a token which the client does not send, for whoever handed it to the agent.
func unsafe(err error) error {
	refused := reason.New(tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE,
		"the agent does not send the token to %s without TLS, as others could read it: start the agent with tenures:// in --endpoints, or with --ca-file",
		errorinfo.Fact(err, "address"))
	said, _ := reason.Status(refused, "")
	return said.Err()
}

// decided returns the error of a change that nothing makes known again. If it may have been applied, its outcome is unknown, and it is
// not made again.
func decided(err error) error {
	if err == nil || cli.NothingApplied(err) || !maybeSent(err) {
		return err
	}
	//nolint:forbidigo // A code that the client does not take for a reason to send it again.
	unknown := status.New(codes.Unknown, "it is not known whether the change was made: "+status.Convert(err).Message())
	detailed, detailErr := unknown.WithDetails(&errdetails.ErrorInfo{Reason: "OUTCOME_UNKNOWN", Metadata: map[string]string{"applied": "unknown"}})
	if detailErr != nil {
		return unknown.Err()
	}
	return detailed.Err()
}

// maybeSent reports whether an error leaves open what became of a call.
func maybeSent(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// outOfReachError says that no member answers, as a status.
type outOfReachError struct{ error }

// GRPCStatus returns the status.
func (e outOfReachError) GRPCStatus() *status.Status {
	return status.New(codes.Unavailable, e.Error()) //nolint:forbidigo // No member said anything that could be mapped.
}

// conveyed returns an error of the client as a member's connection would.
func conveyed(err error) error {
	err = cli.PlainError(err)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE {
		return unsafe(err)
	}
	if _, ok := errors.AsType[*cli.UnreachableError](err); ok {
		return outOfReachError{err}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return status.FromContextError(err).Err()
	}
	return err
}
