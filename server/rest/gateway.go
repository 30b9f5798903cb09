package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// Headers of requests that travel on as metadata of the call.
const (
	headerSecret         = "Tenure-Session-Secret"
	headerIdempotencyKey = "Idempotency-Key"
	headerAuthorization  = "Authorization"
)

// bodyReadTimeout is how long a client may take to send a body.
const bodyReadTimeout = 30 * time.Second

// gateway serves REST. It looks at a whole request first: the path is split as it was sent, the route is found, and
// query, headers and body are checked against the RPC; what is unknown is refused, never ignored. Then grpc-gateway
// makes the call, or, for streams and raw values, the gateway itself.
type gateway struct {
	routes          []restRoute
	mux             *runtime.ServeMux
	conn            grpc.ClientConnInterface
	kv              tenurev1.KVServiceClient
	requestBytesMax int64
	streams         *share.Pool  // under way
	intake          *share.Pool  // bytes of bodies whose calls are not answered; nil is no bound
	turns           *share.Turns // of large bodies that are decoded
	callers         share.Callers
	log             *zap.Logger
}

// register has grpc-gateway serve services over a connection.
type register func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error

// ofMember registers the services of a member.
func ofMember(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error {
	return errors.Join(
		tenurev1.RegisterSessionServiceHandlerClient(ctx, mux, tenurev1.NewSessionServiceClient(conn)),
		tenurev1.RegisterKVServiceHandlerClient(ctx, mux, tenurev1.NewKVServiceClient(conn)),
		tenurev1.RegisterLockServiceHandlerClient(ctx, mux, tenurev1.NewLockServiceClient(conn)),
		tenurev1.RegisterWatchServiceHandlerClient(ctx, mux, tenurev1.NewWatchServiceClient(conn)),
		tenurev1.RegisterElectionServiceHandlerClient(ctx, mux, tenurev1.NewElectionServiceClient(conn)),
		tenurev1.RegisterClusterServiceHandlerClient(ctx, mux, tenurev1.NewClusterServiceClient(conn)),
		tenurev1.RegisterCatalogServiceHandlerClient(ctx, mux, tenurev1.NewCatalogServiceClient(conn)),
		tenurev1.RegisterQueryServiceHandlerClient(ctx, mux, tenurev1.NewQueryServiceClient(conn)),
		tenurev1.RegisterPoolServiceHandlerClient(ctx, mux, tenurev1.NewPoolServiceClient(conn)),
		tenurev1.RegisterAuthServiceHandlerClient(ctx, mux, tenurev1.NewAuthServiceClient(conn)),
	)
}

// ofAgent registers the service of an agent.
func ofAgent(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error {
	return tenurev1.RegisterAgentServiceHandlerClient(ctx, mux, tenurev1.NewAgentServiceClient(conn))
}

// newGateway returns the gateway over the connection to services of this process, with their REST table.
func newGateway(o Options, table []restRoute, services register) (*gateway, error) {
	routes, err := newRoutes(table)
	if err != nil {
		return nil, err
	}
	g := &gateway{
		routes:          routes,
		conn:            o.Conn,
		kv:              tenurev1.NewKVServiceClient(o.Conn),
		requestBytesMax: o.RequestBytesMax,
		streams:         share.NewPool(restStreamsMax),
		intake:          o.Intake,
		turns:           o.Turns,
		callers:         o.Callers,
		log:             o.Log,
	}
	if g.turns == nil {
		g.turns = share.NewTurns(max(2, goruntime.GOMAXPROCS(0)))
	}
	if g.mux, err = newGatewayMux(o.Conn, services, o.Log); err != nil {
		return nil, err
	}
	return g, nil
}

// newGatewayMux returns grpc-gateway, which serves the unary RPCs. It sees only requests that were checked.
func newGatewayMux(conn grpc.ClientConnInterface, services register, log *zap.Logger) (*runtime.ServeMux, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, jsonMarshaler{}),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithMetadata(func(_ context.Context, r *http.Request) metadata.MD { return callMetadata(r) }),
		runtime.WithOutgoingHeaderMatcher(outgoingHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithForwardResponseOption(func(_ context.Context, w http.ResponseWriter, m proto.Message) error {
			setRevision(w.Header(), m)
			return nil
		}),
		runtime.WithErrorHandler(
			func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
				writeError(w, err, log)
			}),
		runtime.WithRoutingErrorHandler(
			func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, _ int) {
				noSuchPath().write(w)
			}),
	)
	// The clients keep the context, and that is all.
	err := services(context.Background(), mux, conn)
	if err != nil {
		return nil, fmt.Errorf("register gateway: %w", err)
	}
	return mux, nil
}

// restCall is a request that was checked.
type restCall struct {
	route *restRoute
	path  []pathField
	query url.Values
	body  []byte
	raw   bool // ?raw was given
	taken *takingReader
	turns decodeTurns
}

// sent lets go of the body of a call that goes on for long after its request.
func (c *restCall) sent() {
	c.body = nil
	c.taken.done()
}

