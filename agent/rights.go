package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/tenure-io/tenure/agent/check"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/reason"
)

var (
	// errUndecided means that nothing decides about a call for somebody else.
	errUndecided = errors.New("nothing decides who may call the agent")
	// errChanged means that a call has to be decided about again, as the agent has something else under an id than was decided about.
	errChanged = errors.New("the agent has something else under an id")
	errPages   = errors.New("the node has too many pages")
)

// pagesMax is how many pages of the catalog are read.
const pagesMax = 1000

// decideMax is how often a call is decided about before its client is told to make it again.
const decideMax = 4

// Decide makes a call of AgentService for a client other than the agent itself, if a member says that it may. What the client shows is in the
// outgoing metadata of ctx. serve makes the call.
type Decide func(ctx context.Context, of authz.Local, serve func() error) error

// guarded is a connection to a service in this process whose calls are decided about.
type guarded struct {
	within
	agent  *Agent
	decide Decide
}

// Invoke makes a call if its client may make it.
func (g guarded) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	serve := func() error { return g.within.Invoke(ctx, method, request, response, options...) }
	if _, is := request.(*tenurev1.GetAgentRequest); is {
		return serve() // It names the node, which whoever answers for it has to know. What a client is shown of it takes other calls, too.
	}
	if g.decide == nil {
		return errUndecided
	}
	for attempt := 1; ; attempt++ {
		said := services{agent: g.agent, said: map[authz.Need]string{}}
		of, err := g.agent.rights(method, request, said.of)
		if err != nil {
			return err
		}
		refusal, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED,
			"the services that the agent registers changed during the call; retry it"), "")
		err = g.decide(ctx, of, func() error {
			if said.changed() {
				return fmt.Errorf("%w: %w", errChanged, refusal.Err()) // Each decision has a line in the audit log, with what came of it.
			}
			return serve()
		})
		switch {
		case !errors.Is(err, errChanged):
			return err
		case attempt == decideMax:
			return refusal.Err()
		}
	}
}

// services are the services of instances and checks, as was said when a call was decided about.
type services struct {
	agent *Agent
	said  map[authz.Need]string
}

// of returns the name of the service of an instance or a check that a need names by its id; empty: the agent has none. It says the same again.
func (s services) of(n authz.Need) string {
	name, known := s.said[n]
	if !known {
		name = s.agent.serviceOf(n)
		s.said[n] = name
	}
	return name
}

// changed reports whether something else was said than is so now.
func (s services) changed() bool {
	for n, name := range s.said {
		if s.agent.serviceOf(n) != name {
			return true
		}
	}
	return false
}

// rights returns what the caller of a call needs: the right to read or write the node, and the services that are read or changed. A call without
// a row here is not served. serviceOf says what the agent has under an id.
func (a *Agent) rights(method string, request any, serviceOf func(authz.Need) string) (authz.Local, error) {
	node := strings.ToLower(a.options.Node.GetName()) // As the catalog compares names.
	of := authz.Local{Method: method, Service: serviceOf}
	add := func(n authz.Need) { of.Needs = append(of.Needs, n) }
	verb := authz.Write
	named := func(name string) {
		n := authz.Need{Kind: authz.Service, Verb: verb, Match: authz.Prefix}
		if name != "" {
			n.Match, n.Text = authz.Exact, name
		}
		add(n)
	}
	by := func(what authz.By, id string) {
		if id != "" {
			add(authz.Need{Kind: authz.Service, Verb: verb, Node: node, By: what, ID: id})
		}
	}
	checked := func(m *tenurev1.Check) {
		by(authz.ByCheck, cmp.Or(m.GetCheckId(), m.GetName())) // Its id is its name then.
		of.Needs = append(of.Needs, shown(node, m.GetDefinition().GetAlias(), serviceOf)...)
	}
	switch request.(type) {
	case *tenurev1.ListAgentServicesRequest, *tenurev1.ListAgentChecksRequest:
		verb = authz.Read
	}
	add(authz.Need{Kind: authz.Node, Verb: verb, Match: authz.Exact, Text: node})
	switch m := request.(type) {
	case *tenurev1.ListAgentServicesRequest, *tenurev1.ListAgentChecksRequest:
		named("")
	case *tenurev1.AddAgentServiceRequest:
		of.Catalog = (&catalogued{agent: a}).of
		named(m.GetService().GetName())
		by(authz.ByService, cmp.Or(m.GetService().GetServiceId(), m.GetService().GetName()))
		for _, c := range m.GetChecks() {
			checked(c)
		}
	case *tenurev1.RemoveAgentServiceRequest:
		by(authz.ByService, m.GetServiceId())
	case *tenurev1.AddAgentCheckRequest:
		of.Catalog = (&catalogued{agent: a}).of
		checked(m.GetCheck())
		by(authz.ByService, m.GetCheck().GetServiceId())
	case *tenurev1.RemoveAgentCheckRequest:
		by(authz.ByCheck, m.GetCheckId())
	case *tenurev1.ReportCheckRequest:
		by(authz.ByCheck, m.GetCheckId())
		of.Stale = true // Without a leader, a program that is well would else be taken for dead.
	case *tenurev1.SetMaintenanceRequest:
		by(authz.ByService, m.GetServiceId())
	default:
		return of, fmt.Errorf("%s: %w", method, errNotServed)
	}
	return of, nil
}

