package agent_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent"
	"github.com/tenure-io/tenure/agent/keep"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// away is a cluster of which no member answers.
type away struct{ tenurev1.CatalogServiceClient }

var errAway = errors.New("no member answers")

func (away) GetNode(context.Context, *tenurev1.GetNodeRequest, ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	return nil, errAway
}

// running is an agent that runs, and a client of it.
type running struct {
	tenurev1.AgentServiceClient
	http string
	stop func()
}

func options(dir string) agent.Options {
	return agent.Options{
		Node: &tenurev1.Node{Name: "web1", Address: "10.0.0.1"}, DataDir: filepath.Join(dir, "data"), Services: filepath.Join(dir, "services"),
		Listen: "127.0.0.1:0", HTTP: "127.0.0.1:0", Catalog: away{}, Version: "test", StopGrace: time.Minute,
		Logger: zap.NewNop(), Registry: prometheus.NewRegistry(),
	}
}

// start runs an agent until stop.
func start(t *testing.T, dir string, change func(*agent.Options)) *running {
	t.Helper()
	o := options(dir)
	if change != nil {
		change(&o)
	}
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case <-a.Ready():
	case err = <-ended:
		t.Fatalf("the agent ended: %v", err)
	}
	conn, err := grpc.NewClient("passthrough:///"+a.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	r := &running{AgentServiceClient: tenurev1.NewAgentServiceClient(conn), http: a.Addresses().HTTP}
	var stopped bool
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

// folder is a directory with a folder for files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "services"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	return dir
}

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "services", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func ttl(id string) *tenurev1.Check {
	return &tenurev1.Check{CheckId: id, Definition: &tenurev1.CheckDefinition{
		Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(time.Hour)}},
	}}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Without any member, an agent keeps what calls register, and a restart turns no check critical.
func TestRestart(t *testing.T) {
	ctx := t.Context()
	dir := folder(t, map[string]string{"a.yaml": "services: [{name: web, checks: [{id: up, ttl: 1h}]}]"})
	first := start(t, dir, nil)
	must[*tenurev1.AddAgentServiceResponse](t)(first.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{
		Service: &tenurev1.Service{Name: "db", ServiceId: "db-1"}, Checks: []*tenurev1.Check{ttl("db-alive")},
	}))
	for _, id := range []string{"up", "db-alive"} {
		must[*tenurev1.ReportCheckResponse](t)(first.ReportCheck(ctx, &tenurev1.ReportCheckRequest{CheckId: id, Output: "fine"}))
	}
	must[*tenurev1.SetMaintenanceResponse](t)(first.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{Enabled: true, Reason: "disk"}))
	before := must[*tenurev1.GetAgentResponse](t)(first.GetAgent(ctx, &tenurev1.GetAgentRequest{}))
	if before.GetBoot() != 1 || before.GetServices() != 2 || before.GetChecks() != 3 || !before.GetMaintenance() || before.GetOutOfSync() == 0 {
		t.Errorf("before: got %v", before)
	}
	first.stop()

	again := start(t, dir, nil)
	after := must[*tenurev1.GetAgentResponse](t)(again.GetAgent(ctx, &tenurev1.GetAgentRequest{}))
	if after.GetNodeId() != before.GetNodeId() || after.GetBoot() != 2 || after.GetServices() != 2 || after.GetChecks() != 3 || !after.GetMaintenance() {
		t.Errorf("after: got %v", after)
	}
	list := must[*tenurev1.ListAgentChecksResponse](t)(again.ListAgentChecks(ctx, &tenurev1.ListAgentChecksRequest{}))
	want := map[string]tenurev1.CheckStatus{
		"_maintenance": tenurev1.CheckStatus_CHECK_STATUS_CRITICAL, "up": tenurev1.CheckStatus_CHECK_STATUS_PASSING,
		"db-alive": tenurev1.CheckStatus_CHECK_STATUS_PASSING,
	}
	for _, c := range list.GetChecks() {
		if got := c.GetCheck(); got.GetStatus() != want[got.GetCheckId()] || c.GetInSync() {
			t.Errorf("%s is %s, want %s; in sync: %t", got.GetCheckId(), got.GetStatus(), want[got.GetCheckId()], c.GetInSync())
		}
	}
	must[*tenurev1.SetMaintenanceResponse](t)(again.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{}))
	services := must[*tenurev1.ListAgentServicesResponse](t)(again.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{}))
	for _, s := range services.GetServices() {
		if s.GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_PASSING {
			t.Errorf("%s is %s after maintenance, want passing", s.GetService().GetServiceId(), s.GetStatus())
		}
	}
}

