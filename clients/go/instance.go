package tenure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// CheckStatus says how a check of the catalog is.
type CheckStatus int32

// The values of CheckStatus.
const (
	// CheckPassing: all is well.
	CheckPassing = CheckStatus(tenurev1.CheckStatus_CHECK_STATUS_PASSING)
	// CheckWarning: something may be wrong. It ends no session.
	CheckWarning = CheckStatus(tenurev1.CheckStatus_CHECK_STATUS_WARNING)
	// CheckCritical: it does not work. Sessions that are bound to the check end.
	CheckCritical = CheckStatus(tenurev1.CheckStatus_CHECK_STATUS_CRITICAL)
)

// String returns the status in lower case, such as "passing".
func (s CheckStatus) String() string {
	return strings.ToLower(strings.TrimPrefix(tenurev1.CheckStatus(s).String(), "CHECK_STATUS_"))
}

// valid reports whether a check can have the status.
func (s CheckStatus) valid() bool {
	return s == CheckPassing || s == CheckWarning || s == CheckCritical
}

// Instance is an instance of a service in the catalog.
type Instance struct {
	// Service is the name of the service, ID that of the instance, unique on its node.
	Service, ID string
	// Node is the name of its node, and Zone the node's failure domain.
	Node, Zone string
	// Address is where it is reached: its own address or else that of its node. Port may be 0.
	Address string
	Port    int
	// Tags are sorted.
	Tags []string
	Meta map[string]string
	// Status is the worst of its checks and those of its node. In a ServiceList all pass.
	Status CheckStatus
	// Weight is the share of requests that it should get at this status; normally 1.
	Weight int
}

// instance returns an instance as the catalog has it.
func instance(m *tenurev1.ServiceInstance) Instance {
	s := m.GetService()
	i := Instance{
		Service: s.GetName(), ID: s.GetServiceId(), Node: s.GetNode(), Zone: m.GetNode().GetZone(), Address: s.GetAddress(),
		Port: int(s.GetPort()), Tags: s.GetTags(), Meta: s.GetMeta(), Status: CheckStatus(m.GetStatus()), Weight: 1,
	}
	if i.Address == "" {
		i.Address = m.GetNode().GetAddress()
	}
	if weights := s.GetWeights(); weights != nil {
		i.Weight = int(weights.GetPassing())
		if i.Status == CheckWarning {
			i.Weight = int(weights.GetWarning())
		}
	}
	return i
}

// Health is how an instance is, as its program says.
type Health struct {
	Status CheckStatus
	// Output is what to show of it, for people.
	Output string
}

// Service describes an instance of a service that a program registers: see Agent.Register and Client.Register.
type Service struct {
	// Name is the name of the service, the same for all its instances; required.
	Name string
	// ID is unique on the node. The default is Name.
	ID string
	// Node is the name of the node on which Client.Register registers the instance. The default is the name of the host.
	// Agent.Register uses the agent's node, and refuses another one.
	Node string
	// Address is where the instance is reached. The default is the address of the node.
	Address string
	Port    int
	// Tags are at most 64, each once. Meta are facts about it, at most 64.
	Tags []string
	Meta map[string]string
	// TTL is how long the check of the instance stays as it is without a report, at least 1 s. The default is 15 s. The
	// library reports three times as often.
	TTL time.Duration
	// CheckID is the id of its check. The default is "service:" and the ID.
	CheckID string
	// Health, if set, is called before each report, and says how the instance is. It is not called concurrently. If it
	// takes longer than TTL, the check turns critical until it returns. It must return when ctx ends.
	Health func(ctx context.Context) Health
}

// full returns the service with its defaults.
func (s Service) full() (Service, error) {
	if s.Name == "" {
		return s, invalid("the service has no name")
	}
	if s.ID == "" {
		s.ID = s.Name
	}
	if s.CheckID == "" {
		s.CheckID = "service:" + s.ID
	}
	if s.TTL == 0 {
		s.TTL = serviceTTLDefault
	}
	if s.TTL < serviceTTLMin {
		return s, invalid("the TTL of a check is %v; at least %v is needed", s.TTL, serviceTTLMin)
	}
	if s.Port < 0 || s.Port > portMax {
		return s, invalid("the port %d is not one of 0 to %d", s.Port, portMax)
	}
	return s, nil
}

// name returns what nothing else in the catalog is called.
func (s *Service) name() instanceName { return instanceName{node: s.Node, id: s.ID} }

// message returns the instance as the API has it.
func (s *Service) message() *tenurev1.Service {
	return &tenurev1.Service{
		ServiceId: s.ID, Name: s.Name, Address: s.Address, Port: uint32(s.Port), Tags: s.Tags, Meta: s.Meta,
	}
}

// check returns its check as the API has it.
func (s *Service) check(h Health) *tenurev1.Check {
	return &tenurev1.Check{
		CheckId: s.CheckID, Name: fmt.Sprintf("Service %s", s.Name), ServiceId: s.ID, Status: tenurev1.CheckStatus(h.Status), Output: h.Output,
		Kind: "ttl", Definition: &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(s.TTL)}}},
	}
}
