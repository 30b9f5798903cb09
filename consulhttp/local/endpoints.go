package local

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// settleMax is how long the answer to a change of the agent waits for the catalog to have it.
const settleMax = time.Second

// Agent is the agent of a machine.
type Agent interface {
	tenurev1.AgentServiceClient
	// Settled waits until the catalog is as the agent has it, or ctx ends.
	Settled(ctx context.Context)
}

// Endpoint is one endpoint.
type Endpoint struct {
	Method string
	// Path follows /v1/. One that ends in a slash has the rest of the request's path as its argument.
	Path  string
	Serve func(ctx context.Context, q *ask.Request) (*reply.Answer, error)
}

// agentEndpoints serve what the agent has.
type agentEndpoints struct {
	agent      Agent
	datacenter string
}

// Endpoints returns the endpoints that serve what an agent has, in a datacenter.
func Endpoints(agent Agent, datacenter string) []Endpoint {
	a := &agentEndpoints{agent: agent, datacenter: datacenter}
	return []Endpoint{
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
func (a *agentEndpoints) changed(ctx context.Context) (*reply.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, settleMax)
	defer cancel()
	a.agent.Settled(ctx)
	return &reply.Answer{}, nil
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
