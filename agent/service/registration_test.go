package service_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/keep"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	"github.com/tenure-io/tenure/agent/service"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/reason"
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
		Sync:   func() antientropy.State { return antientropy.State{} }, Boot: func() uint64 { return 1 },
		Leave: func() error { return nil }, Gossip: func() string { return "" },
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
	path := t.TempDir()
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
			Weights: &tenurev1.ServiceWeights{Passing: 1, Warning: 1},
		},
		Checks: fullChecks(),
	}
}

// fullChecks are checks of each kind, with something in each field.
func fullChecks() []*tenurev1.Check {
	probe := func() *tenurev1.CheckDefinition {
		return &tenurev1.CheckDefinition{
			Interval: durationpb.New(1e9), Timeout: durationpb.New(1e9), SuccessBeforePassing: 1, FailuresBeforeWarning: 1, FailuresBeforeCritical: 2,
			DeregisterCriticalAfter: durationpb.New(3600e9),
		}
	}
	kinds := map[string]*tenurev1.CheckDefinition{"ttl": {Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(60e9)}}}}
	for name, set := range map[string]func(*tenurev1.CheckDefinition){
		"http": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Http{Http: &tenurev1.HttpCheck{
				Url: "http://127.0.0.1/", Method: "GET", Body: "b", Headers: []*tenurev1.HttpHeader{{Name: "A", Values: []string{"b"}}}, TlsServerName: "n",
				TlsCaFile: "f",
			}}
		},
		"tcp": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: "127.0.0.1:1"}}
		},
		"grpc": func(d *tenurev1.CheckDefinition) {
			d.Kind = &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{Address: "127.0.0.1:1", Service: "s", Tls: true, TlsServerName: "n", TlsCaFile: "f"}}
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

// place sets one field of a message to one value; it is called with a copy of the message.
type place func(m protoreflect.Message)

// places are all values of the table of hostile values, in each field of a message that is there.
func places(name string, m protoreflect.Message, to func(place) place) map[string]place {
	all := map[string]place{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		field := name + "." + string(f.Name())
		set := func(what string, value func(protoreflect.Message) protoreflect.Value) {
			all[field+" "+what] = to(func(m protoreflect.Message) { m.Set(f, value(m)) })
		}
		all[field+" is missing"] = to(func(m protoreflect.Message) { m.Clear(f) })
		switch {
		case f.IsMap():
			for what, text := range hostileTexts() {
				all[field+" has the name "+what] = to(func(m protoreflect.Message) {
					m.Mutable(f).Map().Set(protoreflect.ValueOfString(text).MapKey(), protoreflect.ValueOfString("v"))
				})
				all[field+" has the value "+what] = to(func(m protoreflect.Message) {
					m.Mutable(f).Map().Set(protoreflect.ValueOfString("n").MapKey(), protoreflect.ValueOfString(text))
				})
			}
			all[field+" has many"] = to(func(m protoreflect.Message) {
				for i := range 65 {
					m.Mutable(f).Map().Set(protoreflect.ValueOfString(fmt.Sprint(i)).MapKey(), protoreflect.ValueOfString("v"))
				}
			})
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				maps.Copy(all, places(fmt.Sprintf("%s[%d]", field, i), v.List().Get(i).Message(), func(at place) place {
					return to(func(m protoreflect.Message) { at(m.Mutable(f).List().Get(i).Message()) })
				}))
			}
			all[field+" has many"] = to(func(m protoreflect.Message) {
				for range 3000 {
					m.Mutable(f).List().AppendMutable()
				}
			})
		case f.IsList():
			for what, text := range hostileTexts() {
				all[field+" has "+what] = to(func(m protoreflect.Message) { m.Mutable(f).List().Append(protoreflect.ValueOfString(text)) })
			}
			all[field+" has many"] = to(func(m protoreflect.Message) {
				for i := range 129 {
					m.Mutable(f).List().Append(protoreflect.ValueOfString(fmt.Sprint(i)))
				}
			})
		case f.Kind() == protoreflect.MessageKind:
			maps.Copy(all, places(field, v.Message(), func(at place) place {
				return to(func(m protoreflect.Message) { at(m.Mutable(f).Message()) })
			}))
		case f.Kind() == protoreflect.StringKind:
			for what, text := range hostileTexts() {
				set("is "+what, func(protoreflect.Message) protoreflect.Value { return protoreflect.ValueOfString(text) })
			}
		case f.Kind() == protoreflect.Uint32Kind:
			for _, n := range []uint32{0, 1, 1000, 1001, 65_535, 65_536, 1 << 31, 1<<32 - 1} {
				set(fmt.Sprint("is ", n), func(protoreflect.Message) protoreflect.Value { return protoreflect.ValueOfUint32(n) })
			}
		case f.Kind() == protoreflect.Int64Kind, f.Kind() == protoreflect.Int32Kind:
			for _, n := range []int64{-1 << 63, -1 << 31, -1, 0, 1, 1<<31 - 1, 1 << 32, 315_576_000_000, 315_576_000_001, 1<<63 - 1} {
				set(fmt.Sprint("is ", n), func(protoreflect.Message) protoreflect.Value {
					if f.Kind() == protoreflect.Int32Kind {
						return protoreflect.ValueOfInt32(int32(n))
					}
					return protoreflect.ValueOfInt64(n)
				})
			}
		case f.Kind() == protoreflect.EnumKind:
			for _, n := range []protoreflect.EnumNumber{-1, 0, 1, 2, 3, 4, 99} {
				set(fmt.Sprint("is ", n), func(protoreflect.Message) protoreflect.Value { return protoreflect.ValueOfEnum(n) })
			}
		}
		return true
	})
	return all
}

// hostileTexts are what stands in each place of a text, one after the other. What is not UTF-8 is refused before it comes here.
func hostileTexts() map[string]string {
	texts := map[string]string{
		"empty": "", "a blank": " ", "a slash": "a/b", "control characters": "a\x00\r\n\x7f", "a line separator": "a\u2028b", "a letter beyond ASCII": "ä",
		"the cluster's check": "liveness", "Consul's check": "serfHealth", "maintenance": "_maintenance", "maintenance of a service": "_maintenance:s",
		"a URL of a file": "file:///etc/passwd", "an address without a port": "127.0.0.1", "a port too high": "127.0.0.1:65536",
	}
	for _, n := range []int{242, 243, 255, 256, 512, 513, 4096, 4097, 8192, 8193, 16_384, 100_000} {
		texts[fmt.Sprintf("of %d bytes", n)] = strings.Repeat("x", n)
	}
	texts["a URL of 4 096 bytes"] = "http://h/" + strings.Repeat("x", 4096-9)
	texts["a long address"] = strings.Repeat("h", 4000) + ":1"
	return texts
}

// Whatever a registration says in any of its fields: it is refused with a reason, or a member takes it, and a restart keeps it.
func TestWhatAnAgentTakesMembersTake(t *testing.T) {
	requests := map[string]proto.Message{"service": fullService()}
	for _, c := range fullChecks() {
		requests["check "+c.GetCheckId()] = &tenurev1.AddAgentCheckRequest{Check: c}
	}
	cases, taken := 0, 0
	for name, request := range requests {
		for what, at := range places(name, request.ProtoReflect(), func(p place) place { return p }) {
			a := newAgent()
			changed := proto.Clone(request)
			at(changed.ProtoReflect())
			cases++
			if !a.ask(t, changed) {
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
