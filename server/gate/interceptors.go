package gate

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
)

// Metadata that stands for fields of CallOptions, so that curl and grpcurl need not write them into the request.
const (
	metadataSecret         = "tenure-session-secret"
	metadataIdempotencyKey = "idempotency-key"
)

// Gate is what every call passes: it refuses what cannot be served, recovers from panics, makes statuses of errors,
// counts and logs. It never logs a value or a secret.
type Gate struct {
	log     *zap.Logger
	metrics *callMetrics
	// requestBytesMax is the largest message that a client may send.
	requestBytesMax int
	stopping        context.Context //nolint:containedctx // It is the server's life, not a call's.
	rooms           *Rooms
	// leader returns who leads and where clients reach it; zero and empty where that is not known.
	leader func() (id uint64, address string)
	// access decides who may do what; nil: everybody may do everything.
	authority    *access.Authority
	certificates identity.CertificateIdentity
	audit        *audit.Log
}

// Options are what a gate needs.
type Options struct {
	// Logger gets what clients must not see.
	Logger *zap.Logger
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// RequestBytesMax is the largest message that a client may send.
	RequestBytesMax int
	// Stopping ends when the server stops: the gate refuses calls then, and ends streams.
	Stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// Rooms are what calls share.
	Rooms *Rooms
	// Leader returns who leads and where clients reach it; zero and empty where that is not known.
	Leader func() (id uint64, address string)
	// Access decides who may do what; nil: everybody may do everything.
	Access *access.Authority
	// Certificates says what of a client certificate names its client.
	Certificates identity.CertificateIdentity
	// Audit writes down what was decided; nil writes nothing.
	Audit *audit.Log
}

// New returns a gate and registers its metrics.
func New(o Options) (*Gate, error) {
	metrics, err := newCallMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	return &Gate{
		log: o.Logger, metrics: metrics, requestBytesMax: o.RequestBytesMax, stopping: o.Stopping, rooms: o.Rooms, leader: o.Leader,
		authority: o.Access, certificates: o.Certificates, audit: o.Audit,
	}, nil
}

// Know adds a method that is served, by its full name, before the server runs.
func (g *Gate) Know(fullMethod string) { g.metrics.know(fullMethod) }

// Unary is the interceptor for calls with one answer.
func (g *Gate) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return g.serve(ctx, request, info.FullMethod, answering{handler: handler, counted: counted})
}

// answering is how the answer to a call is made, and how it counts from then on.
type answering struct {
	handler grpc.UnaryHandler
	counted func(ctx context.Context, method string, response any) (any, error)
}

// serve makes a call. Its error is a status.
func (g *Gate) serve(ctx context.Context, request any, method string, a answering) (any, error) {
	began := time.Now()
	ctx, audited := g.audit.Begin(ctx, method, from)
	response, err := g.answer(ctx, request, method, a, audited)
	why := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	if err != nil {
		why, err = g.refuse(method, err)
	}
	took := time.Since(began)
	g.metrics.call(method, why, took)
	g.access(ctx, method, why, took)
	audited.End(why, err)
	return response, err
}

// answer returns the answer to a call, which counts from then on.
func (g *Gate) answer(ctx context.Context, request any, method string, a answering, audited *audit.Call) (any, error) {
	if buildsMuch(method) {
		in, end := g.rooms.builds.Context(ctx)
		defer g.rooms.inside.Keep(insideCall(ctx), end)
		ctx = in
	}
	if err := audited.Message(request); err != nil {
		return nil, err
	}
	response, err := g.admit(ctx, request, method, a.handler)
	if err != nil {
		return nil, err
	}
	audited.Answered(response)
	return a.counted(ctx, method, response)
}

// Enter lets a call pass, or says why it is refused: somebody calls a method with a request, which is nil for a stream. leave must
// be called once the call has ended. Interceptors ask it, and so can whatever else carries calls.
func (g *Gate) Enter(caller share.Caller, method string, request any) (leave func(), err error) {
	in := g.rooms.ofStream(method)
	if request != nil {
		in = g.rooms.ofCall(method, request)
	}
	return g.enter(caller, in, request)
}