// shown returns what it takes to see what an alias shows. The agent reads that with its own token, also of an instance that comes later.
func shown(node string, alias *tenurev1.AliasCheck, serviceOf func(authz.Need) string) []authz.Need {
	all := authz.Need{Kind: authz.Service, Verb: authz.Read, Match: authz.Prefix}
	one := authz.Need{Kind: authz.Service, Verb: authz.Read, Node: node, By: authz.ByService, ID: alias.GetServiceId()}
	switch other := alias.GetNode(); {
	case other != "" && !check.SameNode(other, node):
		return []authz.Need{{Kind: authz.Node, Verb: authz.Read, Match: authz.Exact, Text: strings.ToLower(other)}, all}
	case alias.GetServiceId() == "":
		return nil // Whoever writes the node may read it.
	case serviceOf(one) == "":
		return []authz.Need{all}
	default:
		return []authz.Need{one}
	}
}

// serviceOf returns the name of the service of an instance or a check that a need names by its id; empty: the agent has none.
func (a *Agent) serviceOf(n authz.Need) string {
	if n.By == authz.ByService {
		return a.registry.ServiceName(n.ID)
	}
	return a.registry.ServiceNameOfCheck(n.ID)
}

// catalogued are the services of instances and checks that the catalog has on the node. The agent reads them for itself, as it does before it writes
// there, once anybody asks.
type catalogued struct {
	agent            *Agent
	services, checks map[string]string // by id; nil: not read
}

// of returns the name of the service of an instance or a check that a need names by its id; empty: the catalog has none.
func (c *catalogued) of(ctx context.Context, n authz.Need) (string, error) {
	if c.services == nil {
		if err := c.read(metadata.NewOutgoingContext(ctx, metadata.MD{}), n.Node); err != nil { // Not with what the client shows.
			return "", fmt.Errorf("read what the catalog has under an id: %w", err)
		}
	}
	if n.By == authz.ByService {
		return c.services[n.ID], nil
	}
	return c.checks[n.ID], nil
}

// read reads them.
func (c *catalogued) read(ctx context.Context, node string) error {
	services, checks := map[string]string{}, map[string]string{}
	request := &tenurev1.GetNodeRequest{Node: node}
	for range pagesMax {
		page, err := c.agent.options.Catalog.GetNode(ctx, request)
		if err != nil && errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND {
			return err
		}
		for _, s := range page.GetServices() {
			services[s.GetServiceId()] = s.GetName()
		}
		for _, k := range page.GetChecks() {
			checks[k.GetCheckId()] = k.GetServiceName()
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			c.services, c.checks = services, checks
			return nil
		}
	}
	return errPages
}