func TestRefusals(t *testing.T) {
	r := start(t, folder(t, map[string]string{"a.yaml": "services: [{name: web, checks: [{id: up, tcp: \"127.0.0.1:1\"}]}]"}), nil)
	long := strings.Repeat("x", 2_000)
	exec := ttl("e")
	exec.Definition.Kind = &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: []string{"true"}}}
	bare := ttl("b")
	bare.Definition = nil
	elsewhere := ttl("c")
	elsewhere.ServiceId = "elsewhere"
	liveness := ttl("liveness")
	tests := map[string]struct {
		call   func(context.Context) error
		reason string
		text   string
	}{
		"a service needs a name":                    {r.addService(&tenurev1.Service{}), "INVALID_ARGUMENT", "name is missing"},
		"a service of a file stays":                 {r.addService(&tenurev1.Service{Name: "web"}), "PERMISSION_DENIED", "configuration file"},
		"a check of a file stays":                   {r.addCheck(ttl("up")), "PERMISSION_DENIED", "configuration file"},
		"programs are not run unless that is on":    {r.addCheck(exec), "PERMISSION_DENIED", "not enabled"},
		"a check needs a kind":                      {r.addCheck(bare), "INVALID_ARGUMENT", "definition"},
		"a check may not have the cluster's id":     {r.addCheck(liveness), "INVALID_ARGUMENT", "the cluster's own check"},
		"a check's service must be there":           {r.addCheck(elsewhere), "SERVICE_NOT_FOUND", "elsewhere"},
		"a service's check is not another's":        {r.addService(&tenurev1.Service{Name: "x"}, elsewhere), "INVALID_ARGUMENT", "checks[0].service_id"},
		"only a ttl is reported":                    {r.report("up", 0), "INVALID_ARGUMENT", "kind tcp"},
		"a report needs a check that is there":      {r.report("none", 0), "CHECK_NOT_FOUND", "none"},
		"a report needs a status that is known":     {r.report("up", 99), "INVALID_ARGUMENT", "status"},
		"maintenance needs a service that is there": {r.maintain("none", ""), "SERVICE_NOT_FOUND", "none"},
		"the reason of maintenance is short":        {r.maintain("", long), "INVALID_ARGUMENT", "2000 bytes"},
		"there is no pool to leave": {func(ctx context.Context) error {
			_, err := r.LeaveAgent(ctx, &tenurev1.LeaveAgentRequest{})
			return err
		}, "FEATURE_NOT_ENABLED", "deregister its node with the catalog"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := status.Convert(test.call(t.Context()))
			var got string
			for _, d := range s.Details() {
				if info, is := d.(*errdetails.ErrorInfo); is {
					got = info.GetReason()
				}
			}
			if got != test.reason || !strings.Contains(s.Message(), test.text) || s.Code() == codes.Internal {
				t.Errorf("got %s %s %q, want %s with %q", s.Code(), got, s.Message(), test.reason, test.text)
			}
		})
	}
}

func (r *running) addService(s *tenurev1.Service, checks ...*tenurev1.Check) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.AddAgentService(ctx, &tenurev1.AddAgentServiceRequest{Service: s, Checks: checks})
		return err
	}
}

func (r *running) addCheck(c *tenurev1.Check) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.AddAgentCheck(ctx, &tenurev1.AddAgentCheckRequest{Check: c})
		return err
	}
}

func (r *running) report(id string, s tenurev1.CheckStatus) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.ReportCheck(ctx, &tenurev1.ReportCheckRequest{CheckId: id, Status: s})
		return err
	}
}

func (r *running) maintain(id, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.SetMaintenance(ctx, &tenurev1.SetMaintenanceRequest{ServiceId: id, Enabled: true, Reason: reason})
		return err
	}
}

func TestReload(t *testing.T) {
	ctx := t.Context()
	dir := folder(t, map[string]string{"a.yaml": "services: [{name: web}]"})
	r := start(t, dir, nil)
	write(t, dir, map[string]string{"a.yaml": "services: [{name: other}]", "b.yaml": "services:\n  - {nam: x}\n"})
	_, err := r.ReloadAgent(ctx, &tenurev1.ReloadAgentRequest{})
	if s := status.Convert(err); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "b.yaml:2: unknown setting \"nam\"") {
		t.Errorf("with a mistake: got %v", err)
	}
	ids := func() string {
		var all []string
		for _, s := range must[*tenurev1.ListAgentServicesResponse](t)(r.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{})).GetServices() {
			all = append(all, s.GetService().GetServiceId())
		}
		return strings.Join(all, " ")
	}
	if got := ids(); got != "web" {
		t.Errorf("after a mistake the services are %q, want web", got)
	}
	write(t, dir, map[string]string{"b.yaml": ""})
	must[*tenurev1.ReloadAgentResponse](t)(r.ReloadAgent(ctx, &tenurev1.ReloadAgentRequest{}))
	if got := ids(); got != "other" {
		t.Errorf("after the reload the services are %q, want other", got)
	}
}

