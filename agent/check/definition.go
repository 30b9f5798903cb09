package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Defaults and bounds of definitions.
const (
	IntervalDefault   = 10 * time.Second
	IntervalMin       = time.Second
	TimeoutDefault    = 10 * time.Second
	TTLMin            = time.Second
	DeregisterMin     = time.Minute
	DurationMax       = 30 * 24 * time.Hour
	ThresholdMax      = 1_000
	IDBytesMax        = 255
	NotesBytesMax     = 4_096
	URLBytesMax       = 4_096
	BodyBytesMax      = 4_096
	HeadersMax        = 64
	HeaderBytesMax    = 4_096
	ArgumentsMax      = 128
	ArgumentBytesMax  = 8_192
	OutputBytesMax    = 4_096
	MaintenancePrefix = "_maintenance"
)

// reserved are ids that belong to the cluster's own check of a node, here and in Consul's words.
var reserved = []string{"liveness", "serfHealth"}

// Status says how what a check is about fares.
type Status uint8

// The statuses, from the best to the worst.
const (
	// Unset is not a status: a definition without one, or a check that never had a result.
	Unset Status = iota
	Passing
	Warning
	Critical
)

// String returns the status in words.
func (s Status) String() string {
	switch s {
	case Passing:
		return "passing"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	default:
		return "unset"
	}
}

// ParseStatus returns the status with that name; false if there is none. The empty text is Unset.
func ParseStatus(text string) (Status, bool) {
	switch text {
	case "":
		return Unset, true
	case "passing":
		return Passing, true
	case "warning":
		return Warning, true
	case "critical":
		return Critical, true
	default:
		return Unset, false
	}
}

// Worst returns the worse of two statuses.
func Worst(a, b Status) Status { return max(a, b) }

// Kind is how a check finds its status: one of TTL, HTTP, TCP, GRPC, Exec, Alias and Maintenance.
type Kind interface {
	// Name returns the kind's name in configuration files and in the catalog.
	Name() string
}

// TTL is passing, warning or critical as the service itself reports, and critical once it has not reported for a TTL.
type TTL struct {
	TTL time.Duration
}

// TLS says how a probe speaks TLS.
type TLS struct {
	// ServerName is verified instead of the host of the address; empty: the host.
	ServerName string
	// CAFile holds the certificates that are trusted, in PEM; empty: the system's.
	CAFile string
	// SkipVerify accepts every certificate.
	SkipVerify bool
}

// HTTP is passing on 2xx, warning on 429, and critical on everything else.
type HTTP struct {
	// URL is absolute, http or https.
	URL string
	// Method is GET if empty.
	Method string
	Header map[string][]string
	Body   string
	// FollowRedirects asks where an answer points; otherwise a redirect is critical.
	FollowRedirects bool
	TLS             TLS
}

// TCP is passing if a connection can be made.
type TCP struct {
	// Address is host:port.
	Address string
}

// GRPC is passing if the health service answers SERVING.
type GRPC struct {
	// Address is host:port.
	Address string
	// Service is asked for; empty: the server as a whole.
	Service string
	// TLS is nil for a connection without it.
	TLS *TLS
}

// Exec is passing if a program exits with 0, warning with 1, and critical otherwise.
type Exec struct {
	// Args are the program and its arguments. There is no shell.
	Args []string
}

// Alias is the worst of another service's checks and its node's, or of a node's.
type Alias struct {
	// Node is the other's name; empty: the agent's own.
	Node string
	// Service is an id on that node; empty: the node as a whole.
	Service string
}

// Maintenance is critical for as long as it exists.
type Maintenance struct{}

// Name returns "ttl".
func (TTL) Name() string { return "ttl" }

// Name returns "http".
func (HTTP) Name() string { return "http" }

// Name returns "tcp".
func (TCP) Name() string { return "tcp" }

// Name returns "grpc".
func (GRPC) Name() string { return "grpc" }

// Name returns "exec".
func (Exec) Name() string { return "exec" }

// Name returns "alias".
func (Alias) Name() string { return "alias" }

// Name returns "maintenance".
func (Maintenance) Name() string { return "maintenance" }

// Definition is a check as it was registered.
type Definition struct {
	// ID is unique among the checks of the agent.
	ID string
	// Name is for people; empty: the id.
	Name  string
	Notes string
	// ServiceID is the service that the check is about; empty: the node.
	ServiceID string
	Kind      Kind
	// Interval is from the beginning of one run to the beginning of the next; 0: IntervalDefault. Not for TTL.
	Interval time.Duration
	// Timeout ends a run; 0: TimeoutDefault.
	Timeout time.Duration
	// SuccessBeforePassing is how many results in a row that are not failures turn the check passing; 0: 1.
	SuccessBeforePassing int
	// FailuresBeforeWarning is how many failures in a row turn it warning; 0: it goes from passing to critical.
	FailuresBeforeWarning int
	// FailuresBeforeCritical is how many failures in a row turn it critical; 0: 1.
	FailuresBeforeCritical int
	// DeregisterCriticalAfter removes the check's service once it has been critical that long; 0: never.
	DeregisterCriticalAfter time.Duration
	// Status is the check's until its first result; Unset: critical.
	Status Status
}

// WithDefaults returns the definition with its defaults filled in.
func (d Definition) WithDefaults() Definition {
	if d.Name == "" {
		d.Name = d.ID
	}
	if d.Probes() {
		d.Interval = cmp.Or(d.Interval, IntervalDefault)
		d.Timeout = cmp.Or(d.Timeout, TimeoutDefault)
		d.SuccessBeforePassing = cmp.Or(d.SuccessBeforePassing, 1)
		d.FailuresBeforeCritical = cmp.Or(d.FailuresBeforeCritical, 1)
		d.FailuresBeforeWarning = cmp.Or(d.FailuresBeforeWarning, d.FailuresBeforeCritical)
	}
	return d
}

// Probes reports whether the agent runs something for this check, by interval.
func (d Definition) Probes() bool {
	switch d.Kind.(type) {
	case HTTP, TCP, GRPC, Exec:
		return true
	default:
		return false
	}
}

// SameNode reports whether a text that may name a node names the one with this name. Names of nodes are ASCII, and compared without case.
func SameNode(text, name string) bool { return len(text) == len(name) && strings.EqualFold(text, name) }

// Equal reports whether two definitions say the same.
func (d Definition) Equal(o Definition) bool {
	a, b := d, o
	a.Kind, b.Kind = nil, nil
	return a == b && equalKinds(d.Kind, o.Kind)
}

func equalKinds(a, b Kind) bool {
	switch a := a.(type) {
	case HTTP:
		b, ok := b.(HTTP)
		return ok && a.URL == b.URL && a.Method == b.Method && a.Body == b.Body && a.FollowRedirects == b.FollowRedirects &&
			a.TLS == b.TLS && maps.EqualFunc(a.Header, b.Header, slices.Equal[[]string])
	case GRPC:
		b, ok := b.(GRPC)
		return ok && a.Address == b.Address && a.Service == b.Service && (a.TLS == nil) == (b.TLS == nil) &&
			(a.TLS == nil || *a.TLS == *b.TLS)
	case Exec:
		b, ok := b.(Exec)
		return ok && slices.Equal(a.Args, b.Args)
	default:
		return a == b
	}
}
