package message_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestThereAndBack(t *testing.T) {
	kinds := []check.Kind{
		check.TTL{TTL: 30 * time.Second},
		check.HTTP{URL: "https://a/b", Method: "PUT", Header: map[string][]string{"A": {"b", "c"}, "D": {"e"}}, Body: "x", FollowRedirects: true, TLS: check.TLS{ServerName: "n", CAFile: "ca", SkipVerify: true}},
		check.TCP{Address: "a:1"},
		check.GRPC{Address: "a:1", Service: "s", TLS: &check.TLS{ServerName: "n", CAFile: "ca", SkipVerify: true}},
		check.GRPC{Address: "a:1"},
		check.Exec{Args: []string{"a", "", "b"}},
		check.Alias{Node: "n", Service: "s"},
	}
	for _, kind := range kinds {
		d := check.Definition{ID: "c", Name: "name", Notes: "notes", ServiceID: "s", Kind: kind, Status: check.Warning}
		d.Interval, d.Timeout, d.DeregisterCriticalAfter = time.Second, 2*time.Second, time.Hour
		d.SuccessBeforePassing, d.FailuresBeforeWarning, d.FailuresBeforeCritical = 1, 2, 3
		got, violations := message.ToDefinition(message.Registration(d))
		if !got.Equal(d) || len(violations) > 0 {
			t.Errorf("%s: got %+v and %v, want %+v", kind.Name(), got, violations, d)
		}
	}
	s := registry.Service{ID: "w", Name: "web", Tags: []string{"a"}, Address: "h", Port: 80, Meta: map[string]string{"a": "b"}, Weights: &registry.Weights{Passing: 1, Warning: 2}, TagOverride: true}
	if got := message.ToService(message.Service(s)); !got.Equal(s) {
		t.Errorf("service: got %+v, want %+v", got, s)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	d := check.Definition{ID: "c", Kind: check.HTTP{URL: "http://a/", Header: map[string][]string{"Authorization": {"hidden-value"}}, Body: "hidden-body"}}
	text := protojson.Format(message.Check(d, check.State{Status: check.Passing, Output: "fine"}))
	if strings.Contains(text, "hidden") || !strings.Contains(text, "Authorization") || !strings.Contains(text, "PASSING") {
		t.Errorf("the catalog would show %s", text)
	}
}

func TestWhatADefinitionCannotExpress(t *testing.T) {
	tests := map[string]*tenurev1.Check{
		"status":                    {Status: 17},
		"interval":                  {Definition: &tenurev1.CheckDefinition{Interval: &durationpb.Duration{Seconds: 1, Nanos: -1}}},
		"timeout":                   {Definition: &tenurev1.CheckDefinition{Timeout: &durationpb.Duration{}}},
		"deregister_critical_after": {Definition: &tenurev1.CheckDefinition{DeregisterCriticalAfter: &durationpb.Duration{Nanos: 1 << 30}}},
		"ttl":                       {Definition: &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: &durationpb.Duration{}}}}},
	}
	for field, m := range tests {
		if _, v := message.ToDefinition(m); len(v) != 1 || v[0].Field != field {
			t.Errorf("%s: got %v", field, v)
		}
	}
	// Numbers beyond every limit do not turn into others, and empty messages do no harm.
	d, _ := message.ToDefinition(&tenurev1.Check{CheckId: "c", Definition: &tenurev1.CheckDefinition{
		FailuresBeforeCritical: 1<<32 - 1, Kind: &tenurev1.CheckDefinition_Http{},
	}})
	if got := d.FailuresBeforeCritical; got <= check.ThresholdMax {
		t.Errorf("failures_before_critical: got %d", got)
	}
	if _, v := message.ToDefinition(nil); len(v) != 0 {
		t.Errorf("nothing: got %v", v)
	}
	if got := message.ToService(nil); !got.Equal(registry.Service{}) {
		t.Errorf("no service: got %+v", got)
	}
}
