package gate

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// healthPollInterval is how often a watch of the health service looks again.
const healthPollInterval = time.Second

// Health is gRPC's standard health service. The member serves while it knows a leader and has applied what that leader
// began its term with; the empty name and those of all services mean the same.
type Health struct {
	healthpb.UnimplementedHealthServer
	// ready reports whether the member can serve reads and writes, as far as it knows without asking.
	ready    func() bool
	stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	services map[string]bool // read only once the server runs
}

// NewHealth returns the service of a member that is ready while ready says so, until stopping ends.
func NewHealth(stopping context.Context, ready func() bool) *Health {
	return &Health{ready: ready, stopping: stopping, services: map[string]bool{"": true}}
}

// Know adds a service that is served, before the server runs.
func (h *Health) Know(service string) { h.services[service] = true }

// serving returns the state of a service.
func (h *Health) serving(service string) healthpb.HealthCheckResponse_ServingStatus {
	switch {
	case !h.services[service]:
		return healthpb.HealthCheckResponse_SERVICE_UNKNOWN
	case h.stopping.Err() != nil || !h.ready():
		return healthpb.HealthCheckResponse_NOT_SERVING
	default:
		return healthpb.HealthCheckResponse_SERVING
	}
}

// Check tells the state of a service.
func (h *Health) Check(_ context.Context, r *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s := h.serving(r.GetService())
	if s == healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
		e := reason.New(tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND, "service %q does not exist", r.GetService())
		e.Code = codes.NotFound // as this protocol has it
		return nil, e
	}
	return &healthpb.HealthCheckResponse{Status: s}, nil
}

// List tells the state of all services.
func (h *Health) List(context.Context, *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	statuses := make(map[string]*healthpb.HealthCheckResponse, len(h.services))
	for service := range h.services {
		statuses[service] = &healthpb.HealthCheckResponse{Status: h.serving(service)}
	}
	return &healthpb.HealthListResponse{Statuses: statuses}, nil
}

// Watch tells the state of a service now, and whenever it changes.
func (h *Health) Watch(r *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	tick := time.NewTicker(healthPollInterval)
	defer tick.Stop()
	last := healthpb.HealthCheckResponse_ServingStatus(-1)
	for {
		if s := h.serving(r.GetService()); s != last {
			if err := stream.Send(&healthpb.HealthCheckResponse{Status: s}); err != nil {
				return err
			}
			last = s
		}
		select {
		case <-tick.C:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}
