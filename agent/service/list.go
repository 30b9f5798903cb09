package service

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// ListAgentServices lists the instances that the agent registers.
func (s *Service) ListAgentServices(
	context.Context, *tenurev1.ListAgentServicesRequest,
) (*tenurev1.ListAgentServicesResponse, error) {
	services, checks := s.options.Registry.Rows()
	state := s.options.Sync()
	node, own := check.Passing, map[string]check.Status{}
	for _, c := range checks {
		if id := c.Definition.ServiceID; id == "" {
			node = check.Worst(node, c.State.Status)
		} else {
			own[id] = check.Worst(own[id], c.State.Status)
		}
	}
	response := &tenurev1.ListAgentServicesResponse{Header: s.options.Header()}
	for _, of := range services {
		source, _ := s.options.Registry.Source(of.ID)
		m := message.Service(of)
		m.Node = s.options.Self.Node
		response.Services = append(response.Services, &tenurev1.AgentServiceInstance{
			Service: m, Source: sourceOf(source), InSync: !state.OutOfSync[antientropy.ServiceKey(of.ID)],
			Status: message.Status(check.Worst(node, own[of.ID])),
		})
	}
	return response, nil
}

// ListAgentChecks lists the checks that the agent runs.
func (s *Service) ListAgentChecks(
	_ context.Context, r *tenurev1.ListAgentChecksRequest,
) (*tenurev1.ListAgentChecksResponse, error) {
	only, known := message.ToStatus(r.GetStatus())
	if !known {
		return nil, reason.Invalid("status", "is not a status")
	}
	_, checks := s.options.Registry.Rows()
	state := s.options.Sync()
	response := &tenurev1.ListAgentChecksResponse{Header: s.options.Header()}
	for _, c := range checks {
		if (only != check.Unset && c.State.Status != only) ||
			(r.GetServiceId() != "" && c.Definition.ServiceID != r.GetServiceId()) {
			continue
		}
		response.Checks = append(response.Checks, s.check(c, state))
	}
	return response, nil
}

// check returns a check as a message. Values of headers and bodies of requests may hold secrets, and are left out.
func (s *Service) check(c registry.Check, state antientropy.State) *tenurev1.AgentCheck {
	m := message.Check(c.Definition, c.State)
	m.Node = s.options.Self.Node
	response := &tenurev1.AgentCheck{
		Check: m, Source: sourceOf(c.Source), InSync: !state.OutOfSync[antientropy.CheckKey(c.Definition.ID)],
	}
	if _, is := c.Definition.Kind.(check.Maintenance); is {
		response.Source = tenurev1.AgentSource_AGENT_SOURCE_AGENT
	}
	if last, found := s.lastRun(c.Definition.ID); found {
		response.LastRunTime = timestamppb.New(last.at)
		response.LastRunDuration = durationpb.New(last.took)
	}
	return response
}

func sourceOf(s registry.Source) tenurev1.AgentSource {
	if s == registry.File {
		return tenurev1.AgentSource_AGENT_SOURCE_FILE
	}
	return tenurev1.AgentSource_AGENT_SOURCE_API
}
