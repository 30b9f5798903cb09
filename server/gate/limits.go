package gate

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/frames"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
)

// SecretBytes is how long the secret of a session is.
const SecretBytes = 32

// How much there is of what callers share; docs/operations.md says what it means in memory.
const (
	WaitsMaxDefault       = 64 << 10
	renewalStreamsMax     = 16 << 10
	operatorCallsMax      = 1024
	IntakeBytesMaxDefault = 256 << 20
	connIntakeBytesMax    = 64 << 20
	MessageTimeoutDefault = 45 * time.Second
	begunCallBytes        = 4 << 10 // so that a client may begin all calls of a connection before it sends the first
	resetsMax             = 10_000
	resetsWindow          = 10 * time.Second
	resetsBurst           = 512
	resetEvery            = 250 * time.Microsecond
	updatesBurst          = 10_000
	updateEvery           = time.Millisecond
)

// SharedRefusedHelp explains tenure_server_shared_refused_total.
const SharedRefusedHelp = "How often a caller was refused more of what callers share."

// room is a part of what a member serves that others do not take away.
type room struct {
	name string // of the limit
	pool *share.Pool
}

// Rooms are what calls share. A call that waits is none under way: it has room of its own, as have calls that keep a session
// alive or give something up, and those of operators.
type Rooms struct {
	Callers                            share.Callers
	calls, waits, keep, streams, admin *room
	Intake                             *share.Pool // bytes of messages that are not complete, and of bodies
	Answers                            *share.Pool // bytes of answers that are not read
	Connections, Peers                 *share.Pool
	revision                           func() uint64 // nil: not known
	builds                             unread.Builds // lists that are made
	inside                             unread.Inside // those of them that go through this process
}

// Limits say how much there is of what calls share.
type Limits struct {
	// CallsMax is how many calls with one answer there can be at a time.
	CallsMax int
	// WaitsMax is how many calls may wait, and streams other than renewals may be open.
	WaitsMax int
	// ConnectionsMax is how many connections clients may have.
	ConnectionsMax int
	// IntakeBytesMax bounds what is kept of messages that are not complete and of bodies.
	IntakeBytesMax int64
	// ExemptCallers are addresses and prefixes of callers that get no share, but whatever is free.
	ExemptCallers []string
	// Revision returns what this member shows. Nil: that is not known, and every read that demands a revision may have to wait for it.
	Revision func() uint64
}

// NewRooms returns empty rooms.
func NewRooms(l Limits) (*Rooms, error) {
	callers, err := share.ParseExempt(l.ExemptCallers)
	if err != nil {
		return nil, err
	}
	of := func(name string, total int) *room { return &room{name: name, pool: share.NewPool(int64(total))} }
	return &Rooms{
		Callers: callers,
		calls:   of("calls_max", l.CallsMax),
		waits:   of("waits_max", l.WaitsMax),
		keep:    of("renewals_and_releases_max", max(1, l.CallsMax/2)),
		streams: of("renewal_streams_max", renewalStreamsMax),
		admin:   of("operator_calls_max", operatorCallsMax),
		Intake:  share.NewPool(l.IntakeBytesMax),
		Answers: share.NewPool(l.IntakeBytesMax),
		builds:  unread.NewBuilds(),

		revision: l.Revision,

		Connections: share.NewPool(int64(l.ConnectionsMax)),
		Peers:       share.NewPool(int64(max(1, l.ConnectionsMax/peerConnectionsShare))),
	}, nil
}

// Meter returns what watches connections.
func (r *Rooms) Meter(deadline time.Duration) *frames.Meter {
	return frames.NewMeter(frames.Options{
		Bytes: r.Intake, Answers: r.Answers, ConnBytesMax: connIntakeBytesMax, Callers: r.Callers, Deadline: deadline,
		ResetsMax: resetsMax, ResetsWindow: resetsWindow, ResetsBurst: resetsBurst, ResetEvery: resetEvery, StreamBytes: begunCallBytes,
		UpdatesBurst: updatesBurst, UpdateEvery: updateEvery,
	})
}

