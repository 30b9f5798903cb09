package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// reasonBytesMax is how long the reason of maintenance may be.
const reasonBytesMax = 1_024

// Self is what the agent is.
type Self struct {
	Node    string
	NodeID  string
	Version string
	Started time.Time
}

// Options say what a Service needs.
type Options struct {
	Self     Self
	Registry *registry.Registry
	// Save makes durable what calls registered.
	Save func() error
	// Reload reads the files again, and returns what they have.
	Reload func() (registry.Content, error)
	// Sync returns how the catalog compares with the agent, and Brief the same without OutOfSync, which costs the same however much there is.
	Sync, Brief func() antientropy.State
	// Boot returns the number of the agent's start.
	Boot func() uint64
	// Leave leaves the pool and stops the agent; an error: it takes no part in gossip, or not yet.
	Leave func(context.Context) error
	// Gossip returns where the agent takes part in gossip; empty: it does not.
	Gossip func() string
	// Header returns the cluster and the member that the agent is connected to.
	Header func() *tenurev1.ResponseHeader
}

// Service is AgentService.
type Service struct {
	tenurev1.UnimplementedAgentServiceServer
	options Options

	// mu guards runs, the last run of each check.
	mu   sync.Mutex
	runs map[string]run
}

// run is when a check was last run or reported, and how long that took.
type run struct {
	at   time.Time
	took time.Duration
}

// New returns a Service.
func New(options Options) *Service { return &Service{options: options, runs: map[string]run{}} }

// Ran notes a run of a check, or a report.
func (s *Service) Ran(id string, at time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) >= 2*registry.ChecksMax {
		// Most are of checks that have gone.
		clear(s.runs)
	}
	s.runs[id] = run{at: at, took: took}
}

func (s *Service) lastRun(id string) (run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.runs[id]
	return r, found
}

// GetAgent returns what the agent is and how it does.
func (s *Service) GetAgent(context.Context, *tenurev1.GetAgentRequest) (*tenurev1.GetAgentResponse, error) {
	services, checks := s.options.Registry.Size()
	_, none := s.options.Registry.Check(check.MaintenancePrefix)
	state := s.options.Brief()
	response := &tenurev1.GetAgentResponse{
		Header: s.options.Header(), Node: s.options.Self.Node, NodeId: s.options.Self.NodeID, Version: s.options.Self.Version,
		Boot: s.options.Boot(), StartTime: timestamppb.New(s.options.Self.Started),
		Services: uint32(services), Checks: uint32(checks), Maintenance: none == nil, OutOfSync: uint32(state.Missing),
		GossipAddress: s.options.Gossip(),
	}
	if !state.LastTime.IsZero() {
		response.LastSyncTime = timestamppb.New(state.LastTime)
	}
	if state.Err != nil {
		response.LastSyncError = check.Cut(state.Err.Error())
	}
	return response, nil
}

// AddAgentService registers an instance of a service, with checks.
func (s *Service) AddAgentService(
	_ context.Context, r *tenurev1.AddAgentServiceRequest,
) (*tenurev1.AddAgentServiceResponse, error) {
	of := message.ToService(r.GetService()).WithDefaults()
	addition := registry.Addition{Source: registry.API, Replace: r.GetReplaceChecks()}
	addition.Services = []registry.Service{of}
	for i, m := range r.GetChecks() {
		field := fmt.Sprintf("checks[%d]", i)
		if id := m.GetServiceId(); id != "" && id != of.ID {
			return nil, reason.Invalid(field+".service_id", "is %q; leave it out, or give the id of the instance", id)
		}
		d, err := definitionOf(field+".", m)
		if err != nil {
			return nil, err
		}
		d.ServiceID = of.ID
		addition.Checks = append(addition.Checks, d)
	}
	if err := s.add(addition); err != nil {
		return nil, err
	}
	return &tenurev1.AddAgentServiceResponse{Header: s.options.Header(), ServiceId: of.ID}, nil
}

// AddAgentCheck registers a check of the node or of an instance.
func (s *Service) AddAgentCheck(_ context.Context, r *tenurev1.AddAgentCheckRequest) (*tenurev1.AddAgentCheckResponse, error) {
	d, err := definitionOf("check.", r.GetCheck())
	if err != nil {
		return nil, err
	}
	addition := registry.Addition{Source: registry.API}
	addition.Checks = []check.Definition{d}
	if err := s.add(addition); err != nil {
		return nil, err
	}
	return &tenurev1.AddAgentCheckResponse{Header: s.options.Header(), CheckId: d.ID}, nil
}

