package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/certs"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/rest"
)

// Limits of what an agent serves.
const (
	// connectionsMax is for one port; one caller gets half.
	connectionsMax = 2_048
	// consulConnectionsMax leaves room beside requests that block, of which there may be 32 768, also for one caller, who gets half of both.
	consulConnectionsMax = 40_960
	streamsMax           = 128
	callsMax             = 256
	requestBytesMax      = 4 << 20
	refusedBytesRoom     = 1 << 20 // how much larger a message may be for its refusal to have a reason
	headerBytesMax       = 16 << 10
	connectionTimeout    = 10 * time.Second
	keepaliveTime        = 30 * time.Second
	clientPingEvery      = 5 * time.Second
	requestTimeout       = 30 * time.Second
)

// listen begins to listen. What it returns serves until its context ends.
func (a *Agent) listen(ctx context.Context) (serve func(context.Context) error, err error) {
	rooms, err := gate.NewRooms(gate.Limits{
		CallsMax: callsMax, WaitsMax: callsMax, ConnectionsMax: connectionsMax, IntakeBytesMax: gate.IntakeBytesMaxDefault,
	})
	if err != nil {
		return nil, err
	}
	secured, err := a.secure(rooms.Callers)
	if err != nil {
		return nil, err
	}
	at, err := a.bind(ctx, rooms.Callers)
	if err != nil {
		return nil, err
	}
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	failed := func(err error) (func(context.Context) error, error) {
		stop()
		return nil, errors.Join(err, at.close())
	}
	server, err := a.newGRPC(stopping, rooms, secured.grpc)
	if err != nil {
		return failed(err)
	}
	options := rest.Options{
		Conn: within{a.service}, RequestBytesMax: requestBytesMax, Callers: rooms.Callers, Intake: rooms.Intake, Answers: rooms.Answers,
		Certified: a.covers, Log: a.options.Logger,
	}
	var webHandler, consulHandler http.Handler
	if webHandler, err = a.newHTTP(options); err != nil { //nolint:contextcheck // The clients of the gateway live as long as the agent.
		return failed(err)
	}
	if at.consul != nil {
		if consulHandler, err = a.options.NewConsul(a.LocalFor(a.options.Decide)); err != nil {
			return failed(err)
		}
	}
	return func(ctx context.Context) error {
		defer stop()
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return serveGRPC(ctx, stop, server, secured.grpc.Patient(at.grpc), a.options.StopGrace) })
		serveHTTP := func(l net.Listener, handler http.Handler) {
			g.Go(func() error {
				return rest.Serve(ctx, secured.http.Listener(l), handler, a.options.StopGrace, a.options.Logger)
			})
		}
		if at.http != nil {
			serveHTTP(at.http, webHandler)
		}
		if at.consul != nil {
			serveHTTP(at.consul, rest.NewBeside(options, consulHandler))
		}
		return g.Wait()
	}, nil
}

// ports are where an agent listens; one is nil where nothing is served.
type ports struct{ grpc, http, consul net.Listener }

// bind binds the addresses, all or none.
func (a *Agent) bind(ctx context.Context, callers share.Callers) (*ports, error) {
	at := &ports{}
	var config net.ListenConfig
	for _, of := range []struct {
		address     string
		connections int64
		into        *net.Listener
		serving     *string
	}{
		{a.options.Listen, connectionsMax, &at.grpc, &a.serving.GRPC},
		{a.options.HTTP, connectionsMax, &at.http, &a.serving.HTTP},
		{a.options.Consul, consulConnectionsMax, &at.consul, &a.serving.Consul},
	} {
		if of.address == "" {
			continue
		}
		l, err := config.Listen(ctx, "tcp", of.address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen: %w", err), at.close())
		}
		*of.serving = l.Addr().String()
		*of.into = gate.Listener{Listener: l, Callers: callers, Pool: share.NewPool(of.connections)}
	}
	return at, nil
}

// close gives the addresses back.
func (p *ports) close() (err error) {
	for _, l := range []net.Listener{p.grpc, p.http, p.consul} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// newGRPC returns the server with AgentService.
func (a *Agent) newGRPC(stopping context.Context, rooms *gate.Rooms, secured *certs.Handshaker) (*grpc.Server, error) {
	g, err := gate.New(gate.Options{
		Logger: a.options.Logger, Registerer: a.options.Registry, RequestBytesMax: requestBytesMax, Stopping: stopping, Rooms: rooms,
	})
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(
		grpc.Creds(gate.Leaving(secured.Credentials())),
		grpc.ForceServerCodecV2(gate.NewCodec(requestBytesMax)),
		grpc.UnaryInterceptor(g.Unary),
		grpc.StreamInterceptor(g.Stream),
		grpc.UnknownServiceHandler(gate.UnknownMethod),
		grpc.MaxRecvMsgSize(requestBytesMax+refusedBytesRoom),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.MaxConcurrentStreams(streamsMax),
		grpc.ConnectionTimeout(connectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: connectionTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: clientPingEvery, PermitWithoutStream: true}),
	)
	health := gate.NewHealth(stopping, func() bool { return true })
	tenurev1.RegisterAgentServiceServer(server, a.service)
	healthpb.RegisterHealthServer(server, health)
	for name, info := range server.GetServiceInfo() {
		health.Know(name)
		for _, method := range info.Methods {
			g.Know("/" + name + "/" + method.Name)
		}
	}
	return server, nil
}

// serveGRPC serves calls until ctx ends; those under way may take as long as grace.
func serveGRPC(ctx context.Context, stop func(), server *grpc.Server, l net.Listener, grace time.Duration) error {
	ended := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		defer close(ended)
		stop()
		timer := time.AfterFunc(grace, server.Stop)
		defer timer.Stop()
		server.GracefulStop()
	})
	err := server.Serve(l)
	if !release() {
		<-ended
		return nil
	}
	return fmt.Errorf("serve calls: %w", err)
}

// newHTTP returns what is served over HTTP: REST, metrics and health.
func (a *Agent) newHTTP(o rest.Options) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.options.Registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n")) // a client that has gone away needs no answer
	})
	return rest.NewAgent(o, mux)
}
