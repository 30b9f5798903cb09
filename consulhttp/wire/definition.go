package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

var errDuration = errors.New("a duration must be a text such as 10s, or a number of nanoseconds")

// Duration is a duration that clients write as a text or as a number of nanoseconds, and read as a text.
type Duration time.Duration

// UnmarshalJSON reads either.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	var number int64
	switch {
	case string(data) == "null":
		return nil
	case json.Unmarshal(data, &text) == nil:
		if text == "" {
			return nil
		}
		read, err := time.ParseDuration(text)
		if err != nil {
			return errDuration
		}
		*d = Duration(read)
		return nil
	case json.Unmarshal(data, &number) == nil:
		*d = Duration(number)
		return nil
	default:
		return errDuration
	}
}

// MarshalJSON writes a text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// message returns the duration; nil if it is none.
func (d Duration) message() *durationpb.Duration {
	if d <= 0 {
		return nil
	}
	return durationpb.New(time.Duration(d))
}

// textOf returns a duration as a text; empty if it is unset.
func textOf(d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	return d.AsDuration().String()
}

// Definition is how a check is run.
type Definition struct {
	HTTP                           string              `json:",omitempty"`
	Header                         map[string][]string `json:",omitempty"`
	Method                         string              `json:",omitempty"`
	Body                           string              `json:",omitempty"`
	DisableRedirects               bool                `json:",omitempty"`
	TLSServerName                  string              `json:",omitempty"`
	TLSSkipVerify                  bool                `json:",omitempty"`
	TCP                            string              `json:",omitempty"`
	GRPC                           string              `json:",omitempty"`
	GRPCUseTLS                     bool                `json:",omitempty"`
	AliasNode                      string              `json:",omitempty"`
	AliasService                   string              `json:",omitempty"`
	ScriptArgs                     []string            `json:",omitempty"`
	TTL                            Duration            `json:",omitempty"`
	Interval                       Duration            `json:",omitempty"`
	Timeout                        Duration            `json:",omitempty"`
	DeregisterCriticalServiceAfter Duration            `json:",omitempty"`
	SuccessBeforePassing           uint32              `json:",omitempty"`
	FailuresBeforeWarning          uint32              `json:",omitempty"`
	FailuresBeforeCritical         uint32              `json:",omitempty"`
}

// DefinitionOf returns how a check is run.
func DefinitionOf(d *tenurev1.CheckDefinition) Definition {
	out := Definition{
		Interval: Duration(d.GetInterval().AsDuration()), Timeout: Duration(d.GetTimeout().AsDuration()),
		DeregisterCriticalServiceAfter: Duration(d.GetDeregisterCriticalAfter().AsDuration()),
		SuccessBeforePassing:           d.GetSuccessBeforePassing(), FailuresBeforeWarning: d.GetFailuresBeforeWarning(),
		FailuresBeforeCritical: d.GetFailuresBeforeCritical(),
	}
	switch {
	case d.GetTtl() != nil:
		out.TTL = Duration(d.GetTtl().GetTtl().AsDuration())
	case d.GetHttp() != nil:
		h := d.GetHttp()
		out.HTTP, out.Method, out.Body = h.GetUrl(), h.GetMethod(), h.GetBody()
		out.TLSServerName, out.TLSSkipVerify, out.DisableRedirects = h.GetTlsServerName(), h.GetTlsSkipVerify(), !h.GetFollowRedirects()
		for _, header := range h.GetHeaders() {
			if out.Header == nil {
				out.Header = map[string][]string{}
			}
			out.Header[header.GetName()] = header.GetValues()
		}
	case d.GetTcp() != nil:
		out.TCP = d.GetTcp().GetAddress()
	case d.GetGrpc() != nil:
		g := d.GetGrpc()
		out.GRPC, out.GRPCUseTLS, out.TLSServerName, out.TLSSkipVerify = g.GetAddress(), g.GetTls(), g.GetTlsServerName(), g.GetTlsSkipVerify()
		if g.GetService() != "" {
			out.GRPC += "/" + g.GetService()
		}
	case d.GetExec() != nil:
		out.ScriptArgs = d.GetExec().GetCommand()
	case d.GetAlias() != nil:
		out.AliasNode, out.AliasService = d.GetAlias().GetNode(), d.GetAlias().GetServiceId()
	}
	return out
}

// message returns how the check is run; nil if nothing is said about it.
func (d *Definition) message() *tenurev1.CheckDefinition {
	out := d.kind()
	if out == nil {
		return nil
	}
	out.DeregisterCriticalAfter = d.DeregisterCriticalServiceAfter.message()
	out.SuccessBeforePassing, out.FailuresBeforeWarning = d.SuccessBeforePassing, d.FailuresBeforeWarning
	out.FailuresBeforeCritical = d.FailuresBeforeCritical
	if out.GetTtl() == nil && out.GetAlias() == nil {
		out.Interval, out.Timeout = d.Interval.message(), d.Timeout.message()
	}
	return out
}

// kind returns the part of a definition that says what is done; nil if there is none.
func (d *Definition) kind() *tenurev1.CheckDefinition {
	switch {
	case d.HTTP != "":
		h := &tenurev1.HttpCheck{
			Url: d.HTTP, Method: d.Method, Body: d.Body, TlsServerName: d.TLSServerName, TlsSkipVerify: d.TLSSkipVerify,
			FollowRedirects: !d.DisableRedirects,
		}
		for _, name := range slices.Sorted(maps.Keys(d.Header)) {
			h.Headers = append(h.Headers, &tenurev1.HttpHeader{Name: name, Values: d.Header[name]})
		}
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Http{Http: h}}
	case d.TCP != "":
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: d.TCP}}}
	case d.GRPC != "":
		address, service, _ := strings.Cut(d.GRPC, "/")
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{
			Address: address, Service: service, Tls: d.GRPCUseTLS, TlsServerName: d.TLSServerName, TlsSkipVerify: d.TLSSkipVerify,
		}}}
	case len(d.ScriptArgs) > 0:
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Exec{Exec: &tenurev1.ExecCheck{Command: d.ScriptArgs}}}
	case d.AliasNode != "" || d.AliasService != "":
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Alias{
			Alias: &tenurev1.AliasCheck{Node: d.AliasNode, ServiceId: d.AliasService},
		}}
	case d.TTL > 0:
		return &tenurev1.CheckDefinition{Kind: &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: d.TTL.message()}}}
	default:
		return nil
	}
}
