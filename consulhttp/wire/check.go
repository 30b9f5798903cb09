package wire

import (
	"errors"
	"fmt"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// The check that says what gossip sees of a node, in Consul's words and in Tenure's.
const (
	SerfHealth = "serfHealth"
	Liveness   = "liveness"
)

// Statuses of checks, in Consul's words.
const (
	StatusPassing  = "passing"
	StatusWarning  = "warning"
	StatusCritical = "critical"
)

// Errors of what a client sent.
var (
	ErrLiveness = errors.New(`"liveness" cannot be the id of a check here: it is called "serfHealth"`)
	ErrStatus   = errors.New("must be passing, warning or critical")
)

// CheckName returns the id of a check in Consul's words.
func CheckName(id string) string {
	if id == Liveness {
		return SerfHealth
	}
	return id
}

// CheckID returns the id of a check in Tenure's words.
func CheckID(name string) (string, error) {
	switch name {
	case SerfHealth:
		return Liveness, nil
	case Liveness:
		return "", ErrLiveness
	default:
		return name, nil
	}
}

// StatusName returns a status in Consul's words.
func StatusName(s tenurev1.CheckStatus) string {
	switch s {
	case tenurev1.CheckStatus_CHECK_STATUS_PASSING:
		return StatusPassing
	case tenurev1.CheckStatus_CHECK_STATUS_WARNING:
		return StatusWarning
	default:
		return StatusCritical
	}
}

// Status returns a status in Tenure's words. In Consul, a check without status is critical.
func Status(name string) (tenurev1.CheckStatus, error) {
	switch name {
	case StatusPassing:
		return tenurev1.CheckStatus_CHECK_STATUS_PASSING, nil
	case StatusWarning:
		return tenurev1.CheckStatus_CHECK_STATUS_WARNING, nil
	case StatusCritical, "":
		return tenurev1.CheckStatus_CHECK_STATUS_CRITICAL, nil
	default:
		return 0, ErrStatus
	}
}

// Check is a check.
type Check struct {
	Node        string
	CheckID     string
	Name        string
	Status      string
	Notes       string
	Output      string
	ServiceID   string
	ServiceName string
	ServiceTags []string
	Type        string
	Interval    string
	Timeout     string
	ExposedPort int
	Definition  Definition
	CreateIndex uint64
	ModifyIndex uint64
}

// CheckOf returns a check, with the tags of its service.
func CheckOf(k *tenurev1.Check, tags []string) *Check {
	out := &Check{
		Node: k.GetNode(), CheckID: CheckName(k.GetCheckId()), Name: k.GetName(), Status: StatusName(k.GetStatus()), Notes: k.GetNotes(),
		Output: k.GetOutput(), ServiceID: k.GetServiceId(), ServiceName: k.GetServiceName(), ServiceTags: append([]string{}, tags...),
		Type: k.GetKind(), Definition: DefinitionOf(k.GetDefinition()), CreateIndex: k.GetCreateRevision(), ModifyIndex: k.GetModRevision(),
	}
	if out.CheckID == SerfHealth && out.Name == Liveness {
		out.Name = "Serf Health Status"
	}
	if d := k.GetDefinition(); d != nil {
		out.Interval, out.Timeout = textOf(d.GetInterval()), textOf(d.GetTimeout())
	}
	return out
}

// Message returns the check as it is registered on a node.
func (k *Check) Message(node string) (*tenurev1.Check, error) {
	name := k.CheckID
	if name == "" {
		name = k.Name
	}
	id, err := CheckID(name)
	if err != nil {
		return nil, err
	}
	status, err := Status(k.Status)
	if err != nil {
		return nil, fmt.Errorf("the status of check %q %w", shown(name), err)
	}
	return &tenurev1.Check{
		Node: node, CheckId: id, Name: k.Name, ServiceId: k.ServiceID, Status: status, Output: k.Output, Notes: k.Notes, Kind: k.Type,
		Definition: k.Definition.message(),
	}, nil
}

// shown returns the beginning of a text that a client sent.
func shown(text string) string { return text[:min(len(text), 256)] }
