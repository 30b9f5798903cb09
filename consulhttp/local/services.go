package local

import (
	"context"
	"net/http"
	"strconv"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/body"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Texts about services that the agent does not have.
const (
	textNoService      = "Unknown service ID %q. Ensure that the service ID is passed, not the service name."
	textMissingService = "Missing service ID"
)

// agentServiceJSON is an instance as an agent shows it.
type agentServiceJSON struct {
	*wire.Service
	Datacenter string
}

// instances returns what the agent registers.
func (a *agentEndpoints) instances(ctx context.Context) ([]*tenurev1.AgentServiceInstance, error) {
	list, err := a.agent.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{})
	return list.GetServices(), err
}

// instance returns an instance by its id; nil if the agent has none.
func (a *agentEndpoints) instance(ctx context.Context, id string) (*tenurev1.AgentServiceInstance, error) {
	all, err := a.instances(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.GetService().GetServiceId() == id {
			return i, nil
		}
	}
	return nil, nil
}

func (a *agentEndpoints) shown(i *tenurev1.AgentServiceInstance) agentServiceJSON {
	return agentServiceJSON{Service: wire.ServiceOf(i.GetService()), Datacenter: a.datacenter}
}

// services serves GET /v1/agent/services.
func (a *agentEndpoints) services(ctx context.Context, _ *ask.Request) (*reply.Answer, error) {
	all, err := a.instances(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]agentServiceJSON{}
	for _, i := range all {
		out[i.GetService().GetServiceId()] = a.shown(i)
	}
	return &reply.Answer{JSON: out}, nil
}

// service serves GET /v1/agent/service/ID.
func (a *agentEndpoints) service(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	switch {
	case q.Rest == "":
		return nil, reply.Refusal(http.StatusBadRequest, textMissingService)
	case q.Text("hash") != "":
		return nil, reply.Refusal(http.StatusBadRequest, "Parameter hash is not supported; wait for changes with health/service.")
	}
	i, err := a.instance(ctx, q.Rest)
	switch {
	case err != nil:
		return nil, err
	case i == nil:
		return nil, reply.Refusal(http.StatusNotFound, "unknown service ID: %s", reply.Shown(q.Rest))
	default:
		return &reply.Answer{JSON: a.shown(i)}, nil
	}
}

// registerService serves PUT /v1/agent/service/register.
func (a *agentEndpoints) registerService(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	var body body.Service
	if err := decode(q, &body); err != nil {
		return nil, err
	}
	r, err := body.Message()
	if err != nil {
		return nil, err
	}
	r.ReplaceChecks = q.Has("replace-existing-checks")
	if _, err := a.agent.AddAgentService(ctx, r); err != nil {
		return nil, err
	}
	return a.changed(ctx)
}

// deregisterService serves PUT /v1/agent/service/deregister/ID.
func (a *agentEndpoints) deregisterService(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, textMissingService)
	}
	removed, err := a.agent.RemoveAgentService(ctx, &tenurev1.RemoveAgentServiceRequest{ServiceId: q.Rest})
	switch {
	case err != nil:
		return nil, err
	case !removed.GetRemoved():
		return nil, reply.Refusal(http.StatusNotFound, textNoService, reply.Shown(q.Rest))
	default:
		return a.changed(ctx)
	}
}

// nodeMaintenance serves PUT /v1/agent/maintenance.
func (a *agentEndpoints) nodeMaintenance(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	return a.maintenance(ctx, q, "")
}

// serviceMaintenance serves PUT /v1/agent/service/maintenance/ID.
func (a *agentEndpoints) serviceMaintenance(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, textMissingService)
	}
	return a.maintenance(ctx, q, q.Rest)
}

func (a *agentEndpoints) maintenance(ctx context.Context, q *ask.Request, service string) (*reply.Answer, error) {
	enable, err := strconv.ParseBool(q.Text("enable"))
	if err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing value for enable: it must be true or false.")
	}
	_, err = a.agent.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{ServiceId: service, Enabled: enable, Reason: q.Text("reason")})
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND:
		return nil, reply.Refusal(http.StatusNotFound, textNoService, reply.Shown(service))
	case err != nil:
		return nil, err
	default:
		return a.changed(ctx)
	}
}
