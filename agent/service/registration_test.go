package service_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/keep"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	"github.com/tenure-io/tenure/agent/service"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/test/fields"
)

// agent is a service with its registry, whose calls make nothing durable.
type agent struct {
	*service.Service
	registry *registry.Registry
}

func newAgent() agent {
	r := registry.New(registry.Options{Node: "web1", ExecFromAPI: true, ExecFromFile: true}, nil)
	return agent{registry: r, Service: service.New(service.Options{
		Self: service.Self{Node: "web1"}, Registry: r, Save: func() error { return nil },
		Reload: func() (registry.Content, error) { return registry.Content{}, nil },
		Sync:   func() antientropy.State { return antientropy.State{} }, Brief: func() antientropy.State { return antientropy.State{} }, Boot: func() uint64 { return 1 },
		Leave: func(context.Context) error { return nil }, Gossip: func() string { return "" },
		Header: func() *tenurev1.ResponseHeader { return &tenurev1.ResponseHeader{} },
	})}
}

// ask makes a call with a request, and returns whether it was taken. A refusal must say why.
func (a agent) ask(t *testing.T, request proto.Message) (taken bool) {
	t.Helper()
	var err error
	ctx := context.Background()
	switch r := request.(type) {
	case *tenurev1.AddAgentServiceRequest:
		_, err = a.AddAgentService(ctx, r)
	case *tenurev1.AddAgentCheckRequest:
		_, err = a.AddAgentCheck(ctx, r)
	case *tenurev1.SetMaintenanceRequest:
		_, err = a.SetMaintenance(ctx, r)
	case *tenurev1.ReportCheckRequest:
		_, err = a.ReportCheck(ctx, r)
	case *tenurev1.RemoveAgentServiceRequest:
		_, err = a.RemoveAgentService(ctx, r)
	case *tenurev1.RemoveAgentCheckRequest:
		_, err = a.RemoveAgentCheck(ctx, r)
	default:
		t.Fatalf("no call takes a %T", request)
	}
	if err == nil {
		return true
	}
	if e := reason.Of(err); e == nil || e.Message == "" {
		t.Errorf("the refusal has no reason: %v", err)
	}
	return false
}

// isSyncable demands that a member takes all that an agent has taken: else the catalog would never be as the agent says.
func (a agent) isSyncable(t *testing.T) {
	t.Helper()
	services, checks := a.registry.Rows()
	r := &tenurev1.SyncNodeRequest{NodeId: "00000000-0000-4000-8000-000000000001", Sync: &tenurev1.SyncNumber{Boot: 1, Number: 1}}
	for _, s := range services {
		r.Services = append(r.Services, message.Service(s.WithDefaults()))
	}
	for _, c := range checks {
		r.Checks = append(r.Checks, message.Check(c.Definition, c.State))
	}
	if len(r.GetServices())+len(r.GetChecks()) > 100 {
		return // The agent sends them in parts.
	}
	if _, err := catalog.SyncFromProto(r); err != nil {
		t.Errorf("the agent took it, and no member will: %v", err)
	}
}

// comesBack demands that an agent that starts again takes from its directory what it had.
func (a agent) comesBack(t *testing.T) {
	t.Helper()
	path := inMemory(t)
	had := a.registry.Registered()
	first, err := keep.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err = first.SetRegistered(had); err != nil {
		t.Error(err)
	}
	if err = first.Close(); err != nil {
		t.Error(err)
	}
	second, err := keep.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	has, err := second.Registered()
	if err != nil {
		t.Fatalf("what was taken cannot be read again: %v", err)
	}
	again := newAgent()
	if err = again.registry.Add(registry.Addition{Content: has, Source: registry.API}); err != nil {
		t.Errorf("what was taken is refused after a restart: %v", err)
	}
	if had, has := texts(a.registry), texts(again.registry); !slices.Equal(had, has) {
		t.Errorf("it had %q, and after a restart has %q", had, has)
	}
}

// inMemory returns a directory that is in memory where the system has one: each restart makes a dozen things durable, which takes a disk up to
// some 100 ms, and it is not the disk that is tested.
func inMemory(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "tenure-agent-") //nolint:usetesting // T's directories are on the disk.
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}

// texts returns all that a registry has, as messages.
func texts(r *registry.Registry) []string {
	var all []string
	c := r.Registered()
	marshal := proto.MarshalOptions{Deterministic: true}
	add := func(m proto.Message) {
		raw, err := marshal.Marshal(m)
		all = append(all, fmt.Sprint(string(raw), err))
	}
	for _, s := range c.Services {
		add(message.Service(s))
	}
	for _, d := range c.Checks {
		add(message.Registration(d))
	}
	slices.Sort(all)
	return all
}

// fullService is a registration with something in each field.
func fullService() *tenurev1.AddAgentServiceRequest {
	return &tenurev1.AddAgentServiceRequest{
		Service: &tenurev1.Service{
			ServiceId: "s", Name: "web", Tags: []string{"a"}, Address: "10.0.0.1", Port: 80, Meta: map[string]string{"a": "b"},
			Weights: &tenurev1.ServiceWeights{Passing: 1, Warning: 1}, TagOverride: true,
		},
		Checks: fullChecks(), ReplaceChecks: true,
	}
}

