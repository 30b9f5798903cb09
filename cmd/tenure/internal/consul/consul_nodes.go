package consul

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

const (
	// consulListMax is how many bytes one list of Consul's catalog may have.
	consulListMax = 256 << 20
	// registrationEntriesMax is how many services and checks a call registers beside the node; a member takes 128 entries in all.
	registrationEntriesMax = 127
)

// importNodes copies the external nodes of a Consul, and prints how many.
func importNodes(ctx context.Context, e *cli.Environment, source string, overwrite bool) error {
	if !strings.HasPrefix(source, "http://") && !strings.HasPrefix(source, "https://") {
		return cli.UsageError("--nodes needs the address of Consul's HTTP API, http://HOST:PORT or https://HOST:PORT")
	}
	nodes, err := externalNodes(ctx, e, source)
	if err != nil {
		return err
	}
	c, err := e.Client(ctx, tenure.WithFixedMembers())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	for i, n := range nodes {
		if err = importNode(ctx, c, n, overwrite); err != nil {
			if i > 0 {
				e.Notef("%s registered before.", were(i, "node"))
			}
			return err
		}
	}
	if e.JSON() {
		return e.Printf("{\"nodes\": %d}\n", len(nodes))
	}
	return e.Printf("Success! Imported %s.\n", cli.Counted(len(nodes), "node"))
}

// externalNodes returns the nodes on which no agent of Consul runs, with their services and checks.
func externalNodes(ctx context.Context, e *cli.Environment, source string) ([]*tenurev1.RegisterNodeRequest, error) {
	from, err := newConsulSource(e, source)
	if err != nil {
		return nil, err
	}
	defer from.close()
	var nodes []*wire.Node
	var checks []*wire.Check
	if err := from.read(ctx, "/v1/catalog/nodes?consistent", &nodes); err != nil {
		return nil, err
	}
	if err := from.read(ctx, "/v1/health/state/any?consistent", &checks); err != nil {
		return nil, err
	}
	checksOf := map[string][]*wire.Check{}
	agents := map[string]bool{}
	for _, k := range checks {
		checksOf[k.Node] = append(checksOf[k.Node], k)
		agents[k.Node] = agents[k.Node] || k.CheckID == wire.SerfHealth
	}
	var out []*tenurev1.RegisterNodeRequest
	for _, n := range nodes {
		if agents[n.Node] {
			continue
		}
		r, err := externalNode(ctx, from, n, checksOf[n.Node])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// externalNode returns a node with its services and checks.
func externalNode(ctx context.Context, from *consulSource, n *wire.Node, checks []*wire.Check) (*tenurev1.RegisterNodeRequest, error) {
	var whole struct{ Services map[string]*wire.Service }
	if err := from.read(ctx, "/v1/catalog/node/"+url.PathEscape(n.Node)+"?consistent", &whole); err != nil {
		return nil, err
	}
	r := &tenurev1.RegisterNodeRequest{Node: n.Message()}
	for _, id := range slices.Sorted(maps.Keys(whole.Services)) {
		r.Services = append(r.Services, whole.Services[id].Message(n.Node))
	}
	for _, k := range checks {
		if _, ok := whole.Services[k.ServiceID]; k.ServiceID != "" && !ok {
			continue // It was deregistered meanwhile.
		}
		check, err := k.Message(n.Node)
		if err != nil {
			return nil, cli.RefusedError("node %s: %w", cli.Quoted(n.Node), err)
		}
		r.Checks = append(r.Checks, check)
	}
	return r, nil
}

// read reads a list.
func (s *consulSource) read(ctx context.Context, path string, to any) error {
	body, err := s.open(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // It was only read.
	list := io.LimitReader(body, consulListMax)
	if err = json.NewDecoder(list).Decode(to); err != nil {
		return consulSourceError(err, "what Consul answers to "+path+" cannot be read")
	}
	_, _ = io.Copy(io.Discard, list) // Only a connection whose answer was read to its end is used again.
	return nil
}

// importNode registers a node with its services and checks, in as many calls as it needs.
func importNode(ctx context.Context, c *tenure.Client, whole *tenurev1.RegisterNodeRequest, overwrite bool) error {
	name := whole.GetNode().GetName()
	if !overwrite {
		err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) error {
			_, err := tenurev1.NewCatalogServiceClient(member).GetNode(ctx, &tenurev1.GetNodeRequest{Node: name})
			return err
		})
		switch {
		case err == nil:
			return cli.RefusedError("node %s exists already; with --overwrite it is replaced", cli.Quoted(name))
		case errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
			return fmt.Errorf("node %s: %w", cli.Quoted(name), err)
		}
	}
	for _, part := range parts(whole) {
		err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) error {
			part.Options = once
			_, err := tenurev1.NewCatalogServiceClient(member).RegisterNode(ctx, part)
			return err
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", cli.Quoted(name), err)
		}
	}
	return nil
}

// parts divides a registration into those that a member takes: the node first, and services before their checks.
func parts(whole *tenurev1.RegisterNodeRequest) []*tenurev1.RegisterNodeRequest {
	out := []*tenurev1.RegisterNodeRequest{}
	services, checks := whole.GetServices(), whole.GetChecks()
	for {
		part := &tenurev1.RegisterNodeRequest{Node: whole.GetNode(), SkipNodeUpdate: len(out) > 0}
		n := min(len(services), registrationEntriesMax)
		part.Services, services = services[:n], services[n:]
		n = min(len(checks), registrationEntriesMax-n)
		part.Checks, checks = checks[:n], checks[n:]
		if out = append(out, part); len(services)+len(checks) == 0 {
			return out
		}
	}
}
