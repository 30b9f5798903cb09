package body

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Check is a check as programs register it with an agent.
type Check struct {
	wire.Definition
	ID        string
	CheckID   string
	Name      string
	Notes     string
	Status    string
	ServiceID string
	// Args is another name of ScriptArgs.
	Args []string
	// What is not offered is refused, and not ignored: the check would never run.
	DockerContainerID, UDP, H2PING, OSService string
	TCPUseTLS                                 bool
}

// Message returns the check; defaultID is its id if it has none.
func (b *Check) Message(defaultID, defaultName string) (*tenurev1.Check, error) {
	for kind, value := range map[string]string{
		"DockerContainerID": b.DockerContainerID, "UDP": b.UDP, "H2PING": b.H2PING, "OSService": b.OSService,
	} {
		if value != "" {
			return nil, reply.Refusal(http.StatusBadRequest, "Checks of the kind %s are not supported; use HTTP, TCP, GRPC, Args, TTL or an alias.", kind)
		}
	}
	if b.TCPUseTLS {
		return nil, reply.Refusal(http.StatusBadRequest, "Checks with TCPUseTLS are not supported; use HTTP or GRPC with TLS, or Args.")
	}
	if len(b.ScriptArgs) == 0 {
		b.ScriptArgs = b.Args
	}
	out := &wire.Check{
		CheckID: b.CheckID, Name: b.Name, Status: b.Status, Notes: b.Notes, ServiceID: b.ServiceID, Definition: b.Definition,
	}
	if out.CheckID == "" {
		out.CheckID = b.ID
	}
	if out.CheckID == "" {
		out.CheckID = defaultID
	}
	if out.Name == "" {
		out.Name = defaultName
	}
	m, err := out.Message("")
	if err != nil {
		return nil, reply.Refusal(http.StatusBadRequest, "%v", err)
	}
	if b.Status == "" {
		m.Status = tenurev1.CheckStatus_CHECK_STATUS_UNSPECIFIED // A check that is registered again keeps its status.
	}
	if m.GetDefinition() == nil {
		return nil, reply.Refusal(http.StatusBadRequest, "The check %q has no kind: it needs HTTP, TCP, GRPC, Args, TTL, AliasNode or AliasService.",
			reply.Shown(m.GetCheckId()))
	}
	return m, nil
}

// Service is an instance of a service as programs register it with an agent.
type Service struct {
	wire.Service
	Name   string
	Kind   string
	Check  *Check
	Checks []*Check
	// The mesh is not offered: a proxy that is left out would be missed.
	Connect, Proxy json.RawMessage
}

// Message returns the request that registers the instance. Where Consul numbers the checks of an instance, so does this.
func (b *Service) Message() (*tenurev1.AddAgentServiceRequest, error) {
	switch {
	case b.Name == "":
		return nil, reply.Refusal(http.StatusBadRequest, "Missing service name")
	case b.Kind != "" || given(b.Connect) || given(b.Proxy):
		return nil, reply.Refusal(http.StatusBadRequest, "Tenure has no service mesh; leave out Kind, Connect and Proxy.")
	}
	b.Service.Service = b.Name
	if b.ID == "" {
		b.ID = b.Name
	}
	r := &tenurev1.AddAgentServiceRequest{Service: b.Service.Message("")}
	checks := b.Checks
	// As in Consul, an empty one is none.
	if b.Check != nil && !reflect.DeepEqual(b.Check, &Check{}) {
		checks = append([]*Check{b.Check}, checks...)
	}
	for i, check := range checks {
		if check == nil {
			continue
		}
		id := "service:" + b.ID
		if len(checks) > 1 {
			id = fmt.Sprintf("%s:%d", id, i+1)
		}
		m, err := check.Message(id, fmt.Sprintf("Service '%s' check", b.Name))
		if err != nil {
			return nil, err
		}
		m.ServiceId = b.ID
		r.Checks = append(r.Checks, m)
	}
	return r, nil
}

// given reports whether a part of a body is there.
func given(part json.RawMessage) bool {
	return len(part) > 0 && string(part) != "null" && string(part) != "{}"
}
