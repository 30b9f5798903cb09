package consulhttp

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// memberList are the members as the answering one sees them.
type memberList struct {
	all    []*tenurev1.Member
	self   *tenurev1.Member // the answering one
	leader *tenurev1.Member // nil if there is none
	header *tenurev1.ResponseHeader
}

// named returns a member's name as it is written; empty if there is none.
func (l *memberList) named(name string) string {
	for _, m := range l.all {
		if strings.EqualFold(m.GetName(), name) {
			return m.GetName()
		}
	}
	return ""
}

// members returns the members.
func (c *core) members(ctx context.Context) (*memberList, error) {
	list, err := c.cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{})
	if err != nil {
		return nil, err
	}
	return newMemberList(list.GetMembers(), list.GetHeader()), nil
}

// newMemberList returns the members.
func newMemberList(all []*tenurev1.Member, header *tenurev1.ResponseHeader) *memberList {
	out := &memberList{all: all, header: header}
	for _, m := range all {
		if m.GetId() == header.GetMemberId() {
			out.self = m
		}
		if m.GetLeader() {
			out.leader = m
		}
	}
	return out
}

// membersSeen returns the members as the answering one sees them, if no leader confirms them within a while: programs that ask how the cluster is
// want to know also while there is none.
func (c *core) membersSeen(ctx context.Context) (*memberList, error) {
	asking, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	list, err := c.members(asking)
	if err == nil || ctx.Err() != nil || !leaderless(err) {
		return list, err
	}
	seen, failure := c.cluster.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if failure != nil {
		return nil, err // It takes a right.
	}
	return newMemberList(seen.GetMembers(), seen.GetHeader()), nil
}

// ownNode returns the name of the node that answers.
func (c *core) ownNode(ctx context.Context) (string, error) {
	if c.options.Agent == nil {
		return c.options.Member, nil
	}
	own, err := c.options.Agent.GetAgent(ctx, &tenurev1.GetAgentRequest{})
	return own.GetNode(), err
}

// nodeID returns the id of a member as a node: a UUID.
func (c *core) nodeID(list *memberList, m *tenurev1.Member) string {
	if c.options.NodeID != "" && m.GetId() == list.self.GetId() {
		return c.options.NodeID
	}
	// A member's id is random and never used again, and so is this.
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(list.header.GetClusterId()+"/"+strconv.FormatUint(m.GetId(), 10))).String()
}

// serverAddress returns the address that stands for a member: the one for other members, or the one for clients of a member that has none. It
// is empty without a member.
func serverAddress(m *tenurev1.Member) string {
	return cmp.Or(m.GetPeerAddress(), m.GetClientAddress())
}

// statusLeader serves GET /v1/status/leader.
func (e *memberEndpoints) statusLeader(ctx context.Context, _ *request) (*reply.Answer, error) {
	list, err := e.membersSeen(ctx)
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: serverAddress(list.leader)}, nil
}

// statusPeers serves GET /v1/status/peers.
func (e *memberEndpoints) statusPeers(ctx context.Context, _ *request) (*reply.Answer, error) {
	list, err := e.membersSeen(ctx)
	if err != nil {
		return nil, err
	}
	peers := []string{}
	for _, m := range list.all {
		if !m.GetLearner() {
			peers = append(peers, serverAddress(m))
		}
	}
	return &reply.Answer{JSON: peers}, nil
}

// memberJSON is a member as Consul shows those of its gossip.
type memberJSON struct {
	Name        string
	Addr        string
	Port        uint16
	Tags        map[string]string
	Status      int
	ProtocolMin int
	ProtocolMax int
	ProtocolCur int
	DelegateMin int
	DelegateMax int
	DelegateCur int
}

// Numbers that clients of Consul expect in a member.
const (
	memberAlive  = 1
	memberLeft   = 3
	memberFailed = 4
	protocolMin  = 1
	protocolMax  = 5
	protocolCur  = 2
	delegateMin  = 2
	delegateMax  = 5
	delegateCur  = 4
)

