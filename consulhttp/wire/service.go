package wire

import (
	"slices"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Weights are the weights of an instance of a service.
type Weights struct {
	Passing uint32
	Warning uint32
}

// Service is an instance of a service on its node.
type Service struct {
	ID                string
	Service           string
	Tags              []string
	Address           string
	Meta              map[string]string
	Port              uint32
	Weights           *Weights
	EnableTagOverride bool
	CreateIndex       uint64
	ModifyIndex       uint64
}

// ServiceOf returns an instance; nil if there is none.
func ServiceOf(s *tenurev1.Service) *Service {
	if s == nil {
		return nil
	}
	return &Service{
		ID: s.GetServiceId(), Service: s.GetName(), Tags: tagsOf(s), Address: s.GetAddress(), Meta: filled(s.GetMeta()), Port: s.GetPort(),
		Weights: weightsOf(s), EnableTagOverride: s.GetTagOverride(), CreateIndex: s.GetCreateRevision(), ModifyIndex: s.GetModRevision(),
	}
}

// Message returns the instance as it is registered. Clients of Consul may name a tag twice.
func (s *Service) Message(node string) *tenurev1.Service {
	out := &tenurev1.Service{
		Node: node, ServiceId: s.ID, Name: s.Service, Address: s.Address, Port: s.Port, Meta: s.Meta, TagOverride: s.EnableTagOverride,
	}
	out.Tags = slices.Compact(slices.Sorted(slices.Values(s.Tags)))
	if s.Weights != nil {
		out.Weights = &tenurev1.ServiceWeights{Passing: s.Weights.Passing, Warning: s.Weights.Warning}
	}
	return out
}

// CatalogService is an instance of a service with its node, as the catalog lists it.
type CatalogService struct {
	ID                       string
	Node                     string
	Address                  string
	Datacenter               string
	TaggedAddresses          map[string]string
	NodeMeta                 map[string]string
	ServiceKind              string
	ServiceID                string
	ServiceName              string
	ServiceTags              []string
	ServiceAddress           string
	ServiceWeights           *Weights
	ServiceMeta              map[string]string
	ServicePort              uint32
	ServiceEnableTagOverride bool
	CreateIndex              uint64
	ModifyIndex              uint64
}

// CatalogServiceOf returns an instance with its node.
func CatalogServiceOf(i *tenurev1.ServiceInstance, datacenter string) *CatalogService {
	n, s := i.GetNode(), i.GetService()
	return &CatalogService{
		ID: n.GetNodeId(), Node: n.GetName(), Address: n.GetAddress(), Datacenter: datacenter,
		TaggedAddresses: filled(n.GetTaggedAddresses()), NodeMeta: filled(n.GetMeta()),
		ServiceID: s.GetServiceId(), ServiceName: s.GetName(), ServiceTags: tagsOf(s), ServiceAddress: s.GetAddress(),
		ServiceWeights: weightsOf(s), ServiceMeta: filled(s.GetMeta()), ServicePort: s.GetPort(),
		ServiceEnableTagOverride: s.GetTagOverride(), CreateIndex: s.GetCreateRevision(), ModifyIndex: s.GetModRevision(),
	}
}

// Health is an instance of a service with what decides about its health.
type Health struct {
	Node    *Node
	Service *Service
	Checks  []*Check
}

// HealthOf returns an instance with its health.
func HealthOf(i *tenurev1.ServiceInstance, datacenter string) *Health {
	out := &Health{Node: NodeOf(i.GetNode(), datacenter), Service: ServiceOf(i.GetService()), Checks: []*Check{}}
	for _, k := range i.GetChecks() {
		var tags []string
		if k.GetServiceId() != "" {
			tags = i.GetService().GetTags()
		}
		out.Checks = append(out.Checks, CheckOf(k, tags))
	}
	return out
}

// tagsOf returns the tags of an instance, [] if it has none.
func tagsOf(s *tenurev1.Service) []string { return append([]string{}, s.GetTags()...) }

// weightsOf returns the weights of an instance.
func weightsOf(s *tenurev1.Service) *Weights {
	return &Weights{Passing: s.GetWeights().GetPassing(), Warning: s.GetWeights().GetWarning()}
}
