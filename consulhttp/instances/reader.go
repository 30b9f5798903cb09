package instances

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/ask"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// AloneMax is up to how many nodes are always read one by one: a service of theirs may have many more instances elsewhere.
const AloneMax = 16

// Nodes are names of nodes, in lower case; nil: all.
type Nodes map[string]bool

// Has reports whether a node is among them.
func (n Nodes) Has(name string) bool { return n == nil || n[strings.ToLower(name)] }

// Reader reads instances.
type Reader struct {
	Client      tenurev1.CatalogServiceClient
	Consistency string
}

// On visits the instances of services on nodes: node by node, or where these are many and the services fewer, service by service. services are
// all that there are; of up to AloneMax nodes, they are not used.
func (r *Reader) On(ctx context.Context, nodes Nodes, services []string, visit func(*tenurev1.Service)) error {
	if len(nodes) <= max(AloneMax, len(services)) {
		return r.byNode(ctx, nodes, visit)
	}
	return r.byService(ctx, services, func(s *tenurev1.Service) {
		if nodes.Has(s.GetNode()) {
			visit(s)
		}
	})
}

func (r *Reader) byNode(ctx context.Context, nodes Nodes, visit func(*tenurev1.Service)) error {
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		get := &tenurev1.GetNodeRequest{Node: name, Read: ask.ReadOptions(r.Consistency), VisibleOnly: true}
		for more := true; more; more = get.GetPageToken() != "" {
			part, err := r.Client.GetNode(ctx, get)
			if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND {
				break
			}
			if err != nil {
				return err
			}
			for _, s := range part.GetServices() {
				visit(s)
			}
			get.PageToken = part.GetNextPageToken()
		}
	}
	return nil
}

func (r *Reader) byService(ctx context.Context, services []string, visit func(*tenurev1.Service)) error {
	for _, name := range services {
		list := &tenurev1.ListInstancesRequest{Service: name, Read: ask.ReadOptions(r.Consistency), VisibleOnly: true}
		for more := true; more; more = list.GetPageToken() != "" {
			part, err := r.Client.ListInstances(ctx, list)
			if err != nil {
				return err
			}
			for _, i := range part.GetInstances() {
				visit(i.GetService())
			}
			list.PageToken = part.GetNextPageToken()
		}
	}
	return nil
}
