package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/internal/share"
)

// Limits of the HTTP listener.
const (
	httpHeaderTimeout  = 10 * time.Second
	httpWriteTimeout   = 2 * time.Minute // from the request's header to the end of an answer that is no stream; calls may wait 60 s
	httpIdleTimeout    = 2 * time.Minute
	httpHeaderBytesMax = 16 << 10 // a key of 1 024 bytes is at most 3 072 in a URL
	// http2StreamsMax is how many requests a connection with HTTP/2 may have open, and http2IntakeBytes what may be on its way
	// for them before it is read: the least that there can be.
	http2StreamsMax  = 250
	http2IntakeBytes = 64 << 10
)

// Options say what the HTTP listener serves.
type Options struct {
	// Conn leads to the services of this member, inside this process.
	Conn grpc.ClientConnInterface
	// Ready runs the checks of /readyz. It must not block longer than its context.
	Ready func(ctx context.Context) []ReadyCheck
	// Watches refuses a request that may not see how the member is, by its credentials; nil refuses none. It must end with its
	// context.
	Watches func(r *http.Request) error
	// Gatherer has the metrics of /metrics.
	Gatherer prometheus.Gatherer
	// Version is the version of the program.
	Version string
	// AllowedOrigins are the values of the header Origin, such as "https://console.example", that are served. Without
	// any, no page of a browser is.
	AllowedOrigins []string
	// AllowedHosts are names, without port, that are right in the header Host beside addresses and localhost.
	AllowedHosts []string
	// Certified reports whether the certificate that the listener shows now is for a host; nil knows none. A browser has verified such a
	// host, so no page of others can have made it point here.
	Certified func(host string) bool
	// PlainErrors makes the front door refuse requests with plain texts instead of JSON.
	PlainErrors bool
	// RequestBytesMax limits bodies.
	RequestBytesMax int64
	// Callers tells callers apart, who share what there is.
	Callers share.Callers
	// Intake has the bytes of bodies until their calls are answered; nil is no bound.
	Intake *share.Pool
	// Turns are those of large bodies that are decoded; nil: as many at once as there are processors, of which one caller has half, and at least two.
	Turns *share.Turns
	// Answers has the bytes of answers that are not read; nil is no bound.
	Answers *share.Pool
	// Log gets what fails inside.
	Log *zap.Logger
}

// ReadyCheck is one thing that a member needs in order to serve.
type ReadyCheck struct {
	// Name is a short noun.
	Name string
	// Err says what is missing; nil when all is well.
	Err error
}

// New returns the handler for the whole HTTP listener: REST, health, metrics and the API's description.
func New(o Options) (http.Handler, error) {
	rest, err := newGateway(o, restTable(), ofMember)
	if err != nil {
		return nil, err
	}
	ops, err := newOperations(o)
	if err != nil {
		return nil, err
	}
	return NewFrontDoor(o, func(w http.ResponseWriter, r *http.Request) {
		w = o.counting(w, r)
		if handler, ok := ops.paths[rawPath(r)]; ok {
			serveOperation(w, r, handler)
			return
		}
		rest.ServeHTTP(w, r)
	}), nil
}

// NewAgent returns the handler for the HTTP listener of an agent: REST over the connection to its service, and what is beside it.
func NewAgent(o Options, beside http.Handler) (http.Handler, error) {
	rest, err := newGateway(o, agentTable(), ofAgent)
	if err != nil {
		return nil, err
	}
	return NewFrontDoor(o, func(w http.ResponseWriter, r *http.Request) {
		w = o.counting(w, r)
		if path := rawPath(r); path == "/v1" || strings.HasPrefix(path, "/v1/") {
			rest.ServeHTTP(w, r)
			return
		}
		beside.ServeHTTP(w, r)
	}), nil
}

// inTime bounds how long a body may take to arrive that the handler does not read: what serves HTTP reads it before it sends the answer.
func inTime(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			// Whoever reads the body sets a deadline of its own. Every connection has them.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyReadTimeout))
		}
		handler.ServeHTTP(w, r)
	})
}

// Serve serves a listener until ctx ends. Then streams end with a last line, and other requests have the given time to
// end by themselves. It returns when all have ended.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, grace time.Duration, log *zap.Logger) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	requests = context.WithValue(requests, streamsKey{}, ctx)
	server := &http.Server{
		Handler:           inTime(handler),
		ReadHeaderTimeout: httpHeaderTimeout,
		WriteTimeout:      httpWriteTimeout,
		IdleTimeout:       httpIdleTimeout,
		MaxHeaderBytes:    httpHeaderBytesMax,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          http2StreamsMax,
			MaxReceiveBufferPerConnection: http2IntakeBytes,
			MaxReceiveBufferPerStream:     http2IntakeBytes,
		},
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: withValidity,
		ErrorLog:    zap.NewStdLog(log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer stop()
	err := server.Shutdown(patience)
	if errors.Is(err, context.DeadlineExceeded) {
		endRequests()
		err = server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop HTTP: %w", err)
	}
	return nil
}