// enter is Enter for a call of which it is known which room it takes a place in.
func (g *Gate) enter(caller share.Caller, in *room, request any) (leave func(), err error) {
	if g.stopping.Err() != nil {
		return nil, reason.ErrStopping
	}
	if leave, err = g.rooms.enter(caller, in); err != nil {
		return nil, err
	}
	if err = refusal(request, g.requestBytesMax); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// admit calls the handler if the call can be served.
func (g *Gate) admit(ctx context.Context, request any, method string, handler grpc.UnaryHandler) (response any, err error) {
	if connectionOver(ctx) {
		return nil, reason.ErrConnectionEnds
	}
	in := g.rooms.ofCall(method, request)
	leave, err := g.enter(g.rooms.CallerOf(ctx), in, request)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err = claimed(ctx); err != nil {
		return nil, err
	}
	if err = mergeMetadata(ctx, request); err != nil {
		return nil, err
	}
	defer Recovered(g.log, method, &err)
	switch {
	case g.authority == nil:
	case in == g.rooms.waits:
		return g.await(ctx, request, method, handler)
	case g.authority.Asks(method):
		if ctx, err = g.authority.Call(ctx, g.callerOf(ctx), method, request); err != nil {
			return nil, err
		}
	}
	return g.shown(ctx, request, handler)
}

// shown calls the handler, and leaves out of its answer what the caller may not read.
func (g *Gate) shown(ctx context.Context, request any, handler grpc.UnaryHandler) (any, error) {
	response, err := handler(ctx, request)
	grant := access.Of(ctx)
	if err != nil || grant == nil {
		return response, grant.ShowError(err)
	}
	if m, ok := response.(proto.Message); ok {
		return grant.Answer(m)
	}
	return response, nil
}

// await calls the handler of a call that waits, which ends when its caller's rights do.
func (g *Gate) await(ctx context.Context, request any, method string, handler grpc.UnaryHandler) (any, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ConnectionValid(ctx), func() { cancel(reason.ErrConnectionEnds) })()
	ctx, waiting := g.authority.Open(ctx, func() *identity.Client { return g.callerOf(outer) }, method, cancel)
	defer waiting.Close()
	if err := waiting.Message(ctx, request); err != nil {
		return nil, err
	}
	response, err := g.shown(ctx, request, handler)
	return response, orRevoked(ctx, err)
}

// orRevoked returns the error of a call; of one that was ended because rights were taken away, why. What is said of its change stays.
func orRevoked(ctx context.Context, err error) error {
	why := reason.Of(context.Cause(ctx))
	if ctx.Err() == nil || why == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	if e := reason.Of(err); e != nil && (e.Applied == reason.AppliedYes || e.Applied == reason.AppliedUnknown) {
		ended := *why
		ended.Applied = e.Applied
		return &ended
	}
	return why
}

// Stream is the interceptor for streams. A stream ends with STOPPING when the server stops; a line does so by itself, once its calls have ended.
func (g *Gate) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	began := time.Now()
	if _, on := ss.(onLine); !on {
		g.metrics.streams.Inc()
		defer g.metrics.streams.Dec()
	}
	ctx, audited := g.audit.Begin(ss.Context(), info.FullMethod, from)
	err := g.serveStream(ctx, srv, ss, info, handler, audited)
	why := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	if err != nil {
		why, err = g.refuse(info.FullMethod, err)
	}
	g.metrics.call(info.FullMethod, why, 0)
	g.access(ss.Context(), info.FullMethod, why, time.Since(began))
	audited.End(why, err)
	return err
}

