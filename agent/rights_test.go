package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// ttlCheck returns a check of the kind ttl.
func ttlCheck(id, service string) *tenurev1.Check {
	return &tenurev1.Check{CheckId: id, ServiceId: service, Definition: &tenurev1.CheckDefinition{
		Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(1 << 40)}},
	}}
}

var errRefused = errors.New("refused")

// TestWhatOthersAskOfAnAgentIsDecidedFirst refuses every call that there is, and looks at what was needed and that nothing was done.
func TestWhatOthersAskOfAnAgentIsDecidedFirst(t *testing.T) {
	o := options(folder(t, map[string]string{"a.yaml": "services: []"}))
	o.Node.Name = "Web1"
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ctx, own := t.Context(), a.Local()
	must[*tenurev1.AddAgentServiceResponse](t)(own.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{
		Service: &tenurev1.Service{ServiceId: "db-1", Name: "db"}, Checks: []*tenurev1.Check{ttlCheck("db-up", "")},
	}))
	must[*tenurev1.AddAgentCheckResponse](t)(own.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: ttlCheck("disk", "")}))
	var needed []string
	var stale bool
	refusing := a.LocalFor(func(_ context.Context, of authz.Local, _ func() error) error {
		needed, stale = nil, of.Stale
		for _, n := range of.Needs {
			text := n.String()
			if n.By != 0 {
				text += " = " + of.Service(n)
			}
			needed = append(needed, text)
		}
		return errRefused
	})
	node, reads := `node "web1" write`, []string{`node "web1" read`, "service * read"}
	tests := map[string]struct {
		call  func() error
		needs []string
	}{
		"ListAgentServices": {func() error {
			_, err := refusing.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{})
			return err
		}, reads},
		"ListAgentChecks": {func() error {
			_, err := refusing.ListAgentChecks(ctx, &tenurev1.ListAgentChecksRequest{ServiceId: "db-1"})
			return err
		}, reads},
		"AddAgentService": {func() error {
			_, err := refusing.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{
				Service: &tenurev1.Service{ServiceId: "db-1", Name: "web"}, Checks: []*tenurev1.Check{
					ttlCheck("db-up", ""), {Name: "new", Definition: &tenurev1.CheckDefinition{
						Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "H2", ServiceId: "x"}},
					}},
				},
			})
			return err
		}, []string{
			node, `service "web" write`, `service of instance "db-1" on node "web1" write = db`,
			`service of check "db-up" on node "web1" write = db`, `service of check "new" on node "web1" write = `,
			`node "h2" read`, "service * read",
		}},
		"RemoveAgentService": {func() error {
			_, err := refusing.RemoveAgentService(ctx, &tenurev1.RemoveAgentServiceRequest{ServiceId: "db-1"})
			return err
		}, []string{node, `service of instance "db-1" on node "web1" write = db`}},
		"AddAgentCheck": {func() error {
			_, err := refusing.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: &tenurev1.Check{
				CheckId: "disk", ServiceId: "db-1", Definition: &tenurev1.CheckDefinition{
					Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "WEB1", ServiceId: "db-1"}},
				},
			}})
			return err
		}, []string{node, `service of check "disk" on node "web1" write = `, `service of instance "db-1" on node "web1" read = db`, `service of instance "db-1" on node "web1" write = db`}},
		"AddAgentCheck for an alias of an instance that may come": {func() error {
			_, err := refusing.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: &tenurev1.Check{
				CheckId: "disk", Definition: &tenurev1.CheckDefinition{
					Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "WEB1", ServiceId: "later"}},
				},
			}})
			return err
		}, []string{node, `service of check "disk" on node "web1" write = `, "service * read"}},
		"RemoveAgentCheck": {func() error {
			_, err := refusing.RemoveAgentCheck(ctx, &tenurev1.RemoveAgentCheckRequest{CheckId: "db-up"})
			return err
		}, []string{node, `service of check "db-up" on node "web1" write = db`}},
		"ReportCheck": {func() error {
			_, err := refusing.ReportCheck(ctx, &tenurev1.ReportCheckRequest{CheckId: "db-up", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING})
			return err
		}, []string{node, `service of check "db-up" on node "web1" write = db`}},
		"SetMaintenance": {func() error {
			_, err := refusing.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{Enabled: true})
			return err
		}, []string{node}},
	}
	var methods []string
	for _, method := range tenurev1.AgentService_ServiceDesc.Methods {
		methods = append(methods, method.MethodName)
	}
	for name, test := range tests {
		if method, _, _ := strings.Cut(name, " "); !slices.Contains(methods, method) {
			t.Errorf("there is no such call: %s", method)
		}
		if err := test.call(); !errors.Is(err, errRefused) || !slices.Equal(needed, test.needs) {
			t.Errorf("%s: got %v and the needs %q, want %v and %q", name, err, needed, errRefused, test.needs)
		}
		if want := name == "ReportCheck"; stale != want {
			t.Errorf("%s: by what a member has, however old: got %v, want %v", name, stale, want)
		}
	}
	for name, call := range map[string]func() error{
		"ReloadAgent": func() error { _, err := refusing.ReloadAgent(ctx, &tenurev1.ReloadAgentRequest{}); return err },
		"LeaveAgent":  func() error { _, err := refusing.LeaveAgent(ctx, &tenurev1.LeaveAgentRequest{}); return err },
	} {
		if err := call(); err == nil || errors.Is(err, errRefused) {
			t.Errorf("%s: got %v, want that there is no such call", name, err)
		}
	}
	if _, err := refusing.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{ServiceId: "db-1"}); !errors.Is(err, errRefused) ||
		len(needed) != 2 || !strings.HasSuffix(needed[1], " = db") {
		t.Errorf("maintenance of an instance: got %v and the needs %q, want %v and that of its service", err, needed, errRefused)
	}
	if got := must[*tenurev1.GetAgentResponse](t)(refusing.GetAgent(ctx, &tenurev1.GetAgentRequest{})); got.GetServices() != 1 || got.GetChecks() != 2 || got.GetMaintenance() {
		t.Errorf("after all was refused the agent has %v", got)
	}
}

// TestNobodyDecides refuses what nobody decides about.
func TestNobodyDecides(t *testing.T) {
	a, err := agent.New(options(folder(t, map[string]string{"a.yaml": "services: []"})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if _, err := a.LocalFor(nil).SetMaintenance(t.Context(), &tenurev1.SetMaintenanceRequest{Enabled: true}); err == nil {
		t.Error("a call is made about which nothing decides")
	}
}