// definitionOf returns the definition in a message, or what is wrong with the message.
func definitionOf(prefix string, m *tenurev1.Check) (check.Definition, error) {
	d, violations := message.ToDefinition(m)
	if d.Kind == nil {
		violations = append(violations, check.Violation{Field: "definition", Problem: "is missing, or has no kind"})
	}
	if len(violations) > 0 {
		return check.Definition{}, invalid(prefix, violations)
	}
	return d, nil
}

func (s *Service) add(a registry.Addition) error {
	if err := s.options.Registry.Add(a); err != nil {
		return refusal(err)
	}
	return s.options.Save()
}

// RemoveAgentService deregisters an instance and its checks.
func (s *Service) RemoveAgentService(
	_ context.Context, r *tenurev1.RemoveAgentServiceRequest,
) (*tenurev1.RemoveAgentServiceResponse, error) {
	if r.GetServiceId() == "" {
		return nil, reason.Invalid("service_id", "is missing")
	}
	removed, err := s.options.Registry.RemoveService(r.GetServiceId())
	if err = errors.Join(refusal(err), s.options.Save()); err != nil {
		return nil, err
	}
	return &tenurev1.RemoveAgentServiceResponse{Header: s.options.Header(), Removed: removed}, nil
}

// RemoveAgentCheck deregisters a check.
func (s *Service) RemoveAgentCheck(
	_ context.Context, r *tenurev1.RemoveAgentCheckRequest,
) (*tenurev1.RemoveAgentCheckResponse, error) {
	if r.GetCheckId() == "" {
		return nil, reason.Invalid("check_id", "is missing")
	}
	removed, err := s.options.Registry.RemoveCheck(r.GetCheckId())
	if err = errors.Join(refusal(err), s.options.Save()); err != nil {
		return nil, err
	}
	return &tenurev1.RemoveAgentCheckResponse{Header: s.options.Header(), Removed: removed}, nil
}

// ReportCheck reports the status of a check of the kind ttl.
func (s *Service) ReportCheck(_ context.Context, r *tenurev1.ReportCheckRequest) (*tenurev1.ReportCheckResponse, error) {
	status, known := message.ToStatus(r.GetStatus())
	switch {
	case r.GetCheckId() == "":
		return nil, reason.Invalid("check_id", "is missing")
	case !known:
		return nil, reason.Invalid("status", "is not a status")
	case status == check.Unset:
		status = check.Passing
	}
	if err := s.options.Registry.Report(r.GetCheckId(), check.Result{Status: status, Output: r.GetOutput()}); err != nil {
		return nil, refusal(err)
	}
	s.Ran(r.GetCheckId(), time.Now(), 0)
	return &tenurev1.ReportCheckResponse{Header: s.options.Header()}, nil
}

// SetMaintenance adds or removes the critical check that takes the node or an instance out of use.
func (s *Service) SetMaintenance(_ context.Context, r *tenurev1.SetMaintenanceRequest) (*tenurev1.SetMaintenanceResponse, error) {
	if n := len(r.GetReason()); n > reasonBytesMax {
		return nil, reason.Invalid("reason", "is %d bytes long; the limit is %d", n, reasonBytesMax)
	}
	if err := s.options.Registry.SetMaintenance(r.GetServiceId(), r.GetEnabled(), r.GetReason()); err != nil {
		return nil, refusal(err)
	}
	if err := s.options.Save(); err != nil {
		return nil, err
	}
	id := check.MaintenancePrefix
	if r.GetServiceId() != "" {
		id += ":" + r.GetServiceId()
	}
	return &tenurev1.SetMaintenanceResponse{Header: s.options.Header(), CheckId: id}, nil
}

// ReloadAgent reads the agent's files again.
func (s *Service) ReloadAgent(context.Context, *tenurev1.ReloadAgentRequest) (*tenurev1.ReloadAgentResponse, error) {
	content, err := s.options.Reload()
	if err != nil {
		return nil, refusal(err)
	}
	return &tenurev1.ReloadAgentResponse{
		Header: s.options.Header(), Services: uint32(len(content.Services)), Checks: uint32(len(content.Checks)),
	}, nil
}

// LeaveAgent leaves the pool and stops the agent.
func (s *Service) LeaveAgent(ctx context.Context, _ *tenurev1.LeaveAgentRequest) (*tenurev1.LeaveAgentResponse, error) {
	if err := s.options.Leave(ctx); err != nil {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "%v", err)
	}
	return &tenurev1.LeaveAgentResponse{Header: s.options.Header()}, nil
}
