package consulhttp_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// machine is an agent that has one instance with a check, and a check of its own.
type machine struct {
	tenurev1.AgentServiceClient
	status tenurev1.CheckStatus // of the instance
}

// Settled waits for nothing.
func (machine) Settled(context.Context) {}

// GetAgent returns what the agent is.
func (machine) GetAgent(context.Context, *tenurev1.GetAgentRequest, ...grpc.CallOption) (*tenurev1.GetAgentResponse, error) {
	return &tenurev1.GetAgentResponse{Node: "web-A", NodeId: idA, Version: "test", GossipAddress: "10.0.0.1:7403"}, nil
}

// ListAgentServices returns the instance.
func (m machine) ListAgentServices(
	context.Context, *tenurev1.ListAgentServicesRequest, ...grpc.CallOption,
) (*tenurev1.ListAgentServicesResponse, error) {
	return &tenurev1.ListAgentServicesResponse{Services: []*tenurev1.AgentServiceInstance{{
		Service: &tenurev1.Service{
			Node: "web-A", ServiceId: "web-1", Name: "web", Tags: []string{"blue", "v1"}, Port: 80, Meta: map[string]string{"a": "b"},
			Weights: &tenurev1.ServiceWeights{Passing: 3, Warning: 1},
		},
		InSync: true, Status: m.status,
	}}}, nil
}

// ListAgentChecks returns the checks.
func (m machine) ListAgentChecks(context.Context, *tenurev1.ListAgentChecksRequest, ...grpc.CallOption) (*tenurev1.ListAgentChecksResponse, error) {
	return &tenurev1.ListAgentChecksResponse{Checks: []*tenurev1.AgentCheck{
		{Check: &tenurev1.Check{Node: "web-A", CheckId: "disk", Name: "disk", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING, Kind: "ttl"}},
		{Check: &tenurev1.Check{
			Node: "web-A", CheckId: "up", Name: "web up", ServiceId: "web-1", Status: m.status, Output: "ok", Kind: "http",
			Definition: &tenurev1.CheckDefinition{Interval: durationpb.New(10 * time.Second), Timeout: durationpb.New(2 * time.Second)},
		}},
	}}, nil
}

// TestTheAgentIsShownAsConsulShowsIt is golden.
func TestTheAgentIsShownAsConsulShowsIt(t *testing.T) {
	const (
		service = `{"ID":"web-1","Service":"web","Tags":["blue","v1"],"Address":"","Meta":{"a":"b"},"Port":80,"Weights":{"Passing":3,"Warning":1},` +
			`"EnableTagOverride":false,"CreateIndex":0,"ModifyIndex":0,"Datacenter":"dc1"}`
		disk = `{"Node":"web-A","CheckID":"disk","Name":"disk","Status":"passing","Notes":"","Output":"","ServiceID":"","ServiceName":SERVICE,` +
			`"ServiceTags":[],"Type":"ttl","Interval":"","Timeout":"","ExposedPort":0,"Definition":{},"CreateIndex":0,"ModifyIndex":0}`
		up = `{"Node":"web-A","CheckID":"up","Name":"web up","Status":"STATUS","Notes":"","Output":"ok","ServiceID":"web-1","ServiceName":"web",` +
			`"ServiceTags":TAGS,"Type":"http","Interval":"10s","Timeout":"2s","ExposedPort":0,"Definition":{"Interval":"10s","Timeout":"2s"},"CreateIndex":0,"ModifyIndex":0}`
	)
	health := `{"AggregatedStatus":"STATUS","Service":` + service + `,"Checks":[` + strings.ReplaceAll(disk, "SERVICE", `"web"`) + "," + strings.ReplaceAll(up, "TAGS", "[]") + `]}`
	for status, code := range map[string]int{"passing": 200, "warning": 429, "critical": 503} {
		h, err := consulhttp.New(consulhttp.Options{Conn: &island{leader: true}, Version: "test", Agent: machine{status: tenurev1.CheckStatus(
			tenurev1.CheckStatus_value["CHECK_STATUS_"+strings.ToUpper(status)],
		)}})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]struct {
			code int
			body string
		}{
			"self": {200, `{"Config":{"Datacenter":"dc1","NodeName":"web-A","NodeID":"` + idA + `","Server":false,"Revision":"tenure-test","Version":"1.22.0",` +
				`"SessionTTLMin":10000000000},"DebugConfig":{},"Member":{"Name":"web-A","Addr":"10.0.0.1","Port":7403,"Tags":{"build":"1.22.0:tenure-test","dc":"dc1",` +
				`"id":"` + idA + `","role":"node","vsn":"2"},"Status":1,"ProtocolMin":1,"ProtocolMax":5,"ProtocolCur":2,"DelegateMin":2,"DelegateMax":5,"DelegateCur":4},` +
				`"Meta":{},"Stats":{"build":{"revision":"tenure-test","version":"1.22.0"},"consul":{"known_servers":"2","server":"false"}}}`},
			"version":                             {200, `{"SHA":"tenure-test","BuildDate":"","HumanVersion":"1.22.0","FIPS":""}`},
			"services":                            {200, `{"web-1":` + service + `}`},
			"service/web-1":                       {200, service},
			"checks":                              {200, `{"disk":` + strings.ReplaceAll(disk, "SERVICE", `""`) + `,"up":` + strings.ReplaceAll(up, "TAGS", `["blue","v1"]`) + `}`},
			"health/service/id/web-1":             {code, health},
			"health/service/name/web":             {code, "[" + health + "]"},
			"health/service/name/web?format=text": {code, "STATUS"},
			"service/none":                        {404, "unknown service ID: none"},
			"service/":                            {400, "Missing service"},
			"service/web-1?hash=1":                {400, "Parameter hash is not supported; wait for changes with health/service."},
			"health/service/id/":                  {400, "Missing service"},
			"health/service/name/":                {400, "Missing service Name"},
			"health/service/id/none":              {404, "ServiceId none not found"},
			"health/service/name/none":            {404, "ServiceName none Not Found"},
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/agent/"+path, nil))
			body := strings.ReplaceAll(want.body, "STATUS", status)
			if w.Code != want.code || w.Body.String() != body && (w.Code == 200 || !strings.HasPrefix(w.Body.String(), body)) {
				t.Errorf("%s, %s: got %d %s, want %d %s", path, status, w.Code, w.Body, want.code, body)
			}
		}
	}
}

