package local

import (
	"context"
	"net/http"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/body"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// Texts about checks that the agent does not have.
const (
	textNoAgentCheck = "Unknown check ID %q. Ensure that the check ID is passed, not the check name."
	textMissingCheck = "Missing check ID"
)

// ownChecks returns the checks of the agent by what Consul calls them, each with the name and the tags of its service.
func (a *agentEndpoints) ownChecks(ctx context.Context) (map[string]*wire.Check, error) {
	list, err := a.agent.ListAgentChecks(ctx, &tenurev1.ListAgentChecksRequest{})
	if err != nil {
		return nil, err
	}
	instances, err := a.instances(ctx)
	if err != nil {
		return nil, err
	}
	services := map[string]*tenurev1.Service{}
	for _, i := range instances {
		services[i.GetService().GetServiceId()] = i.GetService()
	}
	out := map[string]*wire.Check{}
	for _, k := range list.GetChecks() {
		of := services[k.GetCheck().GetServiceId()]
		shown := wire.CheckOf(k.GetCheck(), of.GetTags())
		shown.ServiceName = of.GetName()
		out[shown.CheckID] = shown
	}
	return out, nil
}

// checks serves GET /v1/agent/checks.
func (a *agentEndpoints) checks(ctx context.Context, _ *ask.Request) (*reply.Answer, error) {
	out, err := a.ownChecks(ctx)
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: out}, nil
}

// registerCheck serves PUT /v1/agent/check/register.
func (a *agentEndpoints) registerCheck(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	var body body.Check
	if err := decode(q, &body); err != nil {
		return nil, err
	}
	if body.Name == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing check name")
	}
	m, err := body.Message("", "")
	if err != nil {
		return nil, err
	}
	_, err = a.agent.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: m})
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND:
		return nil, reply.Refusal(http.StatusNotFound, "ServiceID %q does not exist", reply.Shown(m.GetServiceId()))
	case err != nil:
		return nil, err
	default:
		return a.changed(ctx)
	}
}

// deregisterCheck serves PUT /v1/agent/check/deregister/ID.
func (a *agentEndpoints) deregisterCheck(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	id, err := checkOf(q)
	if err != nil {
		return nil, err
	}
	removed, err := a.agent.RemoveAgentCheck(ctx, &tenurev1.RemoveAgentCheckRequest{CheckId: id})
	switch {
	case err != nil:
		return nil, err
	case !removed.GetRemoved():
		return nil, reply.Refusal(http.StatusNotFound, textNoAgentCheck, reply.Shown(q.Rest))
	default:
		return a.changed(ctx)
	}
}

// checkOf returns the check that a path names.
func checkOf(q *ask.Request) (string, error) {
	if q.Rest == "" {
		return "", reply.Refusal(http.StatusBadRequest, textMissingCheck)
	}
	id, err := wire.CheckID(q.Rest)
	if err != nil {
		return "", reply.Refusal(http.StatusBadRequest, "%v", err)
	}
	return id, nil
}

// report serves PUT /v1/agent/check/pass/ID, warn and fail.
func (a *agentEndpoints) report(as tenurev1.CheckStatus) func(context.Context, *ask.Request) (*reply.Answer, error) {
	return func(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
		return a.reported(ctx, q, as, q.Text("note"))
	}
}

// updateCheck serves PUT /v1/agent/check/update/ID.
func (a *agentEndpoints) updateCheck(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	var body struct{ Status, Output string }
	if err := decode(q, &body); err != nil {
		return nil, err
	}
	as, err := wire.Status(body.Status)
	if err != nil || body.Status == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Invalid check status: '%s'", reply.Shown(body.Status))
	}
	return a.reported(ctx, q, as, body.Output)
}

func (a *agentEndpoints) reported(ctx context.Context, q *ask.Request, as tenurev1.CheckStatus, output string) (*reply.Answer, error) {
	id, err := checkOf(q)
	if err != nil {
		return nil, err
	}
	_, err = a.agent.ReportCheck(ctx, &tenurev1.ReportCheckRequest{CheckId: id, Status: as, Output: output})
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND:
		return nil, reply.Refusal(http.StatusNotFound, textNoAgentCheck, reply.Shown(q.Rest))
	case err != nil:
		return nil, err
	default:
		return a.changed(ctx)
	}
}

// agentHealthJSON is an instance with how it is.
type agentHealthJSON struct {
	AggregatedStatus string
	Service          agentServiceJSON
	Checks           []*wire.Check
}

// healthByID serves GET /v1/agent/health/service/id/ID.
func (a *agentEndpoints) healthByID(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, textMissingService)
	}
	found, worst, err := a.health(ctx, func(s *tenurev1.Service) bool { return s.GetServiceId() == q.Rest })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, reply.Refusal(http.StatusNotFound, "ServiceId %s not found", reply.Shown(q.Rest))
	default:
		return healthAnswer(q, worst, found[0]), nil
	}
}

// healthByName serves GET /v1/agent/health/service/name/NAME.
func (a *agentEndpoints) healthByName(ctx context.Context, q *ask.Request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing service Name")
	}
	found, worst, err := a.health(ctx, func(s *tenurev1.Service) bool { return s.GetName() == q.Rest })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, reply.Refusal(http.StatusNotFound, "ServiceName %s Not Found", reply.Shown(q.Rest))
	default:
		return healthAnswer(q, worst, found), nil
	}
}

// health returns the instances that fit with their checks, and the worst status of all.
func (a *agentEndpoints) health(
	ctx context.Context, fits func(*tenurev1.Service) bool,
) (found []agentHealthJSON, worst tenurev1.CheckStatus, _ error) {
	instances, err := a.instances(ctx)
	if err != nil {
		return nil, 0, err
	}
	list, err := a.agent.ListAgentChecks(ctx, &tenurev1.ListAgentChecksRequest{})
	if err != nil {
		return nil, 0, err
	}
	for _, i := range instances {
		if !fits(i.GetService()) {
			continue
		}
		worst = max(worst, i.GetStatus())
		one := agentHealthJSON{AggregatedStatus: wire.StatusName(i.GetStatus()), Service: a.shown(i), Checks: []*wire.Check{}}
		for _, k := range list.GetChecks() {
			switch k.GetCheck().GetServiceId() {
			case "", i.GetService().GetServiceId():
				shown := wire.CheckOf(k.GetCheck(), nil)
				shown.ServiceName = i.GetService().GetName()
				one.Checks = append(one.Checks, shown)
			}
		}
		found = append(found, one)
	}
	return found, worst, nil
}

// healthAnswer answers with a status that load balancers look at.
func healthAnswer(q *ask.Request, worst tenurev1.CheckStatus, body any) *reply.Answer {
	a := &reply.Answer{Status: map[tenurev1.CheckStatus]int{
		tenurev1.CheckStatus_CHECK_STATUS_PASSING: http.StatusOK,
		tenurev1.CheckStatus_CHECK_STATUS_WARNING: http.StatusTooManyRequests,
	}[worst], JSON: body}
	if a.Status == 0 {
		a.Status = http.StatusServiceUnavailable
	}
	if q.Text("format") == "text" {
		a.JSON, a.Text = nil, wire.StatusName(worst)
	}
	return a
}
