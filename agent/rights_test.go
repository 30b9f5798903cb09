package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
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

// shared is a catalog in which others registered an instance and a check on the node of the agent.
type shared struct{ away }

func (shared) GetNode(ctx context.Context, request *tenurev1.GetNodeRequest, _ ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	if shown, _ := metadata.FromOutgoingContext(ctx); len(shown) > 0 || request.GetNode() != "web1" {
		return nil, errAway
	}
	if request.GetPageToken() == "" {
		return &tenurev1.GetNodeResponse{Services: []*tenurev1.Service{{ServiceId: "db-1", Name: "db"}}, NextPageToken: "more"}, nil
	}
	return &tenurev1.GetNodeResponse{Checks: []*tenurev1.Check{{CheckId: "db-up", ServiceName: "db"}, {CheckId: "disk"}}}, nil
}

// TestAnAgentKnowsWhatOthersHaveUnderAnID registers under ids of which the catalog has some.
func TestAnAgentKnowsWhatOthersHaveUnderAnID(t *testing.T) {
	o := options(folder(t, map[string]string{"a.yaml": "services: []"}))
	o.Catalog = shared{}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var found []string
	refusing := a.LocalFor(func(ctx context.Context, of authz.Local, _ func() error) error {
		found = nil
		for _, n := range of.Needs {
			if n.By != 0 && of.Catalog != nil {
				name, failed := of.Catalog(ctx, n)
				found = append(found, n.ID+"="+name)
				if failed != nil {
					return failed
				}
			}
		}
		return errRefused
	})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer x")
	_, err = refusing.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{
		Service: &tenurev1.Service{ServiceId: "db-1", Name: "web"}, Checks: []*tenurev1.Check{ttlCheck("db-up", ""), ttlCheck("new", "")},
	})
	if want := []string{"db-1=db", "db-up=db", "new="}; !errors.Is(err, errRefused) || !slices.Equal(found, want) {
		t.Errorf("a service: got %q and %v, want %q", found, err, want)
	}
	_, err = refusing.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: ttlCheck("db-up", "")})
	if want := []string{"db-up=db"}; !errors.Is(err, errRefused) || !slices.Equal(found, want) {
		t.Errorf("a check: got %q and %v, want %q", found, err, want)
	}
	_, err = refusing.ReportCheck(ctx, &tenurev1.ReportCheckRequest{CheckId: "db-up"})
	if !errors.Is(err, errRefused) || len(found) > 0 {
		t.Errorf("a report, which takes over nothing: got %q and %v, want that the catalog is not asked", found, err)
	}
}

// TestWhatIsDecidedIsWhatIsChanged has an instance become another service's after it was decided about a change of it.
func TestWhatIsDecidedIsWhatIsChanged(t *testing.T) {
	a, err := agent.New(options(folder(t, map[string]string{"a.yaml": "services: []"})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ctx, own := t.Context(), a.Local()
	register := func(name string) {
		must[*tenurev1.AddAgentServiceResponse](t)(own.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{
			Service: &tenurev1.Service{ServiceId: "i", Name: name},
		}))
	}
	for what, test := range map[string]struct {
		meanwhile []string
		decided   []string
		want      tenurev1.ErrorReason
	}{
		"nothing changes": {[]string{"web"}, []string{"web"}, 0},
		"it changes once": {[]string{"db", "db"}, []string{"web", "db"}, 0},
		"it changes on": {
			[]string{"db", "web", "db", "web", "db"}, []string{"web", "db", "web", "db"}, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED,
		},
	} {
		register("web")
		var decided []string
		client := a.LocalFor(func(_ context.Context, of authz.Local, serve func() error) error {
			name := of.Service(of.Needs[len(of.Needs)-1])
			register(test.meanwhile[len(decided)])
			decided = append(decided, name)
			if again := of.Service(of.Needs[len(of.Needs)-1]); again != name {
				t.Errorf("%s: one decision is about %s and %s", what, name, again)
			}
			err := serve()
			if again := len(decided) < len(test.decided) || test.want != 0; again != (errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED) {
				t.Errorf("%s: decision %d came to %v, which the audit log has", what, len(decided), err)
			}
			return err
		})
		_, err := client.RemoveAgentService(ctx, &tenurev1.RemoveAgentServiceRequest{ServiceId: "i"})
		if errorinfo.Reason(err) != test.want || (err != nil) != (test.want != 0) || !slices.Equal(decided, test.decided) {
			t.Errorf("%s: got %v after decisions about %q, want %v and %q", what, err, decided, test.want, test.decided)
		}
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