// ServeHTTP serves one request under /v1.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	taken := &takingReader{pool: g.intake, caller: g.callers.OfText(r.RemoteAddr)}
	defer taken.done()
	call, e := g.check(w, r, taken) //nolint:contextcheck // Its context is the one of the request.
	if e != nil {
		e.write(w)
		return
	}
	switch {
	case call.route.kind == routeRaw:
		g.putRaw(r.Context(), w, r, call)
	case call.raw:
		g.getRaw(r.Context(), w, r, call)
	case call.route.kind == routeStream:
		g.stream(r.Context(), w, r, call)
	case call.route.kind == routeFile:
		g.backup(r.Context(), w, r)
	default:
		g.mux.ServeHTTP(w, forGateway(r, call))
	}
}

// check finds the route of a request and reads the rest of it, by a reader that counts the body.
func (g *gateway) check(w http.ResponseWriter, r *http.Request, taken *takingReader) (*restCall, *restError) {
	segments, e := splitPath(r)
	if e != nil {
		return nil, e
	}
	route, e := findRoute(g.routes, r.Method, segments)
	if e != nil {
		return nil, e
	}
	call := &restCall{route: route, path: route.pathFields(segments), taken: taken}
	call.turns = decodeTurns{all: g.turns, request: r, caller: taken.caller}
	if e = checkPath(call.path, route.segments); e != nil {
		return nil, e
	}
	if e = checkHeaders(r.Header); e != nil {
		return nil, e
	}
	if call.query, e = parseQuery(r.URL.RawQuery, route.queryRules()); e != nil {
		return nil, e
	}
	call.raw = call.query.Get(queryRaw) == "true"
	call.query.Del(queryRaw)
	if route.kind == routeRaw {
		if e = checkPutConflicts(call.query); e != nil {
			return nil, e
		}
	}
	if call.body, e = g.readBody(w, r, taken); e != nil {
		return nil, e
	}
	switch {
	case route.kind == routeRaw:
	case !route.body && len(call.body) > 0:
		return nil, unknownField("body", "this request takes no body, but query parameters")
	case route.body && len(bytes.TrimSpace(call.body)) == 0:
		call.body = nil // as good as an empty object
	case route.body:
		if e = checkBody(call); e != nil {
			return nil, e
		}
	}
	if len(call.body) == 0 && route.kind != routeRaw && route.rpc == tenurev1.KVService_Put_FullMethodName {
		return nil, noContent()
	}
	return call, nil
}

// checkBody checks a body of JSON, which is not empty.
func checkBody(call *restCall) *restError {
	end, e := call.turns.take(call.body)
	if e != nil {
		return e
	}
	defer end()
	if e = checkJSON(call.body, call.route.input, call.route.inPath); e == nil && call.route.rpc == tenurev1.KVService_Put_FullMethodName {
		e = checkContent(call.body)
	}
	return e
}

// noContent is the error for a put without a value.
func noContent() *restError {
	return refused(tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT, "value", `value or text must be given; "text":"" is an empty value`)
}

// checkContent refuses a put in JSON that has neither value nor text: it would empty the value.
func checkContent(body []byte) *restError {
	var content struct{ Value, Text given }
	if err := json.Unmarshal(body, &content); err != nil {
		return malformed("body", "it is not JSON")
	}
	if !content.Value && !content.Text {
		return noContent()
	}
	return nil
}

// given reports whether a member of a JSON object is there, and not null.
type given bool

// UnmarshalJSON notes that it is.
func (g *given) UnmarshalJSON(text []byte) error {
	*g = string(text) != "null"
	return nil
}

// queryRules returns which query parameters a route takes.
func (r *restRoute) queryRules() queryRules {
	rules := queryRules{input: r.input, taken: r.inPath}
	switch {
	case r.body:
		rules.taken = func(protoreflect.FieldDescriptor) bool { return true }
	case r.kind == routeRaw:
		rules.taken = func(field protoreflect.FieldDescriptor) bool {
			return r.inPath(field) || field.ContainingOneof() != nil && !field.ContainingOneof().IsSynthetic()
		}
	case r.rpc == tenurev1.KVService_Get_FullMethodName:
		rules.extra = []string{queryRaw}
	}
	return rules
}

// checkHeaders refuses headers that could not travel on, or could not be understood.
func checkHeaders(header http.Header) *restError {
	for _, name := range []string{headerSecret, headerIdempotencyKey} {
		values := header.Values(name)
		if len(values) > 1 {
			return unknownField(name, "the header is given %d times", len(values))
		}
		for _, value := range values {
			if value == "" || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
				return malformed(name, "the header must be printable ASCII, and not empty")
			}
		}
	}
	for _, encoding := range header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return malformed("Content-Encoding", "bodies must not be compressed").as(http.StatusUnsupportedMediaType)
		}
	}
	return nil
}

