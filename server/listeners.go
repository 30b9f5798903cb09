package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
	"github.com/tenure-io/tenure/server/descriptor"
	"github.com/tenure-io/tenure/server/frames"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/line"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/rest"
)

// Limits of the gRPC listeners.
const (
	headerBytesMax    = 16 << 10
	connectionTimeout = 10 * time.Second
	keepaliveTime     = 30 * time.Second
	keepaliveTimeout  = 10 * time.Second
	clientPingEvery   = 5 * time.Second // sooner is too often
	inProcessBytes    = 256 << 10
	// streamWindowBytes is what a client may send on a stream that is not read. It grows only by a message that is read.
	streamWindowBytes = 64 << 10
	// connWindowBytes is what may be on its way from a client.
	connWindowBytes = 1 << 20
	// callWorkers is how many goroutines wait for calls, so that their stacks need not grow again for each. When all are
	// busy, or taken by streams, a call gets a goroutine of its own.
	callWorkers        = 256
	inProcessStreams   = 1 << 20 // the gateway's own limits come first
	inProcessAnswerMax = 16 << 20
	// refusedBytesRoom is how much larger than allowed a message may be for the codec to refuse it, with a reason. A larger
	// one is refused by gRPC itself, with a status of its own, before we hear of it.
	refusedBytesRoom = 5 << 19
)

// newGRPC returns a gRPC server with all services.
func (r *running) newGRPC(streamsMax int, more ...grpc.ServerOption) (*grpc.Server, error) {
	server := r.newBareGRPC(streamsMax, append(more, grpc.NumStreamWorkers(callWorkers))...)
	tenurev1.RegisterSessionServiceServer(server, r.api.Sessions)
	tenurev1.RegisterKVServiceServer(server, r.api.KV)
	tenurev1.RegisterLockServiceServer(server, r.api.Locks)
	tenurev1.RegisterWatchServiceServer(server, r.api.Watches)
	tenurev1.RegisterElectionServiceServer(server, r.api.Elections)
	tenurev1.RegisterClusterServiceServer(server, r.api.Cluster)
	tenurev1.RegisterCatalogServiceServer(server, r.api.Catalog)
	tenurev1.RegisterQueryServiceServer(server, r.api.Queries)
	tenurev1.RegisterLineServiceServer(server, line.New(line.Options{
		Gate: r.gate, Stopping: r.stopping, KV: r.api.KV, Locks: r.api.Locks, Sessions: r.api.Sessions, Elections: r.api.Elections,
		Watches: r.api.Watches,
	}))
	tenurev1.RegisterPoolServiceServer(server, r.api.Pool)
	tenurev1.RegisterAuthServiceServer(server, r.api.Auth)
	healthpb.RegisterHealthServer(server, r.health)
	files, err := descriptor.Load()
	if err != nil {
		return nil, err
	}
	options := reflection.ServerOptions{
		Services:           server,
		DescriptorResolver: files,
		ExtensionResolver:  protoregistry.GlobalTypes,
	}
	reflectionpb.RegisterServerReflectionServer(server, reflection.NewServerV1(options))
	reflectionalphapb.RegisterServerReflectionServer(server, reflection.NewServer(options))
	for service, info := range server.GetServiceInfo() {
		r.health.Know(service)
		for _, method := range info.Methods {
			r.gate.Know("/" + service + "/" + method.Name)
		}
	}
	return server, nil
}

// newBareGRPC returns a gRPC server without services: it tells every caller that there is no such method.
func (r *running) newBareGRPC(streamsMax int, more ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more,
		grpc.ForceServerCodecV2(gate.NewCodec(r.config.RequestBytesMax)),
		grpc.UnaryInterceptor(r.gate.Unary),
		grpc.StreamInterceptor(r.gate.Stream),
		grpc.UnknownServiceHandler(gate.UnknownMethod),
		grpc.MaxRecvMsgSize(r.config.RequestBytesMax+refusedBytesRoom),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.MaxConcurrentStreams(uint32(streamsMax)),
		grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: clientPingEvery, PermitWithoutStream: true}),
	)...)
}

// serveGRPC serves clients. The peer address is the member's own.
func (r *running) serveGRPC() error {
	server, err := r.newGRPC(r.config.StreamsMax,
		grpc.Creds(meteredCredentials{TransportCredentials: r.secured.grpc.Credentials(), meter: r.meter}),
		grpc.StaticStreamWindowSize(streamWindowBytes), grpc.StaticConnWindowSize(connWindowBytes))
	if err != nil {
		return err
	}
	r.serve(server, r.secured.grpc.Patient(r.listeners.grpc), r.config.StopGrace)
	return nil
}

