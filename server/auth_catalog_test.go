package server_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Ids of two machines.
const (
	firstMachine  = "00000000-0000-4000-8000-00000000000a"
	secondMachine = "00000000-0000-4000-8000-00000000000b"
)

// TestAnAgentSyncsWithItsPolicy has what docs/agent.md says that an agent needs. It sends its node once, and after that only what changes.
func TestAnAgentSyncsWithItsPolicy(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	agent := as(t.Context(), m.token(t, admin, "agent", "node \"web1\" write\nservice \"web\" write\nnode * read\nservice * read\n").GetText())
	sync := func(number uint64, r *tenurev1.SyncNodeRequest) error {
		r.NodeId, r.Sync = firstMachine, &tenurev1.SyncNumber{Boot: 1, Number: number}
		_, err := m.catalog().SyncNode(agent, r)
		return err
	}
	web := func(status tenurev1.CheckStatus) []*tenurev1.Check {
		return []*tenurev1.Check{{CheckId: "up", Name: "up", ServiceId: "web", Status: status}}
	}
	if err := sync(1, &tenurev1.SyncNodeRequest{
		Node:     &tenurev1.Node{Name: "web1", Address: "192.0.2.1"},
		Services: []*tenurev1.Service{{Name: "web"}}, Checks: web(tenurev1.CheckStatus_CHECK_STATUS_PASSING),
	}); err != nil {
		t.Fatal(err)
	}
	if err := sync(2, &tenurev1.SyncNodeRequest{Checks: web(tenurev1.CheckStatus_CHECK_STATUS_CRITICAL)}); err != nil {
		t.Errorf("a change of its check: %v", err)
	}
	wantDenied(t, sync(3, &tenurev1.SyncNodeRequest{Services: []*tenurev1.Service{{Name: "db"}}}), `service "db" write`)
	if err := sync(3, &tenurev1.SyncNodeRequest{DeleteServices: []string{"web"}}); err != nil {
		t.Errorf("a deletion of its service: %v", err)
	}
}

// TestAnIDOfAnotherNodeIsNoWayToIt has the right to one node, or to all nodes and no service.
func TestAnIDOfAnotherNodeIsNoWayToIt(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	root := as(t.Context(), admin)
	if _, err := m.catalog().SyncNode(root, &tenurev1.SyncNodeRequest{
		NodeId: secondMachine, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 1}, Node: &tenurev1.Node{Name: "db1", Address: "192.0.2.2"},
		Services: []*tenurev1.Service{{Name: "db"}},
		Checks:   []*tenurev1.Check{{CheckId: "db-up", Name: "db-up", ServiceId: "db", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING}},
	}); err != nil {
		t.Fatal(err)
	}
	one := as(t.Context(), m.token(t, admin, "one", "node \"web1\" write\n").GetText())
	_, err := m.catalog().RegisterNode(one, &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: "web1", Address: "192.0.2.1", NodeId: secondMachine},
	})
	wantDenied(t, err, "node id "+secondMachine+" write")
	_, err = m.catalog().SyncNode(one, &tenurev1.SyncNodeRequest{
		NodeId: secondMachine, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 2}, Node: &tenurev1.Node{Name: "web1", Address: "192.0.2.1"},
	})
	wantDenied(t, err, "node id "+secondMachine+" write")

	all := as(t.Context(), m.token(t, admin, "all", "node * write\n").GetText())
	_, err = m.catalog().SyncNode(all, &tenurev1.SyncNodeRequest{
		NodeId: secondMachine, Sync: &tenurev1.SyncNumber{Boot: 1, Number: 2}, DeleteServices: []string{"db"},
	})
	wantDenied(t, err, `service of instance "db" on node id `+secondMachine+" write")
	mine := as(t.Context(), m.token(t, admin, "mine", "node * write\nservice \"mine\" write\n").GetText())
	for needs, entries := range map[string]*tenurev1.SyncNodeRequest{
		`service of instance "db"`: {Services: []*tenurev1.Service{{Node: "elsewhere", ServiceId: "db", Name: "mine"}}},
		`service of check "db-up"`: {Checks: []*tenurev1.Check{{Node: "elsewhere", CheckId: "db-up", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL}}},
	} {
		entries.NodeId, entries.Sync = secondMachine, &tenurev1.SyncNumber{Boot: 1, Number: 2}
		_, err = m.catalog().SyncNode(mine, entries)
		wantDenied(t, err, needs+" on node id "+secondMachine+" write")
	}
	_, err = m.catalog().RegisterNode(all, &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: "db1"}, SkipNodeUpdate: true,
		Checks: []*tenurev1.Check{{Name: "db-up", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL}}, // Its name becomes its id.
	})
	wantDenied(t, err, `service of check "db-up" on node "db1" write`)

	if is, getErr := m.catalog().GetNode(root, &tenurev1.GetNodeRequest{Node: "db1"}); getErr != nil || len(is.GetServices()) != 1 || len(is.GetChecks()) != 1 {
		t.Errorf("afterwards the node is %v, %v", is, getErr)
	}
}

// TestARegistrationWithItsFindingsMayBeTooLarge registers as much as a command takes. Where rules are enforced, the command also says what is under each
// id, and that makes it too large. The error says by how many bytes.
func TestARegistrationWithItsFindingsMayBeTooLarge(t *testing.T) {
	m := start(t, alone)
	r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: strings.Repeat("n", 250), Address: "192.0.2.1"}}
	for i := range 120 {
		r.Checks = append(r.Checks, &tenurev1.Check{
			CheckId: fmt.Sprintf("%0250d", i), Name: "c", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING,
			Notes: strings.Repeat("x", 4096), Output: strings.Repeat("x", 4000),
		})
	}
	if _, err := m.catalog().RegisterNode(t.Context(), r); err != nil {
		t.Fatalf("without rules: %v", err)
	}
	admin := m.bootstrap(t, modeEnforce)
	agent := as(t.Context(), m.token(t, admin, "agent", "node * write\n").GetText())
	_, err := m.catalog().RegisterNode(agent, r)
	wantError(t, err, codes.ResourceExhausted, "TOO_LARGE")
	want := regexp.MustCompile(`^the change takes (10[0-9]{5}) bytes, (6[0-9]{4}) of them to say what is under the ids that it names; at most 1048512 are allowed$`)
	if got := status.Convert(err).Message(); !want.MatchString(got) || infoOf(err).GetMetadata()["applied"] != "no" {
		t.Errorf("got %q, %v, want %s", got, infoOf(err).GetMetadata(), want)
	}
	r.Checks = r.GetChecks()[:100]
	if _, err = m.catalog().RegisterNode(agent, r); err != nil {
		t.Errorf("fewer entries: %v", err)
	}
}
