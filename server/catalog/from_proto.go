package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// field returns the error of the API for what is out of bounds.
func field(err error) error {
	if m, ok := errors.AsType[*catalog.MalformedError](err); ok {
		return reason.Invalid(m.Field, "%s", m.Problem)
	}
	return err
}

// within puts a field before the one that an error names.
func within(outer string, err error) error {
	if m, ok := errors.AsType[*catalog.MalformedError](err); ok {
		return reason.Invalid(outer+"."+m.Field, "%s", m.Problem)
	}
	return err
}

// idFromProto reads the id of a node that must be given.
func idFromProto(name, text string) ([]byte, error) {
	id, err := storage.ParseSessionID(text)
	if err != nil {
		return nil, reason.Invalid(name, "must be a UUID")
	}
	return id[:], nil
}

// checkNames refuses what cannot be the name of a node, or the id of something on it.
func checkNames(node, idField, id string) error {
	if err := field(catalog.CheckNodeName("node", node)); err != nil {
		return err
	}
	return field(catalog.CheckID(idField, id))
}

// Pairs returns pairs sorted by name.
func Pairs(m map[string]string) []*storev1.MetadataEntry {
	out := make([]*storev1.MetadataEntry, 0, len(m))
	for name, value := range m {
		out = append(out, &storev1.MetadataEntry{Name: name, Value: value})
	}
	slices.SortFunc(out, func(x, y *storev1.MetadataEntry) int { return strings.Compare(x.GetName(), y.GetName()) })
	return out
}

// NodeFromProto validates a node.
func NodeFromProto(name string, n *tenurev1.Node) (*storev1.Node, error) {
	if n == nil {
		return nil, reason.Invalid(name, "is missing")
	}
	out := &storev1.Node{
		Name: n.GetName(), Address: n.GetAddress(), GossipAddress: n.GetGossipAddress(), Zone: n.GetZone(),
		TaggedAddresses: Pairs(n.GetTaggedAddresses()), Meta: Pairs(n.GetMeta()),
	}
	if n.GetNodeId() != "" {
		id, err := idFromProto(name+".node_id", n.GetNodeId())
		if err != nil {
			return nil, err
		}
		out.NodeId = id
	}
	return out, within(name, catalog.CheckNode(out))
}

// statusFromProto reads a status; the enums are equal, number by number.
func statusFromProto(name string, s tenurev1.CheckStatus) (storev1.CheckStatus, error) {
	if _, known := tenurev1.CheckStatus_name[int32(s)]; !known {
		return 0, reason.Invalid(name, "%d is not a status", s)
	}
	return storev1.CheckStatus(s), nil
}

// ServiceFromProto returns an instance of a service, without checking its bounds.
func ServiceFromProto(s *tenurev1.Service) *storev1.Service {
	out := &storev1.Service{
		ServiceId: s.GetServiceId(), Name: s.GetName(), Address: s.GetAddress(), Port: s.GetPort(), Meta: Pairs(s.GetMeta()),
		WeightPassing: 1, WeightWarning: 1, TagOverride: s.GetTagOverride(),
	}
	if out.GetServiceId() == "" {
		out.ServiceId = s.GetName()
	}
	if w := s.GetWeights(); w != nil {
		out.WeightPassing, out.WeightWarning = w.GetPassing(), w.GetWarning()
	}
	out.Tags = slices.Sorted(slices.Values(s.GetTags()))
	return out
}

// CheckFromProto returns a check, without checking its bounds.
func CheckFromProto(k *tenurev1.Check) (*storev1.Check, error) {
	status, err := statusFromProto("status", k.GetStatus())
	if err != nil {
		return nil, err
	}
	out := &storev1.Check{
		CheckId: k.GetCheckId(), Name: k.GetName(), ServiceId: k.GetServiceId(), Status: status, Output: catalog.CutOutput(k.GetOutput()),
		Notes: k.GetNotes(), Kind: k.GetKind(),
	}
	if out.GetCheckId() == "" {
		out.CheckId = k.GetName()
	}
	if out.GetName() == "" {
		out.Name = out.GetCheckId()
	}
	if k.GetDefinition() != nil {
		if out.Definition, err = (proto.MarshalOptions{Deterministic: true}).Marshal(k.GetDefinition()); err != nil {
			return nil, reason.Invalid("definition", "cannot be stored")
		}
	}
	return out, nil
}