// meteredCredentials have the frames of every connection watched, as they are behind its handshake.
type meteredCredentials struct {
	credentials.TransportCredentials
	meter *frames.Meter
}

// ServerHandshake makes a connection's handshake.
func (m meteredCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := m.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	metered := m.meter.Wrap(conn)
	if secured, ok := info.(certs.Info); ok {
		context.AfterFunc(secured.Valid(), metered.Leave)
	}
	return metered, gate.WithAnswers(info, metered), nil
}

// Clone copies the credentials.
func (m meteredCredentials) Clone() credentials.TransportCredentials {
	return meteredCredentials{TransportCredentials: m.TransportCredentials.Clone(), meter: m.meter}
}

// serveInProcess serves the gateway, and returns its connection.
func (r *running) serveInProcess() (*grpc.ClientConn, error) {
	server, err := r.newGRPC(inProcessStreams)
	if err != nil {
		return nil, err
	}
	listener := bufconn.Listen(inProcessBytes)
	r.serve(server, listener, 0)
	conn, err := grpc.NewClient("passthrough:///in-process",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(inProcessAnswerMax)),
		grpc.WithUnaryInterceptor(r.rooms.Inside),
	)
	if err != nil {
		return nil, err
	}
	r.stack.push(conn.Close)
	return conn, nil
}

// serveREST serves HTTP.
func (r *running) serveREST(ctx context.Context, conn *grpc.ClientConn) error {
	options := r.restOptions()
	options.Conn, options.Ready, options.Gatherer, options.Version = conn, r.readiness, r.config.Registry, r.config.Version
	options.Watches = r.gate.WatchHTTP
	handler, err := rest.New(options) //nolint:contextcheck // The gateway's clients live as long as conn.
	if err != nil {
		return err
	}
	r.serveHTTP(ctx, r.secured.http.Listener(r.listeners.http), handler)
	return nil
}

// restOptions are what all HTTP listeners for clients share.
func (r *running) restOptions() rest.Options {
	return rest.Options{
		AllowedOrigins:  r.config.AllowedOrigins,
		AllowedHosts:    r.config.httpHosts(),
		Certified:       r.secured.covers,
		RequestBytesMax: int64(r.config.RequestBytesMax),
		Callers:         r.rooms.Callers,
		Intake:          r.rooms.Intake,
		Answers:         r.rooms.Answers,
		Log:             r.log,
	}
}

// serveConsul serves Consul's HTTP, if asked to, on a listener of its own, with TLS as REST.
func (r *running) serveConsul(ctx context.Context, conn *grpc.ClientConn) error {
	if r.config.ConsulAddr == "" {
		return nil
	}
	listener, err := r.config.Listen(ctx, r.config.ConsulAddr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", r.config.ConsulAddr, err)
	}
	r.addresses.Consul = listener.Addr().String()
	handler, err := r.config.Consul(conn)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	listener = gate.Listener{Listener: listener, Callers: r.rooms.Callers, Pool: r.rooms.Connections}
	r.serveHTTP(ctx, r.secured.http.Listener(listener), rest.NewBeside(r.restOptions(), gate.Certified(handler)))
	return nil
}

// serveHTTP serves a handler until what was made before is to be undone.
func (r *running) serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := rest.Serve(life, listener, handler, r.config.StopGrace, r.log)
		if err != nil {
			r.fail(err)
		}
		ended <- err
	}()
	r.stack.push(func() error { stop(); return <-ended })
}

// readiness runs the checks of /readyz.
func (r *running) readiness(ctx context.Context) []rest.ReadyCheck {
	stopping := rest.ReadyCheck{Name: "running"}
	if r.stopping.Err() != nil {
		stopping.Err = reason.ErrStopping
	}
	leader := rest.ReadyCheck{Name: "leader"}
	if r.node.Status().Leader == 0 {
		leader.Err = errors.New("no leader is known")
	}
	reads := rest.ReadyCheck{Name: "reads"}
	if err := r.node.ReadIndex(ctx); err != nil {
		reads.Err = fmt.Errorf("no linearizable reads: %w", err)
	}
	return []rest.ReadyCheck{stopping, leader, reads}
}
