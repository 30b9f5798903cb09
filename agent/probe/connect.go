package probe

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/agent/check"
)

// tcp opens a connection.
func (p *Prober) tcp(ctx context.Context, k check.TCP, timeout time.Duration) check.Result {
	what := "TCP " + k.Address
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", k.Address)
	if err != nil {
		return failed(ctx, what, timeout, err)
	}
	_ = connection.Close()
	return passing("%s: connected", what)
}

// grpc asks a health service.
func (p *Prober) grpc(ctx context.Context, k check.GRPC, timeout time.Duration) check.Result {
	what := "gRPC health of " + k.Address
	if k.Service != "" {
		what += " " + k.Service
	}
	transport := insecure.NewCredentials()
	if k.TLS != nil {
		config, err := tlsConfig(*k.TLS)
		if err != nil {
			return critical("%s: %v", what, err)
		}
		transport = credentials.NewTLS(config)
	}
	// The address is taken as it is: no resolver, proxy or service configuration of the environment has a say.
	connection, err := grpc.NewClient("passthrough:///"+k.Address, grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent(p.userAgent), grpc.WithNoProxy(), grpc.WithDisableServiceConfig())
	if err != nil {
		return critical("%s: %v", what, err)
	}
	defer func() { _ = connection.Close() }()
	request := &grpc_health_v1.HealthCheckRequest{Service: k.Service}
	response, err := grpc_health_v1.NewHealthClient(connection).Check(ctx, request)
	if err != nil {
		answer := status.Convert(err)
		return failed(ctx, what, timeout, fmt.Errorf("%s: %s", answer.Code(), answer.Message()))
	}
	if response.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return critical("%s: %s", what, response.GetStatus())
	}
	return passing("%s: %s", what, response.GetStatus())
}