// ofCall returns the room of a call with one answer.
func (r *Rooms) ofCall(method string, request any) *room {
	switch method {
	case tenurev1.SessionService_RenewSession_FullMethodName, tenurev1.SessionService_AttachSession_FullMethodName,
		tenurev1.SessionService_DestroySession_FullMethodName, tenurev1.LockService_ReleaseLock_FullMethodName,
		tenurev1.LockService_CancelWait_FullMethodName, tenurev1.ElectionService_Resign_FullMethodName:
		return r.keep
	}
	if operators(method) {
		return r.admin
	}
	if r.mayWait(request) {
		return r.waits
	}
	return r.calls
}

// mayWait reports whether a call may wait for something that does not come by itself within moments: a lock, a revision that this member does
// not show yet, or the liveness of the node of a new session.
func (r *Rooms) mayWait(request any) bool {
	switch asked := request.(type) {
	case *tenurev1.TryAcquireLockRequest:
		return asked.GetWait().AsDuration() > 0
	case *tenurev1.CreateSessionRequest:
		return asked.GetNode() != "" && asked.GetChecks() == nil
	case interface{ GetRead() *tenurev1.ReadOptions }:
		read := asked.GetRead()
		return read.GetStale() && read.GetMinRevision() > 0 && (r.revision == nil || read.GetMinRevision() > r.revision())
	default:
		return false
	}
}

// ofStream returns the room of a stream.
func (r *Rooms) ofStream(method string) *room {
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

// enter takes a place in a room for a caller's call, until leave is called.
func (r *Rooms) enter(caller share.Caller, in *room) (leave func(), err error) {
	if !in.pool.Take(caller, 1) {
		total := in.pool.Total()
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
			"this member has no room for another call of %s now; all callers share %d", caller, total).
			With("limit", in.name).With("limit_value", strconv.FormatInt(total, 10))
	}
	return func() { in.pool.Give(caller, 1) }, nil
}

// CallerOf returns whose share a call takes from: for REST that of the HTTP client.
func (r *Rooms) CallerOf(ctx context.Context) share.Caller {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return share.Caller{}
	}
	if !inProcess(ctx) {
		return r.Callers.Of(from.Addr)
	}
	if given := metadata.ValueFromIncomingContext(ctx, MetadataRemoteAddress); len(given) > 0 {
		return r.Callers.OfText(given[0])
	}
	return share.Caller{}
}

// CallerOf returns whose share a call takes from.
func (g *Gate) CallerOf(ctx context.Context) share.Caller { return g.rooms.CallerOf(ctx) }

// UnderWay returns how many calls with one answer are served.
func (r *Rooms) UnderWay() float64 {
	return float64(r.calls.pool.Used() + r.keep.pool.Used() + r.admin.pool.Used())
}

// Register registers metrics of what callers share.
func (r *Rooms) Register(registry prometheus.Registerer, meter *frames.Meter) error {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	counter := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	for _, in := range []*room{
		r.calls, r.waits, r.keep, r.streams, r.admin,
		{name: "intake_bytes_max", pool: r.Intake},
		{name: "answer_bytes_max", pool: r.Answers},
		{name: "connections_max", pool: r.Connections},
		{name: "peer_connections_max", pool: r.Peers},
	} {
		labels := prometheus.Labels{"limit": in.name}
		if err := gauge("tenure_server_shared_used", "How much of what callers share is taken, by the limit's name.",
			labels, func() float64 { return float64(in.pool.Used()) }); err != nil {
			return err
		}
		if err := counter("tenure_server_shared_refused_total", SharedRefusedHelp,
			labels, func() float64 { return float64(in.pool.Refused()) }); err != nil {
			return err
		}
	}
	for _, cause := range []frames.Cause{frames.Budget, frames.Late, frames.Resets, frames.Unread} {
		if err := counter("tenure_server_connections_cut_total",
			"Connections of gRPC that were closed because of what they pinned, by cause.",
			prometheus.Labels{"cause": cause.String()}, func() float64 { return float64(meter.Closed(cause)) }); err != nil {
			return err
		}
	}
	return counter("tenure_server_connections_rested_total",
		"How often a connection of gRPC was not read for a while, because its client opened its windows, or took back calls, too often.",
		nil, func() float64 { return float64(meter.Rests()) })
}
