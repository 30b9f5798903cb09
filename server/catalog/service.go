package catalog

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// Service serves the catalog.
type Service struct {
	tenurev1.UnimplementedCatalogServiceServer
	*call.Caller
}

// New returns the service of a member.
func New(c *call.Caller) *Service { return &Service{Caller: c} }

// Enabled refuses what an older member could not apply.
func Enabled(c *call.Caller) error {
	if storage.KnowsCatalog(c.Node.Store().Applied().ClusterVersion) {
		return nil
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
		"the catalog is used once every member supports it and the cluster version was raised")
}

// change proposes a command on the catalog.
func (a *Service) change(ctx context.Context, r proto.Message, o *tenurev1.CallOptions, cmd *storev1.Command) (*storev1.Result, error) {
	if err := Enabled(a.Caller); err != nil {
		return nil, err
	}
	if err := call.CheckOptions(o, call.OptionUse{Guards: true, Key: true}); err != nil {
		return nil, err
	}
	return a.Propose(ctx, call.Change{Request: r, Options: o, Command: cmd})
}

// RegisterNode serves CatalogService.
func (a *Service) RegisterNode(ctx context.Context, r *tenurev1.RegisterNodeRequest) (*tenurev1.RegisterNodeResponse, error) {
	const origin = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
	node, err := NodeFromProto("node", r.GetNode())
	if err != nil {
		return nil, err
	}
	services, checks, err := entriesFromProto(entriesOf{
		node: r.GetNode().GetName(), services: r.GetServices(), checks: r.GetChecks(), origin: origin, others: 1,
	})
	if err != nil {
		return nil, err
	}
	drawn := uuid.New()
	result, err := a.change(ctx, r, r.GetOptions(), &storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
		Node: node, SkipNodeUpdate: r.GetSkipNodeUpdate(), Services: services, Checks: checks, DrawnNodeId: drawn[:], Origin: origin,
	}}})
	if err != nil {
		return nil, err
	}
	done := result.GetCatalog()
	return &tenurev1.RegisterNodeResponse{
		Header: a.HeaderOf(result), NodeId: call.SessionText(done.GetNodeId()), SessionsEnded: done.GetSessionsEnded(),
	}, nil
}

// SyncNode serves CatalogService.
func (a *Service) SyncNode(ctx context.Context, r *tenurev1.SyncNodeRequest) (*tenurev1.SyncNodeResponse, error) {
	sync, err := SyncFromProto(r)
	if err != nil {
		return nil, err
	}
	result, err := a.change(ctx, r, nil, &storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: sync}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.SyncNodeResponse{Header: a.HeaderOf(result), SessionsEnded: result.GetCatalog().GetSessionsEnded()}, nil
}

// UpdateCheck serves CatalogService.
func (a *Service) UpdateCheck(ctx context.Context, r *tenurev1.UpdateCheckRequest) (*tenurev1.UpdateCheckResponse, error) {
	if err := checkNames(r.GetNode(), "check_id", r.GetCheckId()); err != nil {
		return nil, err
	}
	status, err := statusFromProto("status", r.GetStatus())
	if err != nil {
		return nil, err
	}
	if status == storev1.CheckStatus_CHECK_STATUS_UNSPECIFIED {
		return nil, reason.Invalid("status", "is required: PASSING, WARNING or CRITICAL")
	}
	result, err := a.change(ctx, r, r.GetOptions(), &storev1.Command{Kind: &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{
		Node: r.GetNode(), CheckId: r.GetCheckId(), Status: status, Output: catalog.CutOutput(r.GetOutput()),
	}}})
	if err != nil {
		return nil, err
	}
	done := result.GetCatalog()
	return &tenurev1.UpdateCheckResponse{
		Header: a.HeaderOf(result), Previous: tenurev1.CheckStatus(done.GetPrevious()), SessionsEnded: done.GetSessionsEnded(),
	}, nil
}

// DeregisterNode serves CatalogService.
func (a *Service) DeregisterNode(
	ctx context.Context, r *tenurev1.DeregisterNodeRequest,
) (*tenurev1.DeregisterNodeResponse, error) {
	if err := field(catalog.CheckNodeName("node", r.GetNode())); err != nil {
		return nil, err
	}
	result, err := a.deregister(ctx, r, &storev1.CatalogName{Node: r.GetNode()})
	if err != nil {
		return nil, err
	}
	done := result.GetCatalog()
	return &tenurev1.DeregisterNodeResponse{
		Header: a.HeaderOf(result), Deregistered: done.GetDeleted(), SessionsEnded: done.GetSessionsEnded(),
	}, nil
}

// DeregisterService serves CatalogService.
func (a *Service) DeregisterService(
	ctx context.Context, r *tenurev1.DeregisterServiceRequest,
) (*tenurev1.DeregisterServiceResponse, error) {
	if err := checkNames(r.GetNode(), "service_id", r.GetServiceId()); err != nil {
		return nil, err
	}
	result, err := a.deregister(ctx, r, &storev1.CatalogName{Node: r.GetNode(), ServiceId: r.GetServiceId()})
	if err != nil {
		return nil, err
	}
	done := result.GetCatalog()
	return &tenurev1.DeregisterServiceResponse{
		Header: a.HeaderOf(result), Deregistered: done.GetDeleted(), SessionsEnded: done.GetSessionsEnded(),
	}, nil
}

// DeregisterCheck serves CatalogService.
func (a *Service) DeregisterCheck(
	ctx context.Context, r *tenurev1.DeregisterCheckRequest,
) (*tenurev1.DeregisterCheckResponse, error) {
	if err := checkNames(r.GetNode(), "check_id", r.GetCheckId()); err != nil {
		return nil, err
	}
	result, err := a.deregister(ctx, r, &storev1.CatalogName{Node: r.GetNode(), CheckId: r.GetCheckId()})
	if err != nil {
		return nil, err
	}
	done := result.GetCatalog()
	return &tenurev1.DeregisterCheckResponse{
		Header: a.HeaderOf(result), Deregistered: done.GetDeleted(), SessionsEnded: done.GetSessionsEnded(),
	}, nil
}

// deregistration is a request to deregister something.
type deregistration interface {
	proto.Message
	GetIfNodeId() string
	GetOptions() *tenurev1.CallOptions
}

// deregister deletes an entry.
func (a *Service) deregister(ctx context.Context, r deregistration, name *storev1.CatalogName) (*storev1.Result, error) {
	d := &storev1.Deregister{Name: name}
	if r.GetIfNodeId() != "" {
		id, err := idFromProto("if_node_id", r.GetIfNodeId())
		if err != nil {
			return nil, err
		}
		d.IfNodeId = id
	}
	return a.change(ctx, r, r.GetOptions(), &storev1.Command{Kind: &storev1.Command_Deregister{Deregister: d}})
}

// LivenessID is the id of the check that says what the pool sees of a node.
const LivenessID = catalog.LivenessID
