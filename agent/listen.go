package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/rest"
)

// Limits of what an agent serves.
const (
	connectionsMax = 1_024
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
	var config net.ListenConfig
	rpc, err := config.Listen(ctx, "tcp", a.options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	a.serving.GRPC = rpc.Addr().String()
	stopping, stop := context.WithCancel(context.WithoutCancel(ctx))
	open := []net.Listener{rpc}
	failed := func(err error) (func(context.Context) error, error) {
		stop()
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	rooms, err := gate.NewRooms(gate.Limits{
		CallsMax: callsMax, WaitsMax: callsMax, ConnectionsMax: connectionsMax, IntakeBytesMax: gate.IntakeBytesMaxDefault,
	})
	if err != nil {
		return failed(err)
	}
	server, err := a.newGRPC(stopping, rooms)
	if err != nil {
		return failed(err)
	}
	var web, consul net.Listener
	var webHandler, consulHandler http.Handler
	for _, of := range []struct {
		address string
		l       *net.Listener
		serving *string
	}{{a.options.HTTP, &web, &a.serving.HTTP}, {a.options.Consul, &consul, &a.serving.Consul}} {
		if of.address == "" {
			continue
		}
		if *of.l, err = config.Listen(ctx, "tcp", of.address); err != nil {
			return failed(fmt.Errorf("listen: %w", err))
		}
		open = append(open, *of.l)
		*of.serving = (*of.l).Addr().String()
	}
	options := rest.Options{
		Conn: within{a.service}, RequestBytesMax: requestBytesMax, Callers: rooms.Callers, Intake: rooms.Intake, Answers: rooms.Answers,
		Log: a.options.Logger,
	}
	if webHandler, err = a.newHTTP(options); err != nil { //nolint:contextcheck // The clients of the gateway live as long as the agent.
		return failed(err)
	}
	if consul != nil {
		if consulHandler, err = a.options.NewConsul(a.LocalFor(a.options.Decide)); err != nil {
			return failed(err)
		}
	}
	return func(ctx context.Context) error {
		defer stop()
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error {
			return serveGRPC(ctx, stop, server, netutil.LimitListener(rpc, connectionsMax), a.options.StopGrace)
		})
		if web != nil {
			g.Go(func() error {
				return rest.Serve(ctx, netutil.LimitListener(web, connectionsMax), webHandler, a.options.StopGrace, a.options.Logger)
			})
		}
		if consul != nil {
			g.Go(func() error {
				l := gate.Listener{Listener: consul, Callers: rooms.Callers, Pool: share.NewPool(consulConnectionsMax)}
				return rest.Serve(ctx, l, rest.NewBeside(options, consulHandler), a.options.StopGrace, a.options.Logger)
			})
		}
		return g.Wait()
	}, nil
}

// newGRPC returns the server with AgentService.
func (a *Agent) newGRPC(stopping context.Context, rooms *gate.Rooms) (*grpc.Server, error) {
	g, err := gate.New(gate.Options{
		Logger: a.options.Logger, Registerer: a.options.Registry, RequestBytesMax: requestBytesMax, Stopping: stopping, Rooms: rooms,
	})
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(
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
