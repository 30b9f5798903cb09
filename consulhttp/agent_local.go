package consulhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/body"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// settleMax is how long the answer to a change of the agent waits for the catalog to have it.
const settleMax = time.Second

// Texts about what an agent does not have.
const (
	textNoService      = "Unknown service ID %q. Ensure that the service ID is passed, not the service name."
	textNoAgentCheck   = "Unknown check ID %q. Ensure that the check ID is passed, not the check name."
	textMissingService = "Missing service ID"
	textMissingCheck   = "Missing check ID"
)

// localAgent serves what the agent of this machine has.
type localAgent struct {
	agent      Agent
	datacenter string
}

// localEndpoint is an endpoint of the agent of this machine.
type localEndpoint struct {
	method string
	path   string
	serve  func(ctx context.Context, q *ask.Request) (*reply.Answer, error)
}

// endpoints returns all endpoints of the agent.
func (a *localAgent) endpoints() []localEndpoint {
	return []localEndpoint{
		{http.MethodGet, "agent/services", a.services},
		{http.MethodGet, "agent/service/", a.service},
		{http.MethodPut, "agent/service/register", a.registerService},
		{http.MethodPut, "agent/service/deregister/", a.deregisterService},
		{http.MethodPut, "agent/service/maintenance/", a.serviceMaintenance},
		{http.MethodPut, "agent/maintenance", a.nodeMaintenance},
		{http.MethodGet, "agent/checks", a.checks},
		{http.MethodPut, "agent/check/register", a.registerCheck},
		{http.MethodPut, "agent/check/deregister/", a.deregisterCheck},
		{http.MethodPut, "agent/check/pass/", a.report(tenurev1.CheckStatus_CHECK_STATUS_PASSING)},
		{http.MethodPut, "agent/check/warn/", a.report(tenurev1.CheckStatus_CHECK_STATUS_WARNING)},
		{http.MethodPut, "agent/check/fail/", a.report(tenurev1.CheckStatus_CHECK_STATUS_CRITICAL)},
		{http.MethodPut, "agent/check/update/", a.updateCheck},
		{http.MethodGet, "agent/health/service/id/", a.healthByID},
		{http.MethodGet, "agent/health/service/name/", a.healthByName},
	}
}

// changed answers a change of the agent, once the catalog has it or the time for that is up.
func (a *localAgent) changed(ctx context.Context) (*reply.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	a.agent.Settled(ctx)
	return &reply.Answer{}, nil
}

// agentServiceJSON is an instance as an agent shows it.
type agentServiceJSON struct {
	*wire.Service
	Datacenter string
}

// instances returns what the agent registers.
func (a *localAgent) instances(ctx context.Context) ([]*tenurev1.AgentServiceInstance, error) {
	list, err := a.agent.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{})
	return list.GetServices(), err
}

// instance returns an instance by its id; nil if the agent has none.
func (a *localAgent) instance(ctx context.Context, id string) (*tenurev1.AgentServiceInstance, error) {
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

func (a *localAgent) shown(i *tenurev1.AgentServiceInstance) agentServiceJSON {
	return agentServiceJSON{Service: wire.ServiceOf(i.GetService()), Datacenter: a.datacenter}
}

// services serves GET /v1/agent/services.
func (a *localAgent) services(ctx context.Context, _ *ask.Request) (*reply.Answer, error) {
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
func (a *localAgent) service(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
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

// decode decodes the body of a request.
func decode(q *ask.Request, into any) error {
	data, err := q.Content()
	if err != nil {
		return err
	}
	if err = json.Unmarshal(data, into); err != nil {
		return reply.Refusal(http.StatusBadRequest, "Request decode failed: the body must be a JSON object as for Consul.")
	}
	return nil
}

// registerService serves PUT /v1/agent/service/register.
func (a *localAgent) registerService(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
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
func (a *localAgent) deregisterService(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
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
func (a *localAgent) nodeMaintenance(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	return a.maintenance(ctx, q, "")
}

// serviceMaintenance serves PUT /v1/agent/service/maintenance/ID.
func (a *localAgent) serviceMaintenance(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, textMissingService)
	}
	return a.maintenance(ctx, q, q.Rest)
}

func (a *localAgent) maintenance(ctx context.Context, q *ask.Request, service string) (*reply.Answer, error) {
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