// fullChecks are checks of each kind, with something in each field.
func fullChecks() []*tenurev1.Check {
	probe := func() *tenurev1.CheckDefinition {
		return &tenurev1.CheckDefinition{
			Interval: durationpb.New(1e9 + 1), Timeout: durationpb.New(1e9), SuccessBeforePassing: 1, FailuresBeforeWarning: 1, FailuresBeforeCritical: 2,
			DeregisterCriticalAfter: durationpb.New(3600e9),
		}
	}
	kinds := map[string]*tenurev1.CheckDefinition{"ttl": {Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(60e9)}}}}
	for name, set := range map[string]func(*tenurev1.CheckDefinition){
		"http": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Http{Http: &tenurev1.HttpCheck{
				Url: "http://127.0.0.1/", Method: "GET", Body: "b", Headers: []*tenurev1.HttpHeader{{Name: "A", Values: []string{"b"}}}, TlsServerName: "n",
				TlsCaFile: "f", TlsSkipVerify: true, FollowRedirects: true,
			}}
		},
		"tcp": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: "127.0.0.1:1"}}
		},
		"grpc": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{
				Address: "127.0.0.1:1", Service: "s", Tls: true, TlsServerName: "n", TlsCaFile: "f", TlsSkipVerify: true,
			}}
		},
		"exec": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: []string{"true", "a"}}}
		},
		"alias": func(d *tenurev1.CheckDefinition) {
			*d = tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: "web2", ServiceId: "s"}}}
		},
	} {
		kinds[name] = probe()
		set(kinds[name])
	}
	var all []*tenurev1.Check
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		all = append(all, &tenurev1.Check{CheckId: name, Name: "n", Notes: "n", Status: tenurev1.CheckStatus_CHECK_STATUS_WARNING, Definition: kinds[name]})
	}
	return all
}

// answered are the fields that registrations ignore, because only answers set them.
var answered = []string{
	"tenure.v1.Service.node", "tenure.v1.Service.create_revision", "tenure.v1.Service.mod_revision", "tenure.v1.Service.origin",
	"tenure.v1.Check.node", "tenure.v1.Check.service_id", "tenure.v1.Check.service_name", "tenure.v1.Check.output", "tenure.v1.Check.kind",
	"tenure.v1.Check.create_revision", "tenure.v1.Check.mod_revision", "tenure.v1.Check.origin",
}

// Whatever a registration says in any of its fields: it is refused with a reason, or a member takes it, and a restart keeps it.
func TestWhatAnAgentTakesMembersTake(t *testing.T) {
	requests := map[string]proto.Message{"service": fullService()}
	for _, c := range fullChecks() {
		requests["check "+c.GetCheckId()] = &tenurev1.AddAgentCheckRequest{Check: c}
	}
	for _, field := range fields.Unset(slices.Collect(maps.Values(requests))...) {
		if !slices.Contains(answered, field) {
			t.Errorf("this test gives %s no value", field)
		}
	}
	cases, taken := 0, 0
	for name, request := range requests {
		for field, at := range fields.Places(request) {
			a, what := newAgent(), name+": "+field
			cases++
			if !a.ask(t, at.In(request)) {
				continue
			}
			taken++
			services, checks := a.registry.Rows()
			for _, s := range services {
				a.ask(t, &tenurev1.SetMaintenanceRequest{ServiceId: s.ID, Enabled: true, Reason: strings.Repeat("r", 1024)})
			}
			for _, c := range checks {
				a.ask(t, &tenurev1.ReportCheckRequest{CheckId: c.Definition.ID, Output: strings.Repeat("ä", 5000)})
			}
			if a.isSyncable(t); t.Failed() {
				t.Fatal(what)
			}
			if a.comesBack(t); t.Failed() {
				t.Fatal(what)
			}
		}
	}
	if t.Logf("%d registrations, of which %d were taken", cases, taken); taken < 100 || taken > cases/2 || !newAgent().ask(t, fullService()) {
		t.Errorf("floor: %d registrations, of which %d were taken", cases, taken)
	}
}

// FuzzRegistration: whatever calls an agent is asked, each is refused with a reason, or a member takes what it left, and a restart keeps it.
func FuzzRegistration(f *testing.F) {
	seed := func(kind byte, m proto.Message) {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, raw, byte(2), []byte("\n\x01s\x10\x01"), byte(3), []byte("\n\x03ttl"))
	}
	seed(0, fullService())
	for _, c := range fullChecks() {
		seed(1, &tenurev1.AddAgentCheckRequest{Check: c})
		one := fullService()
		one.Checks = []*tenurev1.Check{c}
		seed(0, one)
	}
	f.Fuzz(func(t *testing.T, kind1 byte, raw1 []byte, kind2 byte, raw2 []byte, kind3 byte, raw3 []byte) {
		a := newAgent()
		taken := false
		for _, call := range []struct {
			kind byte
			raw  []byte
		}{{kind1, raw1}, {kind2, raw2}, {kind3, raw3}} {
			requests := []proto.Message{
				&tenurev1.AddAgentServiceRequest{}, &tenurev1.AddAgentCheckRequest{}, &tenurev1.SetMaintenanceRequest{}, &tenurev1.ReportCheckRequest{},
				&tenurev1.RemoveAgentServiceRequest{}, &tenurev1.RemoveAgentCheckRequest{},
			}
			request := requests[int(call.kind)%len(requests)]
			if proto.Unmarshal(call.raw, request) == nil && a.ask(t, request) {
				taken = true
			}
		}
		if taken {
			a.isSyncable(t)
			a.comesBack(t)
		}
	})
}