// SyncFromProto validates what an agent writes and deletes.
func SyncFromProto(r *tenurev1.SyncNodeRequest) (*storev1.SyncNode, error) {
	const origin = storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	id, err := idFromProto("node_id", r.GetNodeId())
	if err != nil {
		return nil, err
	}
	if r.GetSync().GetBoot() == 0 || r.GetSync().GetNumber() == 0 {
		return nil, reason.Invalid("sync", "must have a boot and a number, both from 1")
	}
	sync := &storev1.SyncNode{
		NodeId: id, Sync: &storev1.SyncNumber{Boot: r.GetSync().GetBoot(), Number: r.GetSync().GetNumber()},
		DeleteServices: r.GetDeleteServices(), DeleteChecks: r.GetDeleteChecks(),
	}
	if r.GetNode() != nil {
		if sync.Node, err = NodeFromProto("node", r.GetNode()); err != nil {
			return nil, err
		}
		if n := sync.GetNode().GetNodeId(); len(n) > 0 && string(n) != string(id) {
			return nil, reason.Invalid("node.node_id", "must be empty or that of the request")
		}
	}
	sync.Services, sync.Checks, err = entriesFromProto(entriesOf{
		node: r.GetNode().GetName(), services: r.GetServices(), checks: r.GetChecks(), origin: origin,
		others: len(r.GetDeleteServices()) + len(r.GetDeleteChecks()) + 1,
	})
	if err != nil {
		return nil, err
	}
	for _, list := range []struct {
		field string
		ids   []string
	}{{"delete_services", r.GetDeleteServices()}, {"delete_checks", r.GetDeleteChecks()}} {
		for i, text := range list.ids {
			if err = field(catalog.CheckID(fmt.Sprintf("%s[%d]", list.field, i), text)); err != nil {
				return nil, err
			}
		}
	}
	return sync, nil
}

// entriesOf are services and checks of one request.
type entriesOf struct {
	node     string // empty: not known
	services []*tenurev1.Service
	checks   []*tenurev1.Check
	origin   storev1.CatalogOrigin
	others   int // how many more entries the request writes or deletes
}

// entriesFromProto validates services and checks.
func entriesFromProto(e entriesOf) ([]*storev1.Service, []*storev1.Check, error) {
	if n := len(e.services) + len(e.checks) + e.others; n > catalog.RowsMax {
		return nil, nil, reason.Invalid("services", "the request has %d entries; at most %d are allowed", n, catalog.RowsMax).
			With("limit", "registration_entries_max").With("limit_value", fmt.Sprint(catalog.RowsMax))
	}
	var services []*storev1.Service
	for i, s := range e.services {
		if err := sameNode(fmt.Sprintf("services[%d].node", i), s.GetNode(), e.node); err != nil {
			return nil, nil, err
		}
		services = append(services, ServiceFromProto(s))
	}
	var checks []*storev1.Check
	for i, k := range e.checks {
		if err := sameNode(fmt.Sprintf("checks[%d].node", i), k.GetNode(), e.node); err != nil {
			return nil, nil, err
		}
		check, err := CheckFromProto(k)
		if err != nil {
			return nil, nil, inField(fmt.Sprintf("checks[%d]", i), err)
		}
		checks = append(checks, check)
	}
	return services, checks, field(catalog.CheckRegistration(services, checks, e.origin, e.others))
}

// inField puts the name of an entry before the field that an error names.
func inField(entry string, err error) error {
	e := reason.Of(err)
	if e == nil {
		return err
	}
	e.Message = entry + "." + e.Message
	for _, v := range e.Violations {
		v.Field = entry + "." + v.GetField()
	}
	return e
}

