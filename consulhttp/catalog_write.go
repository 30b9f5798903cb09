package consulhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// registerBody is the body of a request to register.
type registerBody struct {
	ID              string
	Node            string
	Address         string
	TaggedAddresses map[string]string
	NodeMeta        map[string]string
	Datacenter      string
	Service         *wire.Service
	Check           *wire.Check
	Checks          []*wire.Check
	SkipNodeUpdate  bool
}

// decode reads the JSON of a request.
func (q *request) decode(to any) error {
	data, err := q.Content()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return reply.Refusal(http.StatusBadRequest, "Request decode failed: the body must be JSON as for Consul.")
	}
	return nil
}

// checkDatacenter refuses a datacenter that is named in a body and is not this one.
func (c *catalog) checkDatacenter(name string) error {
	if name != "" && !strings.EqualFold(name, c.options.Datacenter) {
		return reply.Known(reply.Refusal(http.StatusInternalServerError, "No path to datacenter"))
	}
	return nil
}

// register serves PUT /v1/catalog/register.
func (c *catalog) register(ctx context.Context, q *request) (*reply.Answer, error) {
	var body registerBody
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	if err := c.checkDatacenter(body.Datacenter); err != nil {
		return nil, err
	}
	if body.Node == "" || body.Address == "" && !body.SkipNodeUpdate {
		return nil, reply.Refusal(http.StatusBadRequest, "Must provide node and address")
	}
	node := wire.Node{ID: body.ID, Node: body.Node, Address: body.Address, TaggedAddresses: body.TaggedAddresses, Meta: body.NodeMeta}
	call := &tenurev1.RegisterNodeRequest{Node: node.Message(), SkipNodeUpdate: body.SkipNodeUpdate}
	if err := body.entries(call); err != nil {
		return nil, err
	}
	if !body.SkipNodeUpdate { // Otherwise a node that is the same machine stays as it is.
		if _, err := c.keepOurs(ctx, call.GetNode()); err != nil {
			return nil, err
		}
	}
	if _, err := c.nodes.RegisterNode(ctx, call); err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: true}, nil
}

// entries adds the service and the checks.
func (b *registerBody) entries(call *tenurev1.RegisterNodeRequest) error {
	if b.Service != nil {
		if b.Service.Service == "" {
			return reply.Refusal(http.StatusBadRequest, "Must provide service name (Service.Service) when service ID is provided")
		}
		call.Services = append(call.Services, b.Service.Message(b.Node))
	}
	checks := b.Checks
	if b.Check != nil {
		checks = append([]*wire.Check{b.Check}, checks...)
	}
	for _, k := range checks {
		if k == nil {
			continue
		}
		if k.Node != "" && !strings.EqualFold(k.Node, b.Node) {
			return reply.Refusal(http.StatusBadRequest, "check node %q does not match node %q", reply.Shown(k.Node), reply.Shown(b.Node))
		}
		// A check that came with a service is about it.
		if k.ServiceID == "" && k.ServiceName != "" && b.Service != nil && k.ServiceName == b.Service.Service {
			k.ServiceID = call.GetServices()[0].GetServiceId()
			if k.ServiceID == "" {
				k.ServiceID = b.Service.Service
			}
		}
		message, err := k.Message(b.Node)
		if err != nil {
			return reply.Refusal(http.StatusBadRequest, "%v", err)
		}
		call.Checks = append(call.Checks, message)
	}
	return nil
}

// keepOurs gives nodes that are to be written what Consul does not know of those that are registered: their zones, and where they take part in gossip.
// A node with another id is another machine under the same name, and gets nothing of the old one. It returns the revisions of the registered nodes;
// 0 if there is none.
func (c *core) keepOurs(ctx context.Context, nodes ...*tenurev1.Node) ([]uint64, error) {
	reads, revisions := &tenurev1.TxnRequest{}, make([]uint64, len(nodes))
	for _, n := range nodes {
		get := &tenurev1.CatalogOp_Get{Get: &tenurev1.CatalogName{Node: n.GetName()}}
		reads.Then = append(reads.Then, &tenurev1.Op{Kind: &tenurev1.Op_Catalog{Catalog: &tenurev1.CatalogOp{Kind: get}}})
	}
	read, err := c.kv.Txn(ctx, reads)
	if err != nil {
		// What is wrong with a name, the write says.
		return revisions, ignoring(err, tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT)
	}
	for i, n := range nodes {
		found := read.GetResponses()[i].GetCatalog().GetNode()
		n.Zone, n.GossipAddress, revisions[i] = "", "", found.GetModRevision()
		if n.GetNodeId() == "" || strings.EqualFold(n.GetNodeId(), found.GetNodeId()) {
			n.Zone, n.GossipAddress = found.GetZone(), found.GetGossipAddress()
		}
	}
	return revisions, nil
}

// deregister serves PUT /v1/catalog/deregister.
func (c *catalog) deregister(ctx context.Context, q *request) (*reply.Answer, error) {
	var body struct{ Datacenter, Node, ServiceID, CheckID string }
	if err := q.decode(&body); err != nil {
		return nil, err
	}
	if err := c.checkDatacenter(body.Datacenter); err != nil {
		return nil, err
	}
	if body.Node == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Must provide node")
	}
	var err error
	switch {
	case body.ServiceID != "":
		_, err = c.nodes.DeregisterService(ctx, &tenurev1.DeregisterServiceRequest{Node: body.Node, ServiceId: body.ServiceID})
	case body.CheckID != "":
		id, wrong := wire.CheckID(body.CheckID)
		if wrong != nil {
			return nil, reply.Refusal(http.StatusBadRequest, "%v", wrong)
		}
		_, err = c.nodes.DeregisterCheck(ctx, &tenurev1.DeregisterCheckRequest{Node: body.Node, CheckId: id})
	default:
		_, err = c.nodes.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{Node: body.Node})
	}
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: true}, nil
}
