package seen_test

import (
	"fmt"
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/seen"
	"github.com/tenure-io/tenure/server/watch"
)

// rightsOf returns those of a caller with some rules.
func rightsOf(t *testing.T, rules string) *authz.Rights {
	t.Helper()
	policy, err := authz.ParsePolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return authz.NewRights("token:a", "", policy)
}

// named returns an event in short.
func named(e *storev1.Event) string {
	at := fmt.Sprintf("%d.%d ", e.GetRevision(), e.GetIndex())
	switch kind := e.GetKind().(type) {
	case *storev1.Event_ServiceDeleted:
		d := kind.ServiceDeleted
		return at + "service deleted " + strings.Join([]string{d.GetNode(), d.GetServiceId(), d.GetName()}, " ")
	case *storev1.Event_CheckDeleted:
		d := kind.CheckDeleted
		return at + "check deleted " + strings.Join([]string{d.GetNode(), d.GetCheckId(), d.GetServiceId(), d.GetServiceName()}, " ")
	case *storev1.Event_QueryDeleted:
		return at + "query deleted " + kind.QueryDeleted.GetName()
	default:
		return at + "as it is"
	}
}

// TestEventsAreShownToWhoSeesThem shows single events of the catalog to callers with few rights.
func TestEventsAreShownToWhoSeesThem(t *testing.T) {
	checkPut := func(p *storev1.CheckPut) *storev1.Event {
		p.Node = "N"
		if p.GetCheck() == nil {
			p.Check = &storev1.Check{CheckId: "c", ServiceId: p.GetServiceName()}
		}
		return &storev1.Event{Kind: &storev1.Event_CheckPut{CheckPut: p}}
	}
	nodePut := func(services ...string) *storev1.Event {
		return &storev1.Event{Kind: &storev1.Event_NodePut{NodePut: &storev1.NodePut{Node: &storev1.Node{Name: "N"}, ServiceNames: services}}}
	}
	servicePut := func(name, previous string) *storev1.Event {
		return &storev1.Event{Kind: &storev1.Event_ServicePut{ServicePut: &storev1.ServicePut{
			Node: "N", Service: &storev1.Service{ServiceId: "s", Name: name}, PreviousName: previous,
		}}}
	}
	status := &storev1.Event{Kind: &storev1.Event_CheckStatus{CheckStatus: &storev1.CheckStatusChanged{Node: "N", ServiceNames: []string{"a", "b"}}}}
	const node = "node \"n\" read\n"
	allServices, allNodes := watch.Selectors{AllServices: true}, watch.Selectors{AllNodes: true}
	for sentence, tc := range map[string]struct {
		rules     string
		selectors watch.Selectors
		event     *storev1.Event
		want      string // empty: nothing
	}{
		"a node by its name in another case":               {node, watch.Selectors{Nodes: []string{"n"}}, nodePut(), "as it is"},
		"a node among all":                                 {node, allNodes, nodePut(), "as it is"},
		"another node":                                     {`node "n2" read`, allNodes, nodePut(), ""},
		"a node without a service, where services count":   {node, allServices, nodePut(), ""},
		"a node with services that are not seen":           {node, allServices, nodePut("a", "b"), ""},
		"a node with a service that is seen":               {node + `service "b" read`, allServices, nodePut("a", "b"), "as it is"},
		"a node with a service that is seen, not selected": {node + `service * read`, watch.Selectors{Services: []string{"c"}}, nodePut("a", "b"), ""},
		"a service without its node":                       {`service * read`, allServices, servicePut("a", ""), ""},
		"a node without its service":                       {node, allNodes, servicePut("a", ""), ""},
		"an instance":                                      {node + `service "a" read`, allServices, servicePut("a", ""), "as it is"},
		"an instance that was of a service that is seen":   {node + `service "b" read`, allServices, servicePut("a", "b"), "service deleted N s b"},
		"the same where its node is selected":              {node + `service "b" read`, watch.Selectors{Nodes: []string{"n"}}, servicePut("a", "b"), "service deleted N s b"},
		"the same where its old service is selected":       {node + `service "b" read`, watch.Selectors{Services: []string{"b"}}, servicePut("a", "b"), "service deleted N s b"},
		"an instance that was of one that is not seen":     {node + `service "a" read`, allServices, servicePut("a", "b"), "as it is"},
		"an instance of two that are not seen":             {node + `service "c" read`, allServices, servicePut("a", "b"), ""},
		"an instance whose both services are seen":         {node + `service * read`, watch.Selectors{Services: []string{"b"}}, servicePut("a", "b"), "as it is"},
		"the status of a check of a node":                  {node, allNodes, status, "as it is"},
		"the same where services count and none is seen":   {node, allServices, status, ""},
		"the same where one is seen":                       {node + `service "a" read`, allServices, status, "as it is"},
		"a check that is new": {
			node + `service "b" read`, allServices, checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a"}}), "",
		},
		"a check that moved away": {
			node + `service "b" read`, allServices,
			checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousServiceId: "old", PreviousServiceName: "b"}),
			"check deleted N c old b",
		},
		"a check that moved away without the node": {
			`service "b" read`, allServices,
			checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousServiceId: "old", PreviousServiceName: "b"}), "",
		},
		"a check that moved here": {
			node + `service "a" read`, allServices,
			checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousServiceId: "old", PreviousServiceName: "b"}), "as it is",
		},
		"a check that moved within a service that is not seen": {
			node + `service "b" read`, allServices, checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a"}, PreviousServiceId: "old"}), "",
		},
		"a check of an instance that has another service now": {
			node + `service "b" read`, allNodes,
			checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a"}, PreviousServiceName: "b"}), "check deleted N c a b",
		},
		"a check that was its node's": {
			node, allNodes, checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousNode: true}), "check deleted N c  ",
		},
		"the same where another service of the node is seen": {
			node + `service "b" read`, allServices,
			checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousNode: true}), "check deleted N c  ",
		},
		"one that was its node's, where services count and none is seen": {
			node, allServices, checkPut(&storev1.CheckPut{ServiceName: "a", ServiceNames: []string{"a", "b"}, PreviousNode: true}), "",
		},
		"a check that is its node's now": {
			node + `service "b" read`, allServices, checkPut(&storev1.CheckPut{ServiceNames: []string{"b"}, PreviousServiceId: "old", PreviousServiceName: "a"}), "as it is",
		},
		"a query with another name": {
			`query "b" read`,
			watch.Selectors{AllQueries: true},
			&storev1.Event{Kind: &storev1.Event_QueryPut{QueryPut: &storev1.QueryPut{Query: &storev1.Query{Name: "a"}, PreviousName: "b"}}}, "query deleted b",
		},
		"a query that had no name": {
			`query "b" read`,
			watch.Selectors{AllQueries: true},
			&storev1.Event{Kind: &storev1.Event_QueryPut{QueryPut: &storev1.QueryPut{Query: &storev1.Query{Name: "a"}}}}, "",
		},
		"a key that is named": {
			`key "k" read watch`, watch.Selectors{Keys: []string{"k"}}, &storev1.Event{Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "k"}}}, "as it is",
		},
		"a key below a prefix takes list": {
			`key "k" read watch`, watch.Selectors{Prefixes: []string{"k"}}, &storev1.Event{Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "k"}}}, "",
		},
		"a key that is named and below a prefix": {
			`key "k" read watch`,
			watch.Selectors{Keys: []string{"k"}, Prefixes: []string{"k"}},
			&storev1.Event{Kind: &storev1.Event_KeyDeleted{KeyDeleted: &storev1.KeyDeleted{Key: "k"}}}, "as it is",
		},
		"a lock whose key is named as a key": {
			`key "k" read watch`,
			watch.Selectors{Keys: []string{"k"}, LockPrefixes: []string{"k"}},
			&storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{Key: "k"}}}, "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			tc.event.Revision, tc.event.Index = 7, 3
			v := &seen.Events{Sight: rightsOf(t, tc.rules), Selectors: tc.selectors.Normal()}
			shown, err := v.Show([]*storev1.Event{tc.event})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, e := range shown {
				got += named(e)
			}
			if want := tc.want; want != "" && got != "7.3 "+want || want == "" && got != "" {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
