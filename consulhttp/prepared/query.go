package prepared

import (
	"errors"
	"maps"
	"time"

	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// templatePrefix is the one type of template that Consul has: the name is the start of those that run the query.
	templatePrefix = "name_prefix_match"
	// metaTTL keeps the TTL that answers of DNS get, as it was written. Tenure has no DNS, and only shows it.
	metaTTL = "consul-dns-ttl"
	// nearIP means the address of the caller. The node that answers is "_agent" in Tenure, too.
	nearIP = "_ip"
)

// Errors of what a client sent.
var (
	errNoService   = errors.New("Must provide a Service name to query") //nolint:staticcheck // Consul's text.
	ErrNearIP      = errors.New(`near must be a node or "_agent": Tenure does not know how near an address is, as for "_ip"`)
	errToken       = errors.New(`"Token" must be empty: a caller needs a right to the query, and sees what it may read`)
	errConnect     = errors.New(`"Connect" must be false: Tenure has no service mesh`)
	errPeer        = errors.New(`"Peer" must be empty: Tenure has no peered clusters`)
	errSameness    = errors.New(`"SamenessGroup" must be empty: Tenure has no peered clusters`)
	errNearestN    = errors.New(`Failover.NearestN must be 0: Tenure knows no other datacenters; use "tenure query update --fallback"`)
	errTargets     = errors.New(`Failover.Targets must be empty: Tenure knows no other datacenters; use "tenure query update --fallback"`)
	errDatacenters = errors.New(`Failover.Datacenters must be empty: Tenure knows no other datacenters; use "tenure query update --fallback"`)
	errTemplate    = errors.New("Template.Type must be empty or name_prefix_match")
	errNoTemplate  = errors.New("Template.Regexp and RemoveEmptyTags need the Template.Type name_prefix_match")
	errTTL         = errors.New("DNS.TTL must be a duration such as 10s, of 0 or more")
)

// Failover is where Consul looks if a query finds nothing in its own datacenter.
type Failover struct {
	NearestN    int
	Datacenters []string
	Targets     []map[string]any
}

// Service is what a query selects.
type Service struct {
	Service        string
	SamenessGroup  string
	Failover       Failover
	OnlyPassing    bool
	IgnoreCheckIDs []string
	Near           string
	Tags           []string
	NodeMeta       map[string]string
	ServiceMeta    map[string]string
	Connect        bool
	Peer           string
}

// Template says which other names run a query.
type Template struct {
	Type            string
	Regexp          string
	RemoveEmptyTags bool
}

// DNS is for answers over DNS.
type DNS struct{ TTL string }

// Query is a prepared query.
type Query struct {
	ID          string
	Name        string
	Session     string
	Token       string
	Template    Template
	Service     Service
	DNS         DNS
	CreateIndex uint64
	ModifyIndex uint64
}

// Of returns a query.
func Of(q *tenurev1.Query) *Query {
	out := &Query{
		ID: q.GetQueryId(), Name: q.GetName(), Session: q.GetSessionId(),
		Service: Service{
			Service: q.GetService(), OnlyPassing: q.GetOnlyPassing(), Near: q.GetNear(), Tags: q.GetTags(), NodeMeta: q.GetNodeMeta(),
			ServiceMeta: q.GetServiceMeta(),
		},
		DNS: TTLOf(q.GetMeta()), CreateIndex: q.GetCreateRevision(), ModifyIndex: q.GetModRevision(),
	}
	for _, id := range q.GetIgnoreChecks() {
		out.Service.IgnoreCheckIDs = append(out.Service.IgnoreCheckIDs, wire.CheckName(id))
	}
	if q.GetMatch() == tenurev1.QueryMatch_QUERY_MATCH_PREFIX {
		out.Template = Template{Type: templatePrefix, Regexp: q.GetRegexp(), RemoveEmptyTags: q.GetRemoveEmptyTags()}
	}
	return out
}

// TTLOf returns the TTL for answers of DNS that is among the facts about a query.
func TTLOf(meta map[string]string) DNS { return DNS{TTL: meta[metaTTL]} }

// Message returns the query. It keeps what it replaces has beyond Consul's queries; nil is nothing.
func (q *Query) Message(replaced *tenurev1.Query) (*tenurev1.Query, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	out := &tenurev1.Query{
		Name: q.Name, SessionId: q.Session, Match: tenurev1.QueryMatch_QUERY_MATCH_NAME, Service: q.Service.Service,
		Tags: q.Service.Tags, OnlyPassing: q.Service.OnlyPassing, NodeMeta: q.Service.NodeMeta, ServiceMeta: q.Service.ServiceMeta,
		Near: q.Service.Near, Fallbacks: replaced.GetFallbacks(), Meta: maps.Clone(replaced.GetMeta()),
	}
	for _, name := range q.Service.IgnoreCheckIDs {
		id, err := wire.CheckID(name)
		if err != nil {
			return nil, err
		}
		out.IgnoreChecks = append(out.IgnoreChecks, id)
	}
	if q.Template.Type != "" {
		out.Match, out.Regexp = tenurev1.QueryMatch_QUERY_MATCH_PREFIX, q.Template.Regexp
		out.RemoveEmptyTags = q.Template.RemoveEmptyTags
	}
	delete(out.GetMeta(), metaTTL)
	if q.DNS.TTL != "" {
		if out.Meta == nil {
			out.Meta = map[string]string{}
		}
		out.Meta[metaTTL] = q.DNS.TTL
	}
	return out, nil
}

// check returns what is wrong with a query, or not offered.
func (q *Query) check() error {
	s := &q.Service
	for _, problem := range []struct {
		wrong bool
		err   error
	}{
		{s.Service == "", errNoService},
		{q.Token != "", errToken},
		{s.Connect, errConnect},
		{s.Peer != "", errPeer},
		{s.SamenessGroup != "", errSameness},
		{s.Failover.NearestN != 0, errNearestN},
		{len(s.Failover.Targets) > 0, errTargets},
		{len(s.Failover.Datacenters) > 0, errDatacenters},
		{s.Near == nearIP, ErrNearIP},
		{q.Template.Type != "" && q.Template.Type != templatePrefix, errTemplate},
		{q.Template.Type == "" && (q.Template.Regexp != "" || q.Template.RemoveEmptyTags), errNoTemplate},
	} {
		if problem.wrong {
			return problem.err
		}
	}
	if q.DNS.TTL == "" {
		return nil
	}
	if ttl, err := time.ParseDuration(q.DNS.TTL); err != nil || ttl < 0 {
		return errTTL
	}
	return nil
}
