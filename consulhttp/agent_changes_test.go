package consulhttp_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// hearing is an agent that takes all changes, and is settled after a time.
type hearing struct {
	machine
	settled time.Duration
	heard   proto.Message
}

// Settled waits until the catalog is as the agent has it.
func (h *hearing) Settled(ctx context.Context) {
	select {
	case <-time.After(h.settled):
	case <-ctx.Done():
	}
}

// AddAgentService takes an instance.
func (h *hearing) AddAgentService(
	_ context.Context, r *tenurev1.AddAgentServiceRequest, _ ...grpc.CallOption,
) (*tenurev1.AddAgentServiceResponse, error) {
	h.heard = r
	return &tenurev1.AddAgentServiceResponse{}, nil
}

// RemoveAgentService takes an instance away.
func (h *hearing) RemoveAgentService(
	_ context.Context, r *tenurev1.RemoveAgentServiceRequest, _ ...grpc.CallOption,
) (*tenurev1.RemoveAgentServiceResponse, error) {
	h.heard = r
	return &tenurev1.RemoveAgentServiceResponse{Removed: true}, nil
}

// AddAgentCheck takes a check.
func (h *hearing) AddAgentCheck(_ context.Context, r *tenurev1.AddAgentCheckRequest, _ ...grpc.CallOption) (*tenurev1.AddAgentCheckResponse, error) {
	h.heard = r
	return &tenurev1.AddAgentCheckResponse{}, nil
}

// RemoveAgentCheck takes a check away.
func (h *hearing) RemoveAgentCheck(
	_ context.Context, r *tenurev1.RemoveAgentCheckRequest, _ ...grpc.CallOption,
) (*tenurev1.RemoveAgentCheckResponse, error) {
	h.heard = r
	return &tenurev1.RemoveAgentCheckResponse{Removed: true}, nil
}

// ReportCheck takes a report.
func (h *hearing) ReportCheck(_ context.Context, r *tenurev1.ReportCheckRequest, _ ...grpc.CallOption) (*tenurev1.ReportCheckResponse, error) {
	h.heard = r
	return &tenurev1.ReportCheckResponse{}, nil
}

// SetMaintenance takes a machine or an instance out of service.
func (h *hearing) SetMaintenance(_ context.Context, r *tenurev1.SetMaintenanceRequest, _ ...grpc.CallOption) (*tenurev1.SetMaintenanceResponse, error) {
	h.heard = r
	return &tenurev1.SetMaintenanceResponse{}, nil
}

// ttl returns a check whose program reports within a minute.
func ttl(id, name, service string) *tenurev1.Check {
	return &tenurev1.Check{
		CheckId: id, Name: name, ServiceId: service, Definition: &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(time.Minute)}}},
	}
}