// sameNode refuses an entry that names another node than its request, or any where the request has only a node_id.
func sameNode(name, given, node string) error {
	switch {
	case given == "", node != "" && catalog.NodeKey(given) == catalog.NodeKey(node):
		return nil
	case node == "":
		return reason.Invalid(name, "must be empty: the request names its node by node_id")
	default:
		return reason.Invalid(name, "must be empty or the node of the request")
	}
}

// OpFromProto validates an operation of a transaction.
func OpFromProto(op *tenurev1.CatalogOp, drawn []byte) (*storev1.CatalogOp, error) {
	const origin = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	out := &storev1.CatalogOp{IfRevision: op.IfRevision}
	switch kind := op.GetKind().(type) {
	case *tenurev1.CatalogOp_PutNode:
		node, err := NodeFromProto("put_node", kind.PutNode)
		out.Kind = &storev1.CatalogOp_PutNode{PutNode: &storev1.PutNodeOp{Node: node, DrawnNodeId: drawn}}
		return out, err
	case *tenurev1.CatalogOp_PutService:
		if err := within("put_service", catalog.CheckNodeName("node", kind.PutService.GetNode())); err != nil {
			return nil, err
		}
		service := ServiceFromProto(kind.PutService)
		out.Kind = &storev1.CatalogOp_PutService{PutService: &storev1.PutServiceOp{Node: kind.PutService.GetNode(), Service: service}}
		return out, within("put_service", catalog.CheckService(service))
	case *tenurev1.CatalogOp_PutCheck:
		if err := within("put_check", catalog.CheckNodeName("node", kind.PutCheck.GetNode())); err != nil {
			return nil, err
		}
		check, err := CheckFromProto(kind.PutCheck)
		if err != nil {
			return nil, inField("put_check", err)
		}
		out.Kind = &storev1.CatalogOp_PutCheck{PutCheck: &storev1.PutCheckOp{Node: kind.PutCheck.GetNode(), Check: check}}
		return out, within("put_check", catalog.CheckCheck(check, origin))
	case *tenurev1.CatalogOp_Get:
		if op.IfRevision != nil {
			return nil, reason.Invalid("if_revision", "must not be given with get")
		}
		name, err := nameFromProto("get", kind.Get)
		out.Kind = &storev1.CatalogOp_Get{Get: name}
		return out, err
	case *tenurev1.CatalogOp_Delete:
		name, err := nameFromProto("delete", kind.Delete)
		out.Kind = &storev1.CatalogOp_Delete{Delete: name}
		return out, err
	default:
		return nil, reason.Invalid("kind", "the operation has no kind")
	}
}

// nameFromProto validates the name of an entry.
func nameFromProto(name string, n *tenurev1.CatalogName) (*storev1.CatalogName, error) {
	if err := within(name, catalog.CheckNodeName("node", n.GetNode())); err != nil {
		return nil, err
	}
	if n.GetServiceId() != "" && n.GetCheckId() != "" {
		return nil, reason.Invalid(name+".check_id", "must not be given together with service_id")
	}
	return &storev1.CatalogName{Node: n.GetNode(), ServiceId: n.GetServiceId(), CheckId: n.GetCheckId()}, nil
}

// ChecksFromProto validates the checks of a new session; nil if it leaves them to the cluster.
func ChecksFromProto(c *tenurev1.SessionChecks, node string) (*storev1.SessionChecks, error) {
	if c == nil {
		return nil, nil
	}
	ids := slices.Sorted(slices.Values(slices.Concat(c.GetNodeChecks(), c.GetServiceChecks())))
	if err := field(catalog.CheckBoundChecks(ids)); err != nil {
		return nil, err
	}
	if len(ids) > 0 && node == "" {
		return nil, reason.Invalid("checks", "need the name of a registered node")
	}
	return &storev1.SessionChecks{CheckIds: ids}, nil
}
