package instances

import (
	"context"
	"maps"
	"slices"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Tags knows the tags of the instances that checks are about.
type Tags struct {
	reader Reader
	of     map[instance][]string
	// services and nodes are those that were read.
	services, nodes map[string]bool
}

// instance names an instance. The name of its node is in lower case.
type instance struct{ node, id string }

// NewTags returns Tags that know nothing yet.
func NewTags(r Reader) *Tags {
	return &Tags{reader: r, of: map[instance][]string{}, services: map[string]bool{}, nodes: map[string]bool{}}
}

// Of returns the tags of the instance that a check is about. Learn was called with the check.
func (t *Tags) Of(k *tenurev1.Check) []string {
	return t.of[instance{strings.ToLower(k.GetNode()), k.GetServiceId()}]
}

// Learn reads the tags for checks.
func (t *Tags) Learn(ctx context.Context, checks []*tenurev1.Check) error {
	nodes, services := Nodes{}, map[string]bool{}
	for _, k := range checks {
		name := strings.ToLower(k.GetNode())
		if k.GetServiceId() != "" && !t.nodes[name] && !t.services[k.GetServiceName()] {
			nodes[name], services[k.GetServiceName()] = true, true
		}
	}
	note := func(s *tenurev1.Service) {
		t.of[instance{strings.ToLower(s.GetNode()), s.GetServiceId()}] = s.GetTags()
	}
	if len(nodes) <= max(AloneMax, len(services)) {
		maps.Copy(t.nodes, nodes)
		return t.reader.byNode(ctx, nodes, note)
	}
	// A service is read once for all checks, also those that follow.
	maps.Copy(t.services, services)
	return t.reader.byService(ctx, slices.Sorted(maps.Keys(services)), note)
}
