package message

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Status returns a status as a message has it.
func Status(s check.Status) tenurev1.CheckStatus {
	switch s {
	case check.Passing:
		return tenurev1.CheckStatus_CHECK_STATUS_PASSING
	case check.Warning:
		return tenurev1.CheckStatus_CHECK_STATUS_WARNING
	case check.Critical:
		return tenurev1.CheckStatus_CHECK_STATUS_CRITICAL
	default:
		return tenurev1.CheckStatus_CHECK_STATUS_UNSPECIFIED
	}
}

// ToStatus returns a status from a message; false if it is unknown.
func ToStatus(s tenurev1.CheckStatus) (check.Status, bool) {
	switch s {
	case tenurev1.CheckStatus_CHECK_STATUS_UNSPECIFIED:
		return check.Unset, true
	case tenurev1.CheckStatus_CHECK_STATUS_PASSING:
		return check.Passing, true
	case tenurev1.CheckStatus_CHECK_STATUS_WARNING:
		return check.Warning, true
	case tenurev1.CheckStatus_CHECK_STATUS_CRITICAL:
		return check.Critical, true
	default:
		return check.Unset, false
	}
}

// Service returns an instance as a message has it.
func Service(s registry.Service) *tenurev1.Service {
	m := &tenurev1.Service{
		ServiceId: s.ID, Name: s.Name, Tags: slices.Clone(s.Tags), Address: s.Address, Port: s.Port, Meta: maps.Clone(s.Meta),
		TagOverride: s.TagOverride,
	}
	if s.Weights != nil {
		m.Weights = &tenurev1.ServiceWeights{Passing: s.Weights.Passing, Warning: s.Weights.Warning}
	}
	return m
}

// ToService returns an instance from a message. Whether it may be registered is not looked at.
func ToService(m *tenurev1.Service) registry.Service {
	s := registry.Service{
		ID: m.GetServiceId(), Name: m.GetName(), Tags: slices.Clone(m.GetTags()), Address: m.GetAddress(), Port: m.GetPort(),
		Meta: maps.Clone(m.GetMeta()), TagOverride: m.GetTagOverride(),
	}
	if w := m.GetWeights(); w != nil {
		s.Weights = &registry.Weights{Passing: w.GetPassing(), Warning: w.GetWarning()}
	}
	return s
}

// Check returns a check as the catalog shows it.
func Check(d check.Definition, state check.State) *tenurev1.Check {
	m := Registration(d)
	m.Status, m.Output = Status(state.Status), state.Output
	if h := m.GetDefinition().GetHttp(); h != nil {
		h.Body = ""
		for _, header := range h.GetHeaders() {
			header.Values = nil
		}
	}
	return m
}

// Registration returns a definition whole, as it was registered; the status is the one that it begins with.
func Registration(d check.Definition) *tenurev1.Check {
	m := &tenurev1.Check{
		CheckId: d.ID, Name: d.Name, ServiceId: d.ServiceID, Notes: d.Notes, Status: Status(d.Status), Kind: d.Kind.Name(),
	}
	if _, is := d.Kind.(check.Maintenance); is {
		return m
	}
	m.Definition = &tenurev1.CheckDefinition{
		Interval: duration(d.Interval), Timeout: duration(d.Timeout),
		SuccessBeforePassing:    uint32(d.SuccessBeforePassing),
		FailuresBeforeWarning:   uint32(d.FailuresBeforeWarning),
		FailuresBeforeCritical:  uint32(d.FailuresBeforeCritical),
		DeregisterCriticalAfter: duration(d.DeregisterCriticalAfter),
	}
	setKind(m.GetDefinition(), d.Kind)
	return m
}

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func setKind(m *tenurev1.CheckDefinition, kind check.Kind) {
	switch k := kind.(type) {
	case check.TTL:
		m.Kind = &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: duration(k.TTL)}}
	case check.HTTP:
		h := &tenurev1.HttpCheck{
			Url: k.URL, Method: k.Method, Body: k.Body, FollowRedirects: k.FollowRedirects,
			TlsServerName: k.TLS.ServerName, TlsCaFile: k.TLS.CAFile, TlsSkipVerify: k.TLS.SkipVerify,
		}
		for _, name := range slices.Sorted(maps.Keys(k.Header)) {
			h.Headers = append(h.Headers, &tenurev1.HttpHeader{Name: name, Values: slices.Clone(k.Header[name])})
		}
		m.Kind = &tenurev1.CheckDefinition_Http{Http: h}
	case check.TCP:
		m.Kind = &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: k.Address}}
	case check.GRPC:
		g := &tenurev1.GrpcCheck{Address: k.Address, Service: k.Service}
		if k.TLS != nil {
			g.Tls, g.TlsServerName, g.TlsCaFile, g.TlsSkipVerify = true, k.TLS.ServerName, k.TLS.CAFile, k.TLS.SkipVerify
		}
		m.Kind = &tenurev1.CheckDefinition_Grpc{Grpc: g}
	case check.Exec:
		m.Kind = &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: slices.Clone(k.Args)}}
	case check.Alias:
		m.Kind = &tenurev1.CheckDefinition_Alias{Alias: &tenurev1.AliasCheck{Node: k.Node, ServiceId: k.Service}}
	}
}

