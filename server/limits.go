package server

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/frames"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/share"
)

// secretBytes is how long the secret of a session is.
const secretBytes = 32

// How much there is of what callers share; docs/operations.md says what it means in memory.
const (
	waitsMaxDefault       = 64 << 10
	renewalStreamsMax     = 16 << 10
	operatorCallsMax      = 1024
	intakeBytesMaxDefault = 256 << 20
	connIntakeBytesMax    = 64 << 20
	messageTimeoutDefault = 45 * time.Second
	begunCallBytes        = 4 << 10 // so that a client may begin all calls of a connection before it sends the first
	resetsMax             = 10_000
	resetsWindow          = 10 * time.Second
)

// sharedRefusedHelp explains tenure_server_shared_refused_total.
const sharedRefusedHelp = "How often a caller got no more of it."

// room is a part of what a member serves that others do not take away.
type room struct {
	name string // of the limit
	pool *share.Pool
}

// rooms are what calls share. A call that waits is none under way: it has room of its own, as have calls that keep a session
// alive or give something up, and those of operators.
type rooms struct {
	callers                            share.Callers
	calls, waits, keep, streams, admin *room
	intake                             *share.Pool // bytes of messages and bodies that are not complete
	connections, peers                 *share.Pool
}

// limits say how much there is of what calls share.
type limits struct {
	// CallsMax is how many calls with one answer there can be at a time.
	CallsMax int
	// WaitsMax is how many calls may wait, and streams other than renewals may be open.
	WaitsMax int
	// ConnectionsMax is how many connections clients may have.
	ConnectionsMax int
	// IntakeBytesMax bounds what is kept of messages and bodies that are not complete.
	IntakeBytesMax int64
	// ExemptCallers are addresses and prefixes of callers that get no share, but whatever is free.
	ExemptCallers []string
}

// newRooms returns empty rooms.
func newRooms(l limits) (*rooms, error) {
	callers, err := share.ParseExempt(l.ExemptCallers)
	if err != nil {
		return nil, err
	}
	of := func(name string, total int) *room { return &room{name: name, pool: share.NewPool(int64(total))} }
	return &rooms{
		callers: callers,
		calls:   of("calls_max", l.CallsMax),
		waits:   of("waits_max", l.WaitsMax),
		keep:    of("renewals_and_releases_max", max(1, l.CallsMax/2)),
		streams: of("renewal_streams_max", renewalStreamsMax),
		admin:   of("operator_calls_max", operatorCallsMax),
		intake:  share.NewPool(l.IntakeBytesMax),

		connections: share.NewPool(int64(l.ConnectionsMax)),
		peers:       share.NewPool(int64(max(1, l.ConnectionsMax/peerConnectionsShare))),
	}, nil
}

// meter returns what watches connections.
func (r *rooms) meter(deadline time.Duration) *frames.Meter {
	return frames.NewMeter(frames.Options{
		Bytes: r.intake, ConnBytesMax: connIntakeBytesMax, Callers: r.callers, Deadline: deadline,
		ResetsMax: resetsMax, ResetsWindow: resetsWindow, StreamBytes: begunCallBytes,
	})
}

// ofCall returns the room of a call with one answer.
func (r *rooms) ofCall(method string, request any) *room {
	switch method {
	case tenurev1.SessionService_RenewSession_FullMethodName, tenurev1.SessionService_AttachSession_FullMethodName,
		tenurev1.SessionService_DestroySession_FullMethodName, tenurev1.LockService_ReleaseLock_FullMethodName,
		tenurev1.LockService_CancelWait_FullMethodName, tenurev1.ElectionService_Resign_FullMethodName:
		return r.keep
	}
	if operators(method) {
		return r.admin
	}
	if try, ok := request.(*tenurev1.TryAcquireLockRequest); ok && try.GetWait().AsDuration() > 0 {
		return r.waits
	}
	return r.calls
}

// ofStream returns the room of a stream.
func (r *rooms) ofStream(method string) *room {
	switch {
	case method == tenurev1.SessionService_KeepAlive_FullMethodName:
		return r.streams
	case operators(method):
		return r.admin
	default:
		return r.waits
	}
}

// operators reports whether a method is for operators and those who look whether a member is well.
func operators(method string) bool {
	return strings.HasPrefix(method, "/"+tenurev1.ClusterService_ServiceDesc.ServiceName+"/") ||
		strings.HasPrefix(method, "/grpc.health.")
}

// enter takes a place in a room for a call, until leave is called.
func (r *rooms) enter(ctx context.Context, in *room) (leave func(), err error) {
	caller := r.callerOf(ctx)
	if !in.pool.Take(caller, 1) {
		total := in.pool.Total()
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
			"this member has no room for another call of %s now; all callers share %d", caller, total).
			With("limit", in.name).With("limit_value", strconv.FormatInt(total, 10))
	}
	return func() { in.pool.Give(caller, 1) }, nil
}

// callerOf returns whose share a call takes from: for REST that of the HTTP client.
func (r *rooms) callerOf(ctx context.Context) share.Caller {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return share.Caller{}
	}
	if from.Addr.Network() != "bufconn" {
		return r.callers.Of(from.Addr)
	}
	if given := metadata.ValueFromIncomingContext(ctx, metadataRemoteAddress); len(given) > 0 {
		return r.callers.OfText(given[0])
	}
	return share.Caller{}
}

// underWay returns how many calls with one answer are served.
func (r *rooms) underWay() float64 {
	return float64(r.calls.pool.Used() + r.keep.pool.Used() + r.admin.pool.Used())
}

// register registers metrics of what callers share.
func (r *rooms) register(registry prometheus.Registerer, meter *frames.Meter) error {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	counter := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	for _, in := range []*room{
		r.calls, r.waits, r.keep, r.streams, r.admin,
		{name: "intake_bytes_max", pool: r.intake},
		{name: "connections_max", pool: r.connections},
		{name: "peer_connections_max", pool: r.peers},
	} {
		labels := prometheus.Labels{"limit": in.name}
		if err := gauge("tenure_server_shared_used", "How much of what callers share is taken, by the limit's name.",
			labels, func() float64 { return float64(in.pool.Used()) }); err != nil {
			return err
		}
		if err := counter("tenure_server_shared_refused_total", sharedRefusedHelp,
			labels, func() float64 { return float64(in.pool.Refused()) }); err != nil {
			return err
		}
	}
	for _, cause := range []frames.Cause{frames.Budget, frames.Late, frames.Resets} {
		if err := counter("tenure_server_connections_cut_total",
			"Connections of gRPC that were closed because of what they pinned, by cause.",
			prometheus.Labels{"cause": cause.String()}, func() float64 { return float64(meter.Closed(cause)) }); err != nil {
			return err
		}
	}
	return nil
}
