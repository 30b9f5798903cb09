package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fieldOf returns the field that an error names.
func fieldOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.GetFieldViolations()) > 0 {
			return bad.GetFieldViolations()[0].GetField()
		}
	}
	return ""
}

// pairsOf returns n pairs.
func pairsOf(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = ""
	}
	return m
}

// TestBadRegistrationsAreRefusedByField registers what is out of bounds, field by field: each is refused by name, and nothing changes.
func TestBadRegistrationsAreRefusedByField(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n+1) }
	node := func(set func(*tenurev1.Node)) *tenurev1.RegisterNodeRequest {
		r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "web2"}}
		set(r.GetNode())
		return r
	}
	service := func(set func(*tenurev1.Service)) *tenurev1.RegisterNodeRequest {
		s := &tenurev1.Service{Name: "web"}
		set(s)
		return &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "web2"}, Services: []*tenurev1.Service{s}}
	}
	check := func(set func(*tenurev1.Check)) *tenurev1.RegisterNodeRequest {
		k := &tenurev1.Check{Name: "up"}
		set(k)
		return &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "web2"}, Checks: []*tenurev1.Check{k}}
	}
	many := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "web2"}}
	for i := range 128 {
		many.Services = append(many.Services, &tenurev1.Service{Name: fmt.Sprint(i)})
	}
	tests := []struct {
		name, field string
		request     *tenurev1.RegisterNodeRequest
	}{
		{"no node", "node", &tenurev1.RegisterNodeRequest{}},
		{"no name", "node.name", node(func(n *tenurev1.Node) { n.Name = "" })},
		{"a long name", "node.name", node(func(n *tenurev1.Node) { n.Name = long(253) })},
		{"a name with a slash", "node.name", node(func(n *tenurev1.Node) { n.Name = "a/b" })},
		{"a name that is not ASCII", "node.name", node(func(n *tenurev1.Node) { n.Name = "wéb" })},
		{"an id that is none", "node.node_id", node(func(n *tenurev1.Node) { n.NodeId = "1" })},
		{"a long address", "node.address", node(func(n *tenurev1.Node) { n.Address = long(255) })},
		{"an address of two lines", "node.address", node(func(n *tenurev1.Node) { n.Address = "a\nb" })},
		{"a long gossip address", "node.gossip_address", node(func(n *tenurev1.Node) { n.GossipAddress = long(512) })},
		{"a long zone", "node.zone", node(func(n *tenurev1.Node) { n.Zone = long(128) })},
		{"many tagged addresses", "node.tagged_addresses", node(func(n *tenurev1.Node) { n.TaggedAddresses = pairsOf(17) })},
		{"a tagged address without name", "node.tagged_addresses", node(func(n *tenurev1.Node) { n.TaggedAddresses = map[string]string{"": "a"} })},
		{"many facts", "node.meta", node(func(n *tenurev1.Node) { n.Meta = pairsOf(65) })},
		{"a fact with a long name", "node.meta", node(func(n *tenurev1.Node) { n.Meta = map[string]string{long(128): ""} })},
		{"a long fact", "node.meta", node(func(n *tenurev1.Node) { n.Meta = map[string]string{"a": long(512)} })},
		{"too many entries", "services", many},
		{"a service of another node", "services[0].node", service(func(s *tenurev1.Service) { s.Node = "web3" })},
		{"a service without name", "services[0].service_id", service(func(s *tenurev1.Service) { s.Name = "" })},
		{"a service with an id alone", "services[0].name", service(func(s *tenurev1.Service) { s.Name, s.ServiceId = "", "a" })},
		{"a service with a long id", "services[0].service_id", service(func(s *tenurev1.Service) { s.ServiceId = long(255) })},
		{"a service with a long name", "services[0].name", service(func(s *tenurev1.Service) { s.Name, s.ServiceId = long(255), "a" })},
		{"a service with a control character", "services[0].service_id", service(func(s *tenurev1.Service) { s.ServiceId = "a\x00b" })},
		{"many tags", "services[0].tags", service(func(s *tenurev1.Service) { s.Tags = strings.Split(long(64), "") })},
		{"a tag twice", "services[0].tags", service(func(s *tenurev1.Service) { s.Tags = []string{"a", "b", "a"} })},
		{"an empty tag", "services[0].tags", service(func(s *tenurev1.Service) { s.Tags = []string{""} })},
		{"a long address of a service", "services[0].address", service(func(s *tenurev1.Service) { s.Address = long(255) })},
		{"a port that is none", "services[0].port", service(func(s *tenurev1.Service) { s.Port = 65_536 })},
		{"a weight too high", "services[0].weights", service(func(s *tenurev1.Service) { s.Weights = &tenurev1.ServiceWeights{Passing: 1, Warning: 65_536} })},
		{"many facts of a service", "services[0].meta", service(func(s *tenurev1.Service) { s.Meta = pairsOf(65) })},
		{"a check of another node", "checks[0].node", check(func(k *tenurev1.Check) { k.Node = "web3" })},
		{"a check without name", "checks[0].check_id", check(func(k *tenurev1.Check) { k.Name = "" })},
		{"a check with a long id", "checks[0].check_id", check(func(k *tenurev1.Check) { k.CheckId = long(255) })},
		{"a check with a long name", "checks[0].name", check(func(k *tenurev1.Check) { k.CheckId, k.Name = "a", long(255) })},
		{"a check that Consul makes", "checks[0].check_id", check(func(k *tenurev1.Check) { k.CheckId = "serfHealth" })},
		{"liveness of a service", "checks[0].check_id", check(func(k *tenurev1.Check) { k.CheckId, k.ServiceId = "liveness", "web" })},
		{"a check with a long service", "checks[0].service_id", check(func(k *tenurev1.Check) { k.ServiceId = long(255) })},
		{"a status that is none", "checks[0].status", check(func(k *tenurev1.Check) { k.Status = 4 })},
		{"long notes", "checks[0].notes", check(func(k *tenurev1.Check) { k.Notes = long(4_096) })},
		{"a long kind", "checks[0].kind", check(func(k *tenurev1.Check) { k.Kind = long(64) })},
		{"a long definition", "checks[0].definition", check(func(k *tenurev1.Check) {
			k.Definition = &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: long(16 << 10)}}}
		})},
	}
	m := start(t)
	registered := m.register(t, "web1", "")
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := m.catalog().RegisterNode(t.Context(), tc.request)
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			if got := fieldOf(err); got != tc.field {
				t.Errorf("the error names %q, want %q: %v", got, tc.field, err)
			}
		})
	}
	_, err := m.catalog().RegisterNode(t.Context(), check(func(k *tenurev1.Check) { k.ServiceId = "none" }))
	wantError(t, err, codes.NotFound, "SERVICE_NOT_FOUND")
	nodes, err := m.catalog().ListNodes(t.Context(), &tenurev1.ListNodesRequest{})
	if err != nil || len(nodes.GetNodes()) != 1 || nodes.GetNodes()[0].GetModRevision() != registered.GetHeader().GetRevision() {
		t.Errorf("got %v, %v, want the one node of before", nodes, err)
	}
}