// memberOf returns a member as Consul shows it.
func (c *core) memberOf(list *memberList, m *tenurev1.Member) memberJSON {
	host, port := hostPort(serverAddress(m))
	out := memberJSON{
		Name: m.GetName(), Addr: host, Port: port, Status: memberAlive,
		Tags: map[string]string{
			"role": "consul", "dc": c.options.Datacenter, "id": c.nodeID(list, m), "build": consulVersion + ":" + c.revision(),
			"vsn": strconv.Itoa(protocolCur), "port": strconv.Itoa(int(port)),
		},
		ProtocolMin: protocolMin, ProtocolMax: protocolMax, ProtocolCur: protocolCur,
		DelegateMin: delegateMin, DelegateMax: delegateMax, DelegateCur: delegateCur,
	}
	if m.Reachable != nil && !m.GetReachable() {
		out.Status = memberFailed
	}
	return out
}

// hostPort splits an address.
func hostPort(address string) (host string, port uint16) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	n, _ := strconv.ParseUint(text, 10, 16)
	return host, uint16(n)
}

// agentMembers serves GET /v1/agent/members.
func (e *memberEndpoints) agentMembers(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Text("wan") != "" && q.Text("wan") != "0" {
		return nil, reply.Refusal(http.StatusNotImplemented, "Tenure has no pools that span datacenters; leave out wan.")
	}
	list, err := e.membersSeen(ctx)
	if err != nil {
		return nil, err
	}
	out, err := e.poolMembers(ctx, list)
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: out}, nil
}

// forceLeave serves PUT /v1/agent/force-leave/NODE.
func (e *memberEndpoints) forceLeave(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, "Missing node name")
	}
	if !utf8.ValidString(q.Rest) {
		return nil, reply.Refusal(http.StatusBadRequest, "The node name is not valid UTF-8.")
	}
	_, err := e.pool.ForceLeave(ctx, &tenurev1.ForceLeaveRequest{Node: q.Rest})
	switch {
	case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return nil, reply.Refusal(http.StatusNotFound, "agent: No node found with name '%s'", reply.Shown(q.Rest))
	case err != nil:
		return nil, err
	default:
		return &reply.Answer{}, nil
	}
}

// poolMembers adds the agents that take part in gossip to the members.
func (e *memberEndpoints) poolMembers(ctx context.Context, list *memberList) ([]memberJSON, error) {
	out := []memberJSON{}
	for _, m := range list.all {
		out = append(out, e.memberOf(list, m))
	}
	ask := &tenurev1.ListPoolRequest{Role: tenurev1.PoolNodeRole_POOL_NODE_ROLE_AGENT}
	for {
		part, err := e.pool.ListPool(ctx, ask)
		if status.Code(err) == codes.Unimplemented {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for _, n := range part.GetNodes() {
			out = append(out, e.poolMember(n))
		}
		if ask.PageToken = part.GetNextPageToken(); ask.GetPageToken() == "" {
			return out, nil
		}
	}
}

// poolMember returns an agent as Consul shows its own.
func (e *memberEndpoints) poolMember(n *tenurev1.PoolNode) memberJSON {
	host, port := hostPort(n.GetGossipAddress())
	return memberJSON{
		Name: n.GetName(), Addr: host, Port: port,
		Tags: map[string]string{
			"role": "node", "dc": e.options.Datacenter, "id": n.GetNodeId(), "build": consulVersion + ":tenure-" + n.GetVersion(),
			"vsn": strconv.Itoa(protocolCur),
		},
		Status: map[tenurev1.PoolNodeState]int{
			tenurev1.PoolNodeState_POOL_NODE_STATE_ALIVE:  memberAlive,
			tenurev1.PoolNodeState_POOL_NODE_STATE_LEFT:   memberLeft,
			tenurev1.PoolNodeState_POOL_NODE_STATE_FAILED: memberFailed,
		}[n.GetState()],
		ProtocolMin: protocolMin, ProtocolMax: protocolMax, ProtocolCur: protocolCur,
		DelegateMin: delegateMin, DelegateMax: delegateMax, DelegateCur: delegateCur,
	}
}