// serveStream calls the handler with a stream that ends with the server.
func (g *Gate) serveStream(
	ctx context.Context, srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler, audited *audit.Call,
) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if info.FullMethod != tenurev1.LineService_Line_FullMethodName {
		defer context.AfterFunc(g.stopping, func() { cancel(reason.ErrStopping) })() //nolint:contextcheck // It is the server's life, not the call's.
		defer context.AfterFunc(ConnectionValid(ctx), func() { cancel(reason.ErrConnectionEnds) })()
	}
	defer func() {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), reason.ErrStopping) {
			if e := reason.Of(err); e == nil || e.Applied != reason.AppliedUnknown {
				err = context.Cause(ctx)
			}
		}
		err = orRevoked(ctx, err)
	}()
	defer Recovered(g.log, info.FullMethod, &err)
	leave, err := g.Enter(g.rooms.CallerOf(ctx), info.FullMethod, nil)
	if err != nil {
		return err
	}
	defer leave()
	if err = claimed(ctx); err != nil {
		return err
	}
	answers := answersOf(ctx)
	if _, on := ss.(onLine); on {
		answers = nil // Its line counts what it sends.
	}
	sent := unread.NewStream(answers)
	decided, gated := ctx, &gatedStream{ServerStream: ss, requestBytesMax: g.requestBytesMax, sent: sent, audited: audited}
	if g.authority != nil && info.FullMethod != tenurev1.LineService_Line_FullMethodName { // The calls of a line are decided one by one.
		decided, gated.access = g.authority.Open(ctx, func() *identity.Client { return g.callerOf(ctx) }, info.FullMethod, cancel)
		defer gated.access.Close()
	}
	gated.ctx = decided
	err = access.Of(decided).ShowError(handler(srv, gated))
	if !sent.End() {
		answers.Cut() // The client sees a lost connection.
	}
	return err
}

// gatedStream is a stream whose messages pass the same checks as those of other calls.
type gatedStream struct {
	grpc.ServerStream
	ctx             context.Context //nolint:containedctx // A stream is its context.
	requestBytesMax int
	sent            *unread.Stream
	access          *access.Stream // nil: everybody may do everything
	audited         *audit.Call    // nil: it is not written down
}

// Context ends with the call or with the server.
func (s *gatedStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message that can be served.
func (s *gatedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if err := refusal(m, s.requestBytesMax); err != nil {
		return err
	}
	if err := mergeMetadata(s.ctx, m); err != nil {
		return err
	}
	if err := s.audited.Message(m); err != nil || s.access == nil {
		return err
	}
	if err := s.access.Message(s.ctx, m); err != nil {
		return err
	}
	return s.audited.Renewals(m)
}

// SendMsg sends a message without what the caller may not read, and waits until the client has read most of what there is. After an
// error the message may be sent.
func (s *gatedStream) SendMsg(m any) error {
	if s.access != nil {
		if err := s.access.Sends(); err != nil {
			return err
		}
	}
	if answer, ok := m.(proto.Message); ok {
		shown, err := access.Of(s.ctx).Show(answer)
		if err != nil {
			return err
		}
		m = shown
	}
	s.audited.Verdicts(m)
	if on, ok := s.ServerStream.(onLine); ok {
		return on.Send(s.ctx, m)
	}
	if err := s.ServerStream.SendMsg(s.sent.Message(m)); err != nil {
		return err
	}
	return s.sent.Await(s.ctx)
}

// Recovered makes an error of a panic, so that one bad call does not end the member. It must be deferred itself.
func Recovered(log *zap.Logger, method string, err *error) {
	if cause := recover(); cause != nil {
		log.Error("panic", zap.String("method", method), zap.Any("cause", cause), zap.ByteString("stack", debug.Stack()))
		*err = fmt.Errorf("%w: %v", reason.ErrPanic, cause)
	}
}

// refuse makes the status of an error, and logs what a client must not see.
func (g *Gate) refuse(method string, err error) (tenurev1.ErrorReason, error) {
	e := reason.Of(err)
	if e != nil {
		g.addLeader(e)
		s, _ := reason.Status(e, "")
		return e.Reason, s.Err()
	}
	id := NewRequestID()
	s, _ := reason.Status(err, id)
	g.log.Error("call failed", zap.String("method", method), zap.String("request_id", id), zap.Error(err))
	return tenurev1.ErrorReason_ERROR_REASON_INTERNAL, s.Err()
}

// addLeader tells a client that was not served where the leader is.
func (g *Gate) addLeader(e *reason.Error) {
	if reason.Code(e.Reason) != codes.Unavailable || g.leader == nil {
		return
	}
	id, address := g.leader()
	if id != 0 {
		e.Add("leader_id", strconv.FormatUint(id, 10))
	}
	if address != "" {
		e.Add("leader", address)
	}
}

// NewRequestID returns what ties an INTERNAL answer to its line in the log.
func NewRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // It never fails; see crypto/rand.
	return hex.EncodeToString(b[:])
}

