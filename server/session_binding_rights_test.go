package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// boundRig is a member that enforces rules, with a node that has a check of its own and one of a service, which is critical.
func boundRig(t *testing.T) (m *member, admin string) {
	t.Helper()
	m = start(t, alone)
	admin = m.bootstrap(t, modeEnforce)
	_, err := m.catalog().RegisterNode(as(t.Context(), admin), &tenurev1.RegisterNodeRequest{
		Node:     &tenurev1.Node{Name: "db1", Address: "192.0.2.2", NodeId: firstMachine},
		Services: []*tenurev1.Service{{Name: "db"}},
		Checks: []*tenurev1.Check{
			{CheckId: "disk", Name: "disk", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING},
			{CheckId: "db-up", Name: "db-up", ServiceId: "db", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, admin
}

// onChecks is a session of the node with checks, which are among those of the node or of its services.
func onChecks(ofNode, ofServices string) *tenurev1.CreateSessionRequest {
	r := &tenurev1.CreateSessionRequest{Name: "mine", Node: "DB1", Checks: &tenurev1.SessionChecks{}}
	if ofNode != "" {
		r.Checks.NodeChecks = []string{ofNode}
	}
	if ofServices != "" {
		r.Checks.ServiceChecks = []string{ofServices}
	}
	return r
}

// TestChecksOfASessionAreNamedWithTheRightToReadThem has callers that may open a session. Without the right to read its node they learn
// neither which checks there are nor how they are; without that to read the service, nothing of its checks.
func TestChecksOfASessionAreNamedWithTheRightToReadThem(t *testing.T) {
	m, admin := boundRig(t)
	own := as(t.Context(), m.token(t, admin, "own", "session \"mine\"* write\n").GetText())
	for name, r := range map[string]*tenurev1.CreateSessionRequest{
		"a check that passes": onChecks("disk", ""), "one that is critical": onChecks("", "db-up"), "one that is not there": onChecks("none", ""),
		"one of a service among those of the node": onChecks("db-up", ""),
	} {
		_, err := m.CreateSession(own, r)
		if wantDenied(t, err, `node "db1" read`); t.Failed() {
			t.Fatalf("with %s", name)
		}
	}
	reads := as(t.Context(), m.token(t, admin, "reads", "session \"mine\"* write\nnode \"db1\" read\n").GetText())
	created, err := m.CreateSession(reads, onChecks("disk", ""))
	if err != nil || created.GetNodeId() != firstMachine || len(created.GetChecks().GetNodeChecks()) != 1 {
		t.Errorf("with the right to read the node: got %v, %v", created, err)
	}
	for _, r := range []*tenurev1.CreateSessionRequest{onChecks("db-up", ""), onChecks("", "db-up")} {
		_, err = m.CreateSession(reads, r)
		wantDenied(t, err, `service of check "db-up" on node "db1" read`)
	}
	both := as(t.Context(), m.token(t, admin, "both", "session \"mine\"* write\nnode \"db1\" read\nservice \"db\" read\n").GetText())
	_, err = m.CreateSession(both, onChecks("", "db-up"))
	if info := infoOf(err); status.Code(err) != codes.FailedPrecondition || info.GetReason() != "CHECK_CRITICAL" {
		t.Errorf("with the right to read the service, too: got %v, want that the check is critical", err)
	}
}

// TestASessionShowsWhatItIsBoundToToThoseThatMayReadTheNode has a caller with the right to its own sessions only. The same is left out, and counted,
// for a node that there is not.
func TestASessionShowsWhatItIsBoundToToThoseThatMayReadTheNode(t *testing.T) {
	m, admin := boundRig(t)
	for rules, sees := range map[string]bool{
		"session \"mine\"* write\n":                               false,
		"session \"mine\"* write\nnode \"db2\" read\n":            false,
		"session \"mine\"* write\nsession node \"db2\" write\n":   false,
		"session \"mine\"* write\nnode \"db1\" read\n":            true,
		"session node \"db1\" write\nsession \"other\"* write\n":  true,
		"session \"mine\"* write\nsession node \"DB\"* read\n":    true,
		"session own write\nsession \"mine\"* write\nkey * rw\n ": false,
	} {
		ctx := as(t.Context(), m.token(t, admin, "t", rules).GetText())
		for _, node := range []string{"db1", "nowhere"} {
			r := &tenurev1.CreateSessionRequest{Name: "mine", Node: node}
			if node == "nowhere" && sees {
				continue
			}
			created, err := m.CreateSession(ctx, r)
			if err != nil {
				t.Fatalf("%q: %v", rules, err)
			}
			got, err := m.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: created.GetSessionId()})
			if err != nil {
				t.Fatalf("%q: %v", rules, err)
			}
			hidden := uint32(1)
			if sees {
				hidden = 0
			}
			if (created.GetNodeId() != "") != sees || created.GetHeader().GetHidden() != hidden {
				t.Errorf("%q on %s: got %v, want that it shows the node: %v", rules, node, created, sees)
			}
			if (got.GetSession().GetNodeId() != "") != sees || got.GetHeader().GetHidden() != hidden || got.GetSession().GetNode() != node {
				t.Errorf("%q on %s: got %v, want that it shows the node: %v", rules, node, got, sees)
			}
		}
	}
}
