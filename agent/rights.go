package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/agent/check"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// errUndecided means that nothing decides about a call for somebody else.
var errUndecided = errors.New("nothing decides who may call the agent")

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
	of, err := g.agent.rights(method, request)
	switch {
	case err != nil:
		return err
	case g.decide == nil:
		return errUndecided
	}
	return g.decide(ctx, of, serve)
}

// rights returns what the caller of a call needs: the right to read or write the node, and the services that are read or changed. A call without
// a row here is not served.
func (a *Agent) rights(method string, request any) (authz.Local, error) {
	node := strings.ToLower(a.options.Node.GetName()) // As the catalog compares names.
	of := authz.Local{Method: method, Service: a.serviceOf}
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
		of.Needs = append(of.Needs, a.shown(node, m.GetDefinition().GetAlias())...)
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
		named(m.GetService().GetName())
		by(authz.ByService, cmp.Or(m.GetService().GetServiceId(), m.GetService().GetName()))
		for _, c := range m.GetChecks() {
			checked(c)
		}
	case *tenurev1.RemoveAgentServiceRequest:
		by(authz.ByService, m.GetServiceId())
	case *tenurev1.AddAgentCheckRequest:
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
func (a *Agent) shown(node string, alias *tenurev1.AliasCheck) []authz.Need {
	all := authz.Need{Kind: authz.Service, Verb: authz.Read, Match: authz.Prefix}
	one := authz.Need{Kind: authz.Service, Verb: authz.Read, Node: node, By: authz.ByService, ID: alias.GetServiceId()}
	switch other := alias.GetNode(); {
	case other != "" && !check.SameNode(other, node):
		return []authz.Need{{Kind: authz.Node, Verb: authz.Read, Match: authz.Exact, Text: strings.ToLower(other)}, all}
	case alias.GetServiceId() == "":
		return nil // Whoever writes the node may read it.
	case a.serviceOf(one) == "":
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