// agentChanges are changes of an agent, each with what the agent is told.
func agentChanges() map[string]struct {
	body string
	told proto.Message
} {
	web := &tenurev1.Service{ServiceId: "web-1", Name: "web", Tags: []string{"blue"}, Port: 80}
	return map[string]struct {
		body string
		told proto.Message
	}{
		"service/register": {`{"Name":"web"}`, &tenurev1.AddAgentServiceRequest{Service: &tenurev1.Service{ServiceId: "web", Name: "web"}}},
		"service/register?replace-existing-checks": {
			`{"id":"web-1","name":"web","tags":["blue"],"port":80,"check":{"ttl":"1m"}}`,
			&tenurev1.AddAgentServiceRequest{Service: web, ReplaceChecks: true, Checks: []*tenurev1.Check{ttl("service:web-1", "Service 'web' check", "web-1")}},
		},
		"service/register?two": {
			`{"ID":"web-1","Name":"web","Tags":["blue"],"Port":80,"Check":{"TTL":"60s"},"Checks":[{"TTL":"1m","Name":"second"},{"TTL":"1m","CheckID":"own"}]}`,
			&tenurev1.AddAgentServiceRequest{Service: web, Checks: []*tenurev1.Check{
				ttl("service:web-1:1", "Service 'web' check", "web-1"), ttl("service:web-1:2", "second", "web-1"), ttl("own", "Service 'web' check", "web-1"),
			}},
		},
		"service/register?empty": {
			`{"Name":"web","Check":{},"Checks":null}`, &tenurev1.AddAgentServiceRequest{Service: &tenurev1.Service{ServiceId: "web", Name: "web"}},
		},
		"service/register?snake": {
			`{"id":"web-1","name":"web","tags":["blue"],"port":80,"enable_tag_override":true,"tagged_addresses":{"a_b":{"address":"x"}},"meta":{"a_b":"c"},"check":{"ttl":"1m"}}`,
			&tenurev1.AddAgentServiceRequest{
				Service: &tenurev1.Service{ServiceId: "web-1", Name: "web", Tags: []string{"blue"}, Port: 80, TagOverride: true, Meta: map[string]string{"a_b": "c"}},
				Checks:  []*tenurev1.Check{ttl("service:web-1", "Service 'web' check", "web-1")},
			},
		},
		"service/register?snakes": {
			`{"Name":"web","Checks":[{"script_args":["a","b"],"interval":"10s"},{"alias_node":"n","alias_service":"s"}]}`,
			&tenurev1.AddAgentServiceRequest{Service: &tenurev1.Service{ServiceId: "web", Name: "web"}, Checks: []*tenurev1.Check{
				{CheckId: "service:web:1", Name: "Service 'web' check", ServiceId: "web", Definition: &tenurev1.CheckDefinition{
					Kind: &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: []string{"a", "b"}}}, Interval: durationpb.New(10 * time.Second),
				}},
				{CheckId: "service:web:2", Name: "Service 'web' check", ServiceId: "web", Definition: &tenurev1.CheckDefinition{
					Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "n", ServiceId: "s"}},
				}},
			}},
		},
		"check/register?snake": {
			`{"check_id":"c","name":"disk","service_id":"web-1","http":"https://x","header":{"x_y":["1"]},"tls_skip_verify":true,"tls_server_name":"y","interval":"10s",` +
				`"deregister_critical_service_after":"1h","success_before_passing":1,"failures_before_warning":2,"failures_before_critical":3}`,
			&tenurev1.AddAgentCheckRequest{Check: &tenurev1.Check{CheckId: "c", Name: "disk", ServiceId: "web-1", Definition: &tenurev1.CheckDefinition{
				Kind: &tenurev1.CheckDefinition_Http{Http: &tenurev1.HttpCheck{
					Url: "https://x", TlsSkipVerify: true, TlsServerName: "y", FollowRedirects: true, Headers: []*tenurev1.HttpHeader{{Name: "x_y", Values: []string{"1"}}},
				}},
				Interval: durationpb.New(10 * time.Second), DeregisterCriticalAfter: durationpb.New(time.Hour),
				SuccessBeforePassing: 1, FailuresBeforeWarning: 2, FailuresBeforeCritical: 3,
			}}},
		},
		"check/register?redirects": {
			`{"Name":"web","HTTP":"http://x","disable_redirects":true,"Interval":"10s"}`,
			&tenurev1.AddAgentCheckRequest{Check: &tenurev1.Check{CheckId: "web", Name: "web", Definition: &tenurev1.CheckDefinition{
				Kind: &tenurev1.CheckDefinition_Http{Http: &tenurev1.HttpCheck{Url: "http://x"}}, Interval: durationpb.New(10 * time.Second),
			}}},
		},
		"check/register?spellings": {
			`{"ID":"d","Name":"disk","GRPC":"x:1","GRPCUseTLS":true,"grpc_use_tls":false,"service_id":"other","ServiceID":"web-1","Interval":"10s"}`,
			&tenurev1.AddAgentCheckRequest{Check: &tenurev1.Check{CheckId: "d", Name: "disk", ServiceId: "web-1", Definition: &tenurev1.CheckDefinition{
				Kind: &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{Address: "x:1", Tls: true}}, Interval: durationpb.New(10 * time.Second),
			}}},
		},
		"service/deregister/web-1":                          {"", &tenurev1.RemoveAgentServiceRequest{ServiceId: "web-1"}},
		"service/maintenance/web-1?enable=true&reason=disk": {"", &tenurev1.SetMaintenanceRequest{ServiceId: "web-1", Enabled: true, Reason: "disk"}},
		"maintenance?enable=false":                          {"", &tenurev1.SetMaintenanceRequest{}},
		"check/register":                                    {`{"Name":"disk","TTL":"1m"}`, &tenurev1.AddAgentCheckRequest{Check: ttl("disk", "disk", "")}},
		"check/register?id":                                 {`{"ID":"d","Name":"disk","TTL":"1m"}`, &tenurev1.AddAgentCheckRequest{Check: ttl("d", "disk", "")}},
		"check/register?both": {
			`{"ID":"d","CheckID":"c","Name":"disk","ServiceID":"web-1","TTL":"1m"}`, &tenurev1.AddAgentCheckRequest{Check: ttl("c", "disk", "web-1")},
		},
		"check/deregister/disk": {"", &tenurev1.RemoveAgentCheckRequest{CheckId: "disk"}},
		"check/pass/disk?note=fine": {
			"", &tenurev1.ReportCheckRequest{CheckId: "disk", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING, Output: "fine"},
		},
		"check/warn/service:web-1": {"", &tenurev1.ReportCheckRequest{CheckId: "service:web-1", Status: tenurev1.CheckStatus_CHECK_STATUS_WARNING}},
		"check/fail/disk":          {"", &tenurev1.ReportCheckRequest{CheckId: "disk", Status: tenurev1.CheckStatus_CHECK_STATUS_CRITICAL}},
		"check/update/disk": {
			`{"Status":"warning","Output":"full"}`,
			&tenurev1.ReportCheckRequest{CheckId: "disk", Status: tenurev1.CheckStatus_CHECK_STATUS_WARNING, Output: "full"},
		},
	}
}

// TestChangesOfAnAgentAreAnsweredOnceTheCatalogHasThem looks at what the agent is told, and when the answer comes: once the agent is settled, and
// after a second in any case.
func TestChangesOfAnAgentAreAnsweredOnceTheCatalogHasThem(t *testing.T) {
	for path, change := range agentChanges() {
		for settled, want := range map[time.Duration]time.Duration{0: 0, 300 * time.Millisecond: 300 * time.Millisecond, time.Hour: time.Second} {
			synctest.Test(t, func(t *testing.T) {
				agent := &hearing{settled: settled}
				h, err := consulhttp.New(consulhttp.Options{Conn: &island{leader: true}, Version: "test", Agent: agent})
				if err != nil {
					t.Fatal(err)
				}
				w, began := httptest.NewRecorder(), time.Now()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "PUT", "/v1/agent/"+path, strings.NewReader(change.body)))
				if w.Code != 200 || w.Body.String() != "" {
					t.Errorf("%s: got %d %s, want 200 without a body", path, w.Code, w.Body)
				}
				if took := time.Since(began); took != want {
					t.Errorf("%s: the catalog has it after %v, and the answer came after %v, want %v", path, settled, took, want)
				}
				if !proto.Equal(agent.heard, change.told) {
					t.Errorf("%s: the agent was told %v, want %v", path, agent.heard, change.told)
				}
			})
		}
	}
}
