package main

import (
	"context"
	"strings"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func openMachine(_ context.Context, c *call) (value, error) {
	machine, err := tenure.OpenAgent(c.args.Address)
	if err != nil {
		return nil, err
	}
	c.keep(machine)
	c.mu.Lock()
	c.machines = append(c.machines, machine)
	c.mu.Unlock()
	return value{}, nil
}

func closeMachine(_ context.Context, c *call) (value, error) {
	machine, err := get[*tenure.Agent](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, machine.Close()
}

func registerService(ctx context.Context, c *call) (value, error) {
	s := tenure.Service{Name: c.args.Name, ID: c.args.ID, Node: c.args.Node, Port: c.args.Port}
	if c.args.TTLMs != nil {
		s.TTL = time.Duration(*c.args.TTLMs) * time.Millisecond
	}
	var register func(context.Context, tenure.Service) (*tenure.Registration, error)
	if machine, err := get[*tenure.Agent](c, c.On); err == nil {
		register = machine.Register
	} else {
		client, err := get[*tenure.Client](c, c.On)
		if err != nil {
			return nil, err
		}
		register = client.Register
	}
	r, err := register(ctx, s)
	if err != nil {
		return nil, err
	}
	c.keep(r)
	return value{"id": r.ID(), "node": r.Node(), "check": r.CheckID()}, nil
}

func setService(ctx context.Context, c *call) (value, error) {
	r, err := get[*tenure.Registration](c, c.On)
	if err != nil {
		return nil, err
	}
	statuses := map[string]tenure.CheckStatus{
		"passing": tenure.CheckPassing, "warning": tenure.CheckWarning, "critical": tenure.CheckCritical,
	}
	return value{}, r.Set(ctx, statuses[c.args.Status], c.args.Output)
}

func closeService(_ context.Context, c *call) (value, error) {
	r, err := get[*tenure.Registration](c, c.On)
	if err != nil {
		return nil, err
	}
	return value{}, r.Close()
}

func openServices(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	list, err := client.OpenServiceList(ctx, c.args.Services...)
	if err != nil {
		return nil, err
	}
	c.keep(list)
	go func() {
		for all, err := range list.Changes(context.WithoutCancel(ctx)) {
			if err != nil {
				return
			}
			shown := value{}
			for name, instances := range all {
				ids := []string{}
				for _, i := range instances {
					ids = append(ids, i.Node+"/"+i.ID)
				}
				shown[name] = ids
			}
			c.event("services.changed", c.As, shown)
		}
	}()
	return value{}, nil
}

func servicesGet(_ context.Context, c *call) (value, error) {
	list, err := get[*tenure.ServiceList](c, c.On)
	if err != nil {
		return nil, err
	}
	instances := []value{}
	for _, i := range list.Instances(c.args.Name) {
		instances = append(instances, value{"id": i.ID, "node": i.Node, "address": i.Address, "port": i.Port})
	}
	return value{"instances": instances}, nil
}

// catalogOf returns the part of the catalog that an event is about.
func catalogOf(e *tenurev1.Event) tenure.Catalog {
	var c tenure.Catalog
	switch {
	case e.GetNode() != nil:
		c.Nodes = append(c.Nodes, e.GetNode())
	case e.GetService() != nil:
		c.Services = append(c.Services, e.GetService())
	case e.GetCheck() != nil:
		c.Checks = append(c.Checks, e.GetCheck())
	case e.GetQuery() != nil:
		c.Queries = append(c.Queries, e.GetQuery())
	}
	return c
}

// items shows a part of the catalog.
func items(c tenure.Catalog) []value {
	all := []value{}
	for _, n := range c.Nodes {
		all = append(all, value{"node": n.GetName(), "address": n.GetAddress()})
	}
	for _, s := range c.Services {
		all = append(all, value{"service": s.GetName(), "id": s.GetServiceId(), "node": s.GetNode(), "port": s.GetPort()})
	}
	for _, check := range c.Checks {
		all = append(all, value{"check": check.GetCheckId(), "node": check.GetNode(), "status": status(check.GetStatus())})
	}
	for _, q := range c.Queries {
		all = append(all, value{"query": q.GetName(), "id": q.GetQueryId(), "session": q.GetSessionId()})
	}
	return all
}

func status(s tenurev1.CheckStatus) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "CHECK_STATUS_"))
}