// TestRequestsThatAreWrongForAnAgent is the table of what is refused before the agent hears of it.
func TestRequestsThatAreWrongForAnAgent(t *testing.T) {
	h, err := consulhttp.New(consulhttp.Options{Conn: &island{leader: true}, Version: "test", Agent: machine{}})
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]struct {
		body string
		code int
		text string
	}{
		"PUT service/register":                       {"{", 400, "Request decode failed: the body must be a JSON object as for Consul."},
		"PUT service/register?a":                     {`{"ID":"x"}`, 400, "Missing service name"},
		"PUT service/register?proxy":                 {`{"Name":"x","Kind":"connect-proxy"}`, 400, "Tenure has no service mesh; leave out Kind, Connect and Proxy."},
		"PUT service/register?docker":                {`{"Name":"x","Check":{"DockerContainerID":"x"}}`, 400, "Checks of the kind DockerContainerID are not supported; use HTTP, TCP, GRPC, Args, TTL or an alias."},
		"PUT service/register?kind":                  {`{"Name":"x","Check":{"Notes":"y"}}`, 400, `The check "service:x" has no kind: it needs HTTP, TCP, GRPC, Args, TTL, AliasNode or AliasService.`},
		"PUT service/register?snake":                 {`{"Name":"x","Check":{"docker_container_id":"x"}}`, 400, "Checks of the kind DockerContainerID are not supported;"},
		"PUT check/register?tls":                     {`{"Name":"x","TCP":"x:1","TCPUseTLS":true,"Interval":"10s"}`, 400, "Checks with TCPUseTLS are not supported;"},
		"PUT check/register?snake":                   {`{"Name":"x","os_service":"x","ttl":"1m"}`, 400, "Checks of the kind OSService are not supported;"},
		"PUT service/deregister/":                    {"", 400, "Missing service ID"},
		"PUT service/maintenance/?enable=true":       {"", 400, "Missing service ID"},
		"PUT service/maintenance/x":                  {"", 400, "Missing value for enable: it must be true or false."},
		"PUT maintenance?enable=perhaps":             {"", 400, "Missing value for enable: it must be true or false."},
		"PUT check/register":                         {"[]", 400, "Request decode failed: the body must be a JSON object as for Consul."},
		"PUT check/deregister/":                      {"", 400, "Missing check ID"},
		"PUT check/deregister/liveness":              {"", 400, `"liveness" cannot be the id`},
		"PUT check/pass/":                            {"", 400, "Missing check ID"},
		"PUT check/warn/":                            {"", 400, "Missing check ID"},
		"PUT check/fail/":                            {"", 400, "Missing check ID"},
		"PUT check/update/":                          {`{"Status":"passing"}`, 400, "Missing check ID"},
		"PUT check/update/x":                         {`{}`, 400, "Invalid check status: ''"},
		"PUT check/update/x?decode":                  {`x`, 400, "Request decode failed: the body must be a JSON object as for Consul."},
		"GET members?wan=1":                          {"", 501, "Tenure has no pools that span datacenters; leave out wan."},
		"PUT force-leave/":                           {"", 400, "Missing node name"},
		"GET service/%ff":                            {"", 404, "unknown service ID: \uFFFD"},
		"POST check/register":                        {"", 405, "method POST not allowed"},
		"GET maintenance?enable=true&reason=unknown": {"", 405, "method GET not allowed"},
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/v1/agent/"+path, strings.NewReader(want.body)))
		if w.Code != want.code || !strings.HasPrefix(w.Body.String(), want.text) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s %s: got %d %s, want %d %s", request, want.body, w.Code, w.Body, want.code, want.text)
		}
	}
}

// late is an agent whose node is registered only when somebody waits for it.
type late struct {
	machine
	settle func(within time.Duration)
}

// Settled registers the node, or does not.
func (l late) Settled(ctx context.Context) {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(time.Hour)
	}
	l.settle(time.Until(end))
}

// TestASessionWaitsForTheFirstRegistrationOfItsAgent creates sessions before the agent is in the catalog.
func TestASessionWaitsForTheFirstRegistrationOfItsAgent(t *testing.T) {
	settle := func(within time.Duration) {
		if within > 5*time.Second {
			t.Errorf("it may wait for %v, want at most 5 s", within)
		}
	}
	r := newRig(t, func(o *consulhttp.Options) { o.Agent = late{settle: func(within time.Duration) { settle(within) }} })
	r.want("PUT", "/v1/session/create", "", 500, "Missing node registration")
	unregistered := settle
	settle = func(within time.Duration) {
		unregistered(within)
		r.want("PUT", "/v1/catalog/register", registerA, 200, "true")
	}
	if got := r.info(r.session("")); got.Node != "web-A" || !slices.Equal(got.NodeChecks, []string{"serfHealth"}) {
		t.Errorf("got a session on %q with %q, want that it is bound to the node of the agent", got.Node, got.NodeChecks)
	}
}