func TestOptions(t *testing.T) {
	dir := folder(t, map[string]string{"a.yaml": "services: [{nam: web}]"})
	tests := map[string]struct {
		change func(*agent.Options)
		text   string
	}{
		"a directory is needed":           {func(o *agent.Options) { o.DataDir = "" }, "--data-dir is missing"},
		"a node needs a name that is one": {func(o *agent.Options) { o.Node.Name = "web 1" }, `--node is "web 1"`},
		"other machines may not reach it": {func(o *agent.Options) { o.Listen = "0.0.0.0:0" }, "--insecure"},
		"nor its metrics":                 {func(o *agent.Options) { o.HTTP = "[::]:0" }, "--insecure"},
		"nor programs that calls register, at a member": {func(o *agent.Options) {
			o.Exec, o.MemberConsul = agent.ExecAPI, "0.0.0.0:8500"
		}, "--consul-http 0.0.0.0:8500: the agent runs programs that clients of this address register"},
		"an address is host:port":             {func(o *agent.Options) { o.Listen = "here" }, "host:port"},
		"programs are run from files or API":  {func(o *agent.Options) { o.Exec = "yes" }, "must be file or api"},
		"mistakes in files stop the start":    {nil, "a.yaml:1: unknown setting"},
		"files that are missing stop it, too": {func(o *agent.Options) { o.Services = filepath.Join(dir, "none") }, "no such file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(dir)
			if test.change != nil {
				test.change(&o)
			}
			if _, err := agent.New(o); err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want an error with %q", err, test.text)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	r := start(t, folder(t, nil), nil)
	get := func(path string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.http+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := get("/metrics"); !strings.Contains(got, "tenure_agent_out_of_sync 1\n") {
		t.Errorf("the metrics lack tenure_agent_out_of_sync: %s", got)
	}
	if got := get("/healthz"); got != "ok\n" {
		t.Errorf("health: got %q", got)
	}
}

// curl sends a request to the agent's REST and returns the status and the body.
func (r *running) curl(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestAnAgentServesREST(t *testing.T) {
	r := start(t, folder(t, nil), nil)
	for _, call := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"POST", "/v1/agent/services", `{"service": {"name": "web", "port": 80}, "checks": [{"checkId": "web/up", "definition": {"ttl": {"ttl": "60s"}}}]}`, 200, `"serviceId":"web"`},
		{"GET", "/v1/agent", "", 200, `"node":"web1"`},
		{"GET", "/v1/agent/services", "", 200, `"status":"CHECK_STATUS_CRITICAL"`},
		{"PUT", "/v1/agent/check-reports/web/up?status=CHECK_STATUS_WARNING&output=slow", "", 200, `"header"`},
		{"GET", "/v1/agent/checks?status=CHECK_STATUS_WARNING", "", 200, `"output":"slow"`},
		{"POST", "/v1/agent/checks", `{"check": {"checkId": "disk", "definition": {"ttl": {"ttl": "60s"}}}}`, 200, `"checkId":"disk"`},
		{"DELETE", "/v1/agent/checks/disk", "", 200, `"removed":true`},
		{"PUT", "/v1/agent/maintenance", `{"enabled": true, "reason": "disk"}`, 200, `"checkId":"_maintenance"`},
		{"POST", "/v1/agent/reload", "", 200, `"services":0`},
		{"DELETE", "/v1/agent/services/web", "", 200, `"removed":true`},
		{"POST", "/v1/agent/leave", "", 501, "FEATURE_NOT_ENABLED"},
		{"PUT", "/v1/agent/check-reports/none", "", 404, "CHECK_NOT_FOUND"},
		{"POST", "/v1/agent/services", `{"servce": {}}`, 400, "UNKNOWN_FIELD"},
		{"GET", "/v1/agent?what=1", "", 400, "what"},
		{"GET", "/v1/kv/a", "", 404, "METHOD_NOT_FOUND"},
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/metrics", "", 200, "tenure_agent_out_of_sync"},
	} {
		status, body := r.curl(t, call.method, call.path, call.body)
		if status != call.status || !strings.Contains(body, call.has) {
			t.Errorf("%s %s: got %d %s, want %d and %s", call.method, call.path, status, body, call.status, call.has)
		}
	}
}

// told is a cluster that knows nothing of the agent, and keeps what the agent says of its node. None of its members takes part in gossip.
type told struct {
	tenurev1.CatalogServiceClient
	nodes chan *tenurev1.Node
}

func (told) GetNode(context.Context, *tenurev1.GetNodeRequest, ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	return nil, refusal(codes.NotFound, "NODE_NOT_FOUND", nil)
}

func (c told) SyncNode(_ context.Context, r *tenurev1.SyncNodeRequest, _ ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	if r.GetNode() != nil {
		select {
		case c.nodes <- r.GetNode():
		default:
		}
	}
	return &tenurev1.SyncNodeResponse{}, nil
}

func (told) ListPool(context.Context, *tenurev1.ListPoolRequest, ...grpc.CallOption) (*tenurev1.ListPoolResponse, error) {
	return &tenurev1.ListPoolResponse{}, nil
}

// Without an address in the catalog, nobody could ask the machine whether it is there.
func TestTheLastGossipAddressStaysUntilTheAgentTakesPart(t *testing.T) {
	dir := folder(t, nil)
	kept := must[*keep.Dir](t)(keep.Open(options(dir).DataDir))
	if err := errors.Join(kept.SetGossipAddress("10.0.0.1:7403"), kept.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ gossip, want string }{{"127.0.0.1:0", "10.0.0.1:7403"}, {"off", ""}, {"127.0.0.1:0", "10.0.0.1:7403"}} {
		cluster := told{nodes: make(chan *tenurev1.Node, 1)}
		r := start(t, dir, func(o *agent.Options) { o.Catalog, o.Pool, o.Gossip.Addr = cluster, cluster, c.gossip })
		if got := (<-cluster.nodes).GetGossipAddress(); got != c.want {
			t.Errorf("--gossip %s: the agent says that it takes part at %q, want %q", c.gossip, got, c.want)
		}
		info := must[*tenurev1.GetAgentResponse](t)(r.GetAgent(t.Context(), &tenurev1.GetAgentRequest{}))
		if got := info.GetGossipAddress(); got != "" {
			t.Errorf("--gossip %s: it shows %q, and takes no part yet", c.gossip, got)
		}
		r.stop()
	}
}

// denying is a cluster in which the agent's token has the right to its node, and to no service.
type denying struct{ tenurev1.CatalogServiceClient }

func (denying) GetNode(context.Context, *tenurev1.GetNodeRequest, ...grpc.CallOption) (*tenurev1.GetNodeResponse, error) {
	return nil, refusal(codes.NotFound, "NODE_NOT_FOUND", nil)
}

func (denying) SyncNode(_ context.Context, r *tenurev1.SyncNodeRequest, _ ...grpc.CallOption) (*tenurev1.SyncNodeResponse, error) {
	if len(r.GetServices()) > 0 {
		return nil, refusal(codes.PermissionDenied, "PERMISSION_DENIED", map[string]string{"needs": `service "web" write`})
	}
	return &tenurev1.SyncNodeResponse{}, nil
}

func refusal(code codes.Code, reason string, facts map[string]string) error {
	s, err := status.New(code, reason).WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "tenure", Metadata: facts})
	if err != nil {
		return err
	}
	return s.Err()
}