// ToDefinition returns a definition from a message, and what a definition cannot express of it. Whether it may be
// registered is not looked at.
func ToDefinition(m *tenurev1.Check) (check.Definition, []check.Violation) {
	var v []check.Violation
	span := func(field string, d *durationpb.Duration) time.Duration {
		if d == nil {
			return 0
		}
		if d.CheckValid() != nil || d.AsDuration() == 0 {
			v = append(v, check.Violation{Field: field, Problem: "is not a duration above 0"})
		}
		return d.AsDuration()
	}
	// What is larger than any limit stays so.
	count := func(n uint32) int { return int(min(n, 1<<30)) }
	status, known := ToStatus(m.GetStatus())
	if !known {
		v = append(v, check.Violation{Field: "status", Problem: "is not a status"})
	}
	of := m.GetDefinition()
	d := check.Definition{
		ID: m.GetCheckId(), Name: m.GetName(), Notes: m.GetNotes(), ServiceID: m.GetServiceId(), Status: status,
		Interval: span("interval", of.GetInterval()), Timeout: span("timeout", of.GetTimeout()),
		SuccessBeforePassing:    count(of.GetSuccessBeforePassing()),
		FailuresBeforeWarning:   count(of.GetFailuresBeforeWarning()),
		FailuresBeforeCritical:  count(of.GetFailuresBeforeCritical()),
		DeregisterCriticalAfter: span("deregister_critical_after", of.GetDeregisterCriticalAfter()),
	}
	if d.ID == "" {
		d.ID = d.Name
	}
	switch k := of.GetKind().(type) {
	case *tenurev1.CheckDefinition_Ttl:
		d.Kind = check.TTL{TTL: span("ttl", k.Ttl.GetTtl())}
	case *tenurev1.CheckDefinition_Http:
		d.Kind = toHTTP(k.Http)
	case *tenurev1.CheckDefinition_Tcp:
		d.Kind = check.TCP{Address: k.Tcp.GetAddress()}
	case *tenurev1.CheckDefinition_Grpc:
		g := check.GRPC{Address: k.Grpc.GetAddress(), Service: k.Grpc.GetService()}
		if k.Grpc.GetTls() {
			g.TLS = &check.TLS{
				ServerName: k.Grpc.GetTlsServerName(), CAFile: k.Grpc.GetTlsCaFile(), SkipVerify: k.Grpc.GetTlsSkipVerify(),
			}
		}
		d.Kind = g
	case *tenurev1.CheckDefinition_Exec:
		d.Kind = check.Exec{Args: slices.Clone(k.Exec.GetCommand())}
	case *tenurev1.CheckDefinition_Alias:
		d.Kind = check.Alias{Node: k.Alias.GetNode(), Service: k.Alias.GetServiceId()}
	}
	return d, v
}

func toHTTP(m *tenurev1.HttpCheck) check.HTTP {
	h := check.HTTP{
		URL: m.GetUrl(), Method: m.GetMethod(), Body: m.GetBody(), FollowRedirects: m.GetFollowRedirects(),
		TLS: check.TLS{ServerName: m.GetTlsServerName(), CAFile: m.GetTlsCaFile(), SkipVerify: m.GetTlsSkipVerify()},
	}
	for _, header := range m.GetHeaders() {
		if h.Header == nil {
			h.Header = map[string][]string{}
		}
		h.Header[header.GetName()] = append(h.Header[header.GetName()], header.GetValues()...)
	}
	return h
}