// access logs one call, if anybody wants to know.
func (g *Gate) access(ctx context.Context, method string, why tenurev1.ErrorReason, took time.Duration) {
	entry := g.log.Check(zap.DebugLevel, "call")
	if entry == nil {
		return
	}
	entry.Write(zap.String("method", method), zap.String("peer", Address(ctx)),
		zap.String("code", codeName(why)), zap.String("reason", reason.Label(why)), zap.Duration("took", took))
}

// UnknownMethod answers calls of methods that do not exist.
func UnknownMethod(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(ss)
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND,
		"there is no method %q; `grpcurl HOST:PORT list` shows what there is", method)
}

// mergeMetadata fills options of a request from the call's metadata. Both at once are refused unless they agree, and so is
// metadata for a request that has no options.
func mergeMetadata(ctx context.Context, request any) error {
	secrets := metadata.ValueFromIncomingContext(ctx, metadataSecret)
	keys := metadata.ValueFromIncomingContext(ctx, metadataIdempotencyKey)
	if len(secrets) == 0 && len(keys) == 0 {
		return nil
	}
	options := optionsOf(request)
	switch {
	case options != nil:
	case len(secrets) > 0:
		return reason.Invalid(metadataSecret, "has no effect in this request")
	default:
		return reason.Invalid(metadataIdempotencyKey, "has no effect in this request")
	}
	if len(secrets) > 1 || len(keys) > 1 {
		return reason.Invalid("metadata", "%s and %s must not be given more than once", metadataSecret, metadataIdempotencyKey)
	}
	if len(secrets) == 1 {
		secret, err := decodeSecret(secrets[0])
		if err != nil {
			return err
		}
		if err := merge(&options.SessionSecret, secret, metadataSecret); err != nil {
			return err
		}
	}
	if len(keys) == 1 {
		return merge(&options.IdempotencyKey, []byte(keys[0]), metadataIdempotencyKey)
	}
	return nil
}

// merge sets a field, or refuses another value than it has.
func merge(field *[]byte, value []byte, name string) error {
	if len(*field) > 0 && subtle.ConstantTimeCompare(*field, value) != 1 {
		return reason.Invalid(name, "is given twice, with different values")
	}
	*field = value
	return nil
}

// optionsOf returns a request's options, made if need be; nil for a request that has none.
func optionsOf(request any) *tenurev1.CallOptions {
	m, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	field := m.ProtoReflect().Descriptor().Fields().ByName("options")
	if field == nil || field.Kind() != protoreflect.MessageKind || field.IsList() {
		return nil
	}
	options, _ := m.ProtoReflect().Mutable(field).Message().Interface().(*tenurev1.CallOptions)
	return options
}

// decodeSecret reads a secret in any of the usual spellings of base64.
func decodeSecret(text string) ([]byte, error) {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	secret, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || len(secret) != SecretBytes {
		return nil, reason.Invalid(metadataSecret, "must be %d bytes as base64", SecretBytes)
	}
	return secret, nil
}
