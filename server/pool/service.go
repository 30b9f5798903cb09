package pool

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// leaveTries is how often ForceLeave looks again if the check changes meanwhile.
const leaveTries = 4

// Service serves PoolService.
type Service struct {
	tenurev1.UnimplementedPoolServiceServer
	*call.Caller
	peers *Peers
}

// NewService returns the service of a member.
func NewService(c *call.Caller, p *Peers) *Service { return &Service{Caller: c, peers: p} }

// ListPool serves PoolService. It answers also without a leader; in modes warn and enforce it does so only while what the member knows of
// the rules is not older than --auth-stale-max, and not at all before the first contact with a leader after a start.
func (a *Service) ListPool(ctx context.Context, r *tenurev1.ListPoolRequest) (*tenurev1.ListPoolResponse, error) {
	size, err := call.PageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	if _, known := tenurev1.PoolNodeState_name[int32(r.GetState())]; !known {
		return nil, reason.Invalid("state", "is not known")
	}
	if _, known := tenurev1.PoolNodeRole_name[int32(r.GetRole())]; !known {
		return nil, reason.Invalid("role", "is not known")
	}
	s, err := a.LocalReader(ctx)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	q := call.PageQuery{List: "pool", Filters: []string{r.GetState().String(), r.GetRole().String()}}
	after, err := q.After(s.At, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	_, g := a.peers.parts()
	out := &tenurev1.ListPoolResponse{Header: a.Header(s.At), TakesPart: g != nil}
	if g == nil {
		return out, nil
	}
	last := after
	for _, n := range g.Nodes() {
		at := n.Key.Name + "\x00" + string(n.ID[:])
		node := toProto(n)
		if at <= after || r.GetState() != 0 && node.GetState() != r.GetState() || r.GetRole() != 0 && node.GetRole() != r.GetRole() {
			continue
		}
		if n.State != gossip.Alive {
			registered, err := isRegistered(s.Reader, n.Key)
			if err != nil {
				return nil, err
			}
			if !registered {
				continue
			}
		}
		if len(out.GetNodes()) == size {
			out.NextPageToken = q.Token(s.At, last)
			break
		}
		out.Nodes, last = append(out.Nodes, node), at
	}
	return out, nil
}

// isRegistered reports whether the catalog has a node with this name and id.
func isRegistered(s *storage.Reader, k gossip.Key) (bool, error) {
	n, found, err := s.Node(k.Name)
	return found && string(n.Record.GetNode().GetNodeId()) == string(k.ID[:]), err
}

// toProto converts a node.
func toProto(n gossip.Node) *tenurev1.PoolNode {
	out := &tenurev1.PoolNode{
		Name: n.Name, NodeId: uuid.UUID(n.ID).String(), GossipAddress: n.Address, Version: n.Version, Since: timestamppb.New(n.Since),
		State: map[gossip.State]tenurev1.PoolNodeState{
			gossip.Alive:  tenurev1.PoolNodeState_POOL_NODE_STATE_ALIVE,
			gossip.Failed: tenurev1.PoolNodeState_POOL_NODE_STATE_FAILED,
			gossip.Left:   tenurev1.PoolNodeState_POOL_NODE_STATE_LEFT,
		}[n.State],
		Role: tenurev1.PoolNodeRole_POOL_NODE_ROLE_AGENT,
	}
	if n.Role == gossip.Member {
		out.Role = tenurev1.PoolNodeRole_POOL_NODE_ROLE_MEMBER
	}
	return out
}

// ForceLeave serves PoolService.
func (a *Service) ForceLeave(ctx context.Context, r *tenurev1.ForceLeaveRequest) (*tenurev1.ForceLeaveResponse, error) {
	if err := catalog.CheckNodeName("node", r.GetNode()); err != nil {
		return nil, reason.Invalid("node", "must be the name of a node")
	}
	for try := 1; ; try++ {
		id, revision, err := a.failed(ctx, r.GetNode())
		if err != nil {
			return nil, err
		}
		// If the check changes before that, the node may live.
		_, err = a.propose(ctx, r, &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{{
			Kind: &storev1.Op_Catalog{Catalog: &storev1.CatalogOp{
				IfRevision: &revision,
				Kind:       &storev1.CatalogOp_Delete{Delete: &storev1.CatalogName{Node: r.GetNode(), CheckId: catalog.LivenessID}},
			}},
		}}}}})
		if e := reason.Of(err); e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED && try < leaveTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		result, err := a.propose(ctx, r, &storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{
			Name: &storev1.CatalogName{Node: r.GetNode()}, IfNodeId: id, UnlessBound: true,
		}}})
		if err != nil {
			return nil, err
		}
		return &tenurev1.ForceLeaveResponse{Header: a.HeaderOf(result), Deregistered: result.GetCatalog().GetDeleted()}, nil
	}
}

// propose proposes a part of ForceLeave.
func (a *Service) propose(ctx context.Context, r *tenurev1.ForceLeaveRequest, c *storev1.Command) (*storev1.Result, error) {
	return a.Propose(ctx, call.Change{Request: r, Command: c})
}

// failed returns the id of a node that has failed, and the revision of its check liveness.
func (a *Service) failed(ctx context.Context, name string) (id []byte, revision uint64, err error) {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, 0, err
	}
	defer a.CloseSnapshot(s)
	n, found, err := s.Node(name)
	if err != nil {
		return nil, 0, err
	}
	if !found {
		return nil, 0, reason.New(tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND, "node %q is not registered", name)
	}
	check, found, err := s.Check(n.Key, catalog.LivenessID)
	if err != nil {
		return nil, 0, err
	}
	if !found {
		return nil, 0, reason.New(tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED,
			"node %q takes no part in gossip; deregister it with the catalog", name)
	}
	if check.GetCheck().GetStatus() != storev1.CheckStatus_CHECK_STATUS_CRITICAL {
		return nil, 0, reason.New(tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED, "node %q has not failed", name)
	}
	return n.Record.GetNode().GetNodeId(), check.GetModRevision(), nil
}