// Whoever waits until the catalog is like the agent does not wait for what the cluster refused.
func TestWhatIsRefusedIsNotWaitedFor(t *testing.T) {
	o := options(folder(t, map[string]string{"a.yaml": "services: [{name: web}]"}))
	o.Catalog = denying{}
	registry := prometheus.NewRegistry()
	o.Registry = registry
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	a.Local().Settled(waiting)
	if waiting.Err() != nil {
		t.Error("it waited for an entry that is refused")
	}
	info := must[*tenurev1.GetAgentResponse](t)(a.Local().GetAgent(ctx, &tenurev1.GetAgentRequest{}))
	if info.GetOutOfSync() != 1 || !strings.Contains(info.GetLastSyncError(), "refused 1 entry, and has all others; service web: ") {
		t.Errorf("got %d entries out of sync and %q, want the service, and why", info.GetOutOfSync(), info.GetLastSyncError())
	}
	families := must[[]*dto.MetricFamily](t)(registry.Gather())
	if i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "tenure_agent_refused" }); i < 0 ||
		families[i].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Error("tenure_agent_refused is not 1")
	}
	stop()
	if err = <-ended; err != nil {
		t.Error(err)
	}
}

func TestAnAgentInsideAMemberDoesNotLeave(t *testing.T) {
	r := start(t, t.TempDir(), func(o *agent.Options) { o.Services, o.Node.NodeId = "", "7d1f4cf4-6a3c-4c3e-9a63-0a30c8f3cf01" })
	_, err := r.LeaveAgent(t.Context(), &tenurev1.LeaveAgentRequest{})
	if want := "this agent runs inside a member, which keeps the node; remove the member instead"; status.Convert(err).Message() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