// TestBadCatalogCallsAreRefusedByField makes the other calls with what is out of bounds.
func TestBadCatalogCallsAreRefusedByField(t *testing.T) {
	m := start(t)
	c, ctx := m.catalog(), t.Context()
	m.register(t, "web1", "web", &tenurev1.Check{Name: "up"})
	const id = "11111111-1111-4111-8111-111111111111"
	number := &tenurev1.SyncNumber{Boot: 1, Number: 1}
	tests := []struct {
		name, field string
		call        func() error
	}{
		{"a check without status", "status", func() error {
			return result(c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{Node: "web1", CheckId: "up"}))
		}},
		{"a check with a status that is none", "status", func() error {
			return result(c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{Node: "web1", CheckId: "up", Status: -1}))
		}},
		{"a check without node", "node", func() error {
			return result(c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{CheckId: "up", Status: passing}))
		}},
		{"a check without id", "check_id", func() error {
			return result(c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{Node: "web1", Status: passing}))
		}},
		{"a node without name", "node", func() error { return result(c.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{})) }},
		{"a node with an id that is none", "if_node_id", func() error {
			return result(c.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{Node: "web1", IfNodeId: "x"}))
		}},
		{"a service without id", "service_id", func() error {
			return result(c.DeregisterService(ctx, &tenurev1.DeregisterServiceRequest{Node: "web1"}))
		}},
		{"a check to deregister without id", "check_id", func() error {
			return result(c.DeregisterCheck(ctx, &tenurev1.DeregisterCheckRequest{Node: "web1"}))
		}},
		{"no node to get", "node", func() error { return result(c.GetNode(ctx, &tenurev1.GetNodeRequest{})) }},
		{"a page of too many", "page_size", func() error { return result(c.ListNodes(ctx, &tenurev1.ListNodesRequest{PageSize: 1001})) }},
		{"instances of nothing", "service", func() error { return result(c.ListInstances(ctx, &tenurev1.ListInstancesRequest{})) }},
		{"checks with a status that is none", "status", func() error { return result(c.ListChecks(ctx, &tenurev1.ListChecksRequest{Status: 9})) }},
		{"a sync without id", "node_id", func() error { return result(c.SyncNode(ctx, &tenurev1.SyncNodeRequest{Sync: number})) }},
		{"a sync without number", "sync", func() error { return result(c.SyncNode(ctx, &tenurev1.SyncNodeRequest{NodeId: id})) }},
		{"a sync of another node", "node.node_id", func() error {
			return result(c.SyncNode(ctx, &tenurev1.SyncNodeRequest{
				NodeId: id, Sync: number, Node: &tenurev1.Node{Name: "a", NodeId: "11111111-1111-4111-8111-111111111112"},
			}))
		}},
		{"a sync that deletes nothing", "delete_checks[1]", func() error {
			return result(c.SyncNode(ctx, &tenurev1.SyncNodeRequest{NodeId: id, Sync: number, DeleteChecks: []string{"a", ""}}))
		}},
		{"a sync with liveness", "checks[0].check_id", func() error {
			return result(c.SyncNode(ctx, &tenurev1.SyncNodeRequest{NodeId: id, Sync: number, Checks: []*tenurev1.Check{{CheckId: "liveness"}}}))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			if got := fieldOf(err); got != tc.field {
				t.Errorf("the error names %q, want %q: %v", got, tc.field, err)
			}
		})
	}
	_, err := c.ListNodes(ctx, &tenurev1.ListNodesRequest{PageToken: "x"})
	wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
	_, err = c.UpdateCheck(ctx, &tenurev1.UpdateCheckRequest{Node: "web1", CheckId: "none", Status: passing})
	wantError(t, err, codes.NotFound, "CHECK_NOT_FOUND")
}