// readBody reads a body of at most the allowed size, in at most the allowed time.
func (g *gateway) readBody(w http.ResponseWriter, r *http.Request, taken *takingReader) ([]byte, *restError) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > g.requestBytesMax {
		// The connection is of no use any more: its next bytes are this body.
		w.Header().Set("Connection", "close")
		return nil, g.bodyTooLarge()
	}
	// Deadlines are not to be had on every connection that tests make; then the client may take its time.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyReadTimeout))
	taken.Reader = http.MaxBytesReader(w, r.Body, g.requestBytesMax)
	body, err := readWhole(taken, r.ContentLength)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		// Else the deadline stays: what serves HTTP still reads what is left of the body.
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	case taken.refused:
		w.Header().Set("Connection", "close")
		return nil, restErrorOf(reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
			intakeError{}.Error()).With("limit", "intake_bytes_max"))
	case errors.As(err, &tooLarge):
		w.Header().Set("Connection", "close")
		return nil, g.bodyTooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return nil, malformed("body", "it did not arrive within %v", bodyReadTimeout).as(http.StatusRequestTimeout)
	default:
		w.Header().Set("Connection", "close")
		return nil, malformed("body", "it ended too early")
	}
}

// bodyTooLarge is the error for a body above the limit.
func (g *gateway) bodyTooLarge() *restError {
	return restErrorOf(reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "the body is larger than %d bytes", g.requestBytesMax).
		With("field", "body").With("limit", "request_bytes_max").With("limit_value", strconv.FormatInt(g.requestBytesMax, 10)))
}

// forGateway returns the request as grpc-gateway is to see it: with nothing in it that was not checked. The path is
// given unescaped, as its oldest mode wants it, which takes keys as they are.
func forGateway(r *http.Request, call *restCall) *http.Request {
	out := r.WithContext(context.WithValue(r.Context(), originalKey{}, r))
	out.Method = call.route.method
	out.URL = &url.URL{Path: call.route.pathOf(call.path), RawQuery: call.query.Encode()}
	out.Header = http.Header{} // What travels on does as metadata; grpc-gateway would add an Authorization of its own.
	out.Body = &bodyReader{left: call.body, turns: call.turns}
	out.ContentLength = int64(len(call.body))
	return out
}

// pathOf returns the unescaped path of a route with the given fields.
func (r *restRoute) pathOf(fields []pathField) string {
	var path strings.Builder
	next := 0
	for _, segment := range r.segments {
		path.WriteByte('/')
		if segment.field == nil {
			path.WriteString(segment.literal)
			continue
		}
		path.WriteString(fields[next].value)
		next++
	}
	return path.String()
}

// originalKey is the key of a request in the context of the one that grpc-gateway sees.
type originalKey struct{}

// callMetadata returns the metadata of the call that a request becomes.
func callMetadata(r *http.Request) metadata.MD {
	if original, ok := r.Context().Value(originalKey{}).(*http.Request); ok {
		r = original
	}
	md := metadata.Pairs(gate.MetadataRemoteAddress, r.RemoteAddr, gate.MetadataVia, gate.ViaREST)
	for _, name := range []string{headerSecret, headerIdempotencyKey} {
		if value := r.Header.Get(name); value != "" {
			md.Set(strings.ToLower(name), value)
		}
	}
	// At most two: more than one is refused, however many there are.
	for _, value := range r.Header.Values(headerAuthorization)[:min(2, len(r.Header.Values(headerAuthorization)))] {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
			value = "malformed" // It cannot travel as it is.
		}
		md.Append(identity.Metadata, value)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		md.Set(gate.MetadataCertificate, string(r.TLS.VerifiedChains[0][0].Raw))
	}
	return md
}

// outgoingHeader names the header for metadata of an answer.
func outgoingHeader(key string) (string, bool) {
	if key == gate.MetadataRequestID {
		return "Tenure-Request-Id", true
	}
	return "", false
}

// setRevision tells the revision of an answer in a header, for scripts.
func setRevision(header http.Header, m proto.Message) {
	answer, ok := m.(interface {
		GetHeader() *tenurev1.ResponseHeader
	})
	if ok && answer.GetHeader() != nil {
		header.Set("Tenure-Revision", strconv.FormatUint(answer.GetHeader().GetRevision(), 10))
	}
}

// writeError answers a request with an error of a call.
func writeError(w http.ResponseWriter, err error, log *zap.Logger) {
	e := restErrorOf(err)
	if e.httpStatus == http.StatusInternalServerError {
		log.Error("request failed", zap.Error(err))
	}
	e.write(w)
}

// writeMessage answers a request with a message, and with headers of the call.
func writeMessage(w http.ResponseWriter, m proto.Message, header metadata.MD, log *zap.Logger) {
	body, err := jsonMarshaler{}.Marshal(m)
	if err != nil {
		writeError(w, err, log)
		return
	}
	copyHeader(w.Header(), header)
	setRevision(w.Header(), m)
	w.Header().Set("Content-Type", contentTypeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone away needs no answer
}

// copyHeader puts the metadata of an answer into its headers.
func copyHeader(header http.Header, md metadata.MD) {
	for key, values := range md {
		if name, ok := outgoingHeader(key); ok {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
}
