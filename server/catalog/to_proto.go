package catalog

import (
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

// Texts returns pairs as a map.
func Texts(entries []*storev1.MetadataEntry) map[string]string {
	if len(entries) == 0 {
		return nil
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		out[e.GetName()] = e.GetValue()
	}
	return out
}

// NodeToProto returns a node.
func NodeToProto(r *storev1.NodeRecord, t *storev1.NodeTally) *tenurev1.Node {
	n := r.GetNode()
	out := &tenurev1.Node{
		Name: n.GetName(), NodeId: call.SessionText(n.GetNodeId()), Address: n.GetAddress(), GossipAddress: n.GetGossipAddress(),
		TaggedAddresses: Texts(n.GetTaggedAddresses()), Zone: n.GetZone(), Meta: Texts(n.GetMeta()),
		CreateRevision: r.GetCreateRevision(), ModRevision: r.GetModRevision(), Origin: tenurev1.CatalogOrigin(r.GetOrigin()),
	}
	if s := t.GetLastSync(); s != nil {
		out.LastSync = &tenurev1.SyncNumber{Boot: s.GetBoot(), Number: s.GetNumber()}
	}
	return out
}

// ServiceToProto returns an instance of a service.
func ServiceToProto(r *storev1.ServiceRecord) *tenurev1.Service {
	s := r.GetService()
	return &tenurev1.Service{
		Node: r.GetNode(), ServiceId: s.GetServiceId(), Name: s.GetName(), Tags: s.GetTags(), Address: s.GetAddress(), Port: s.GetPort(),
		Meta: Texts(s.GetMeta()), Weights: &tenurev1.ServiceWeights{Passing: s.GetWeightPassing(), Warning: s.GetWeightWarning()},
		TagOverride: s.GetTagOverride(), CreateRevision: r.GetCreateRevision(), ModRevision: r.GetModRevision(),
		Origin: tenurev1.CatalogOrigin(r.GetOrigin()),
	}
}

// CheckToProto returns a check. A definition that this program cannot read is left out.
func CheckToProto(r *storev1.CheckRecord) *tenurev1.Check {
	k := r.GetCheck()
	out := &tenurev1.Check{
		Node: r.GetNode(), CheckId: k.GetCheckId(), Name: k.GetName(), ServiceId: k.GetServiceId(), ServiceName: r.GetServiceName(),
		Status: tenurev1.CheckStatus(k.GetStatus()), Output: k.GetOutput(), Notes: k.GetNotes(), Kind: k.GetKind(),
		CreateRevision: r.GetCreateRevision(), ModRevision: r.GetModRevision(), Origin: tenurev1.CatalogOrigin(r.GetOrigin()),
	}
	if len(k.GetDefinition()) > 0 {
		d := &tenurev1.CheckDefinition{}
		if proto.Unmarshal(k.GetDefinition(), d) == nil {
			out.Definition = d
		}
	}
	return out
}

// OpToProto returns what an operation of a transaction did.
func OpToProto(r *storev1.CatalogOpResult) *tenurev1.CatalogOpResponse {
	out := &tenurev1.CatalogOpResponse{Deleted: r.GetDeleted()}
	switch entry := r.GetEntry().(type) {
	case *storev1.CatalogOpResult_Node:
		out.Entry = &tenurev1.CatalogOpResponse_Node{Node: NodeToProto(entry.Node, nil)}
	case *storev1.CatalogOpResult_Service:
		out.Entry = &tenurev1.CatalogOpResponse_Service{Service: ServiceToProto(entry.Service)}
	case *storev1.CatalogOpResult_Check:
		out.Entry = &tenurev1.CatalogOpResponse_Check{Check: CheckToProto(entry.Check)}
	}
	return out
}

// AddEvent fills in an event of the catalog, and reports whether it is one.
func AddEvent(out *tenurev1.Event, e *storev1.Event) bool {
	revision := e.GetRevision()
	switch kind := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		p := kind.NodePut
		out.Type = tenurev1.EventType_EVENT_TYPE_NODE_PUT
		out.Node = NodeToProto(&storev1.NodeRecord{
			Node: p.GetNode(), CreateRevision: p.GetCreateRevision(), ModRevision: revision, Origin: p.GetOrigin(),
		}, nil)
	case *storev1.Event_NodeDeleted:
		out.Type = tenurev1.EventType_EVENT_TYPE_NODE_DELETED
		out.Node = &tenurev1.Node{Name: kind.NodeDeleted.GetNode(), NodeId: call.SessionText(kind.NodeDeleted.GetNodeId())}
	case *storev1.Event_ServicePut:
		p := kind.ServicePut
		out.Type = tenurev1.EventType_EVENT_TYPE_SERVICE_PUT
		out.Service = ServiceToProto(&storev1.ServiceRecord{
			Service: p.GetService(), CreateRevision: p.GetCreateRevision(), ModRevision: revision, Origin: p.GetOrigin(), Node: p.GetNode(),
		})
	case *storev1.Event_ServiceDeleted:
		d := kind.ServiceDeleted
		out.Type = tenurev1.EventType_EVENT_TYPE_SERVICE_DELETED
		out.Service = &tenurev1.Service{Node: d.GetNode(), ServiceId: d.GetServiceId(), Name: d.GetName()}
	case *storev1.Event_CheckPut:
		p := kind.CheckPut
		out.Type = tenurev1.EventType_EVENT_TYPE_CHECK_PUT
		out.Check = CheckToProto(&storev1.CheckRecord{
			Check: p.GetCheck(), CreateRevision: p.GetCreateRevision(), ModRevision: revision, Origin: p.GetOrigin(), Node: p.GetNode(),
			ServiceName: p.GetServiceName(),
		})
	case *storev1.Event_CheckStatus:
		p := kind.CheckStatus
		out.Type = tenurev1.EventType_EVENT_TYPE_CHECK_STATUS
		out.PreviousStatus = tenurev1.CheckStatus(p.GetPrevious())
		out.Check = CheckToProto(&storev1.CheckRecord{
			Check: p.GetCheck(), CreateRevision: p.GetCreateRevision(), ModRevision: revision, Origin: p.GetOrigin(), Node: p.GetNode(),
			ServiceName: p.GetServiceName(),
		})
	case *storev1.Event_CheckDeleted:
		d := kind.CheckDeleted
		out.Type = tenurev1.EventType_EVENT_TYPE_CHECK_DELETED
		out.Check = &tenurev1.Check{
			Node: d.GetNode(), CheckId: d.GetCheckId(), ServiceId: d.GetServiceId(), ServiceName: d.GetServiceName(),
		}
	default:
		return false
	}
	return true
}

// nodeEntry returns a node of a snapshot.
func nodeEntry(n storage.NodeEntry) *tenurev1.Node { return NodeToProto(n.Record, n.Tally) }
