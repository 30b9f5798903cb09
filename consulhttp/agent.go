package consulhttp

import (
	"context"
	"strconv"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// consulVersion is the version of Consul's API that is served. Clients choose by it what they ask for.
const consulVersion = "1.22.0"

// revision tells Tenure from Consul, for those who look.
func (c *core) revision() string { return "tenure-" + c.options.Version }

// selfJSON is what an agent says of itself.
type selfJSON struct {
	Config      configJSON
	DebugConfig struct{}
	Member      memberJSON
	Meta        map[string]string
	Stats       map[string]map[string]string
}

// configJSON is the part of an agent's configuration that clients look at.
type configJSON struct {
	Datacenter    string
	NodeName      string
	NodeID        string
	Server        bool
	Revision      string
	Version       string
	SessionTTLMin int64 // in nanoseconds: Patroni divides it
}

// memberEndpoints serve what is known of the members, of the agents in the pool, and of whatever answers.
type memberEndpoints struct {
	*core
	pool tenurev1.PoolServiceClient
}

// routes returns the paths of the members and of the pool.
func (e *memberEndpoints) routes() []route {
	return []route{
		{path: "status/leader", methods: get(e.statusLeader)},
		{path: "status/peers", methods: get(e.statusPeers)},
		{path: "agent/self", methods: get(e.agentSelf)},
		{path: "agent/version", methods: get(e.agentVersion)},
		{path: "agent/members", methods: get(e.agentMembers)},
		{path: "agent/force-leave/", methods: put(e.forceLeave)},
		{path: "agent/connect/ca/roots", methods: get(e.caRoots)},
		{path: "operator/raft/configuration", methods: get(e.raftConfiguration)},
	}
}

// agentSelf serves GET /v1/agent/self.
func (e *memberEndpoints) agentSelf(ctx context.Context, _ *request) (*reply.Answer, error) {
	list, err := e.membersSeen(ctx)
	if err != nil {
		return nil, err
	}
	if e.options.Agent != nil {
		return e.ownSelf(ctx, list)
	}
	return &reply.Answer{JSON: selfJSON{
		Config: configJSON{
			Datacenter: e.options.Datacenter, NodeName: list.self.GetName(), NodeID: e.nodeID(list, list.self), Server: true,
			Revision: e.revision(), Version: consulVersion, SessionTTLMin: e.options.SessionTTLMin.Nanoseconds(),
		},
		Member: e.memberOf(list, list.self),
		Meta:   map[string]string{},
		Stats: map[string]map[string]string{
			"build": {"version": consulVersion, "revision": e.revision()},
			"consul": {
				"server": "true", "leader": strconv.FormatBool(list.self.GetLeader()), "leader_addr": list.leader.GetPeerAddress(),
			},
		},
	}}, nil
}

// ownSelf answers with what the agent of this machine says of itself.
func (e *memberEndpoints) ownSelf(ctx context.Context, list *memberList) (*reply.Answer, error) {
	own, err := e.options.Agent.GetAgent(ctx, &tenurev1.GetAgentRequest{})
	if err != nil {
		return nil, err
	}
	all, err := e.poolMembers(ctx, list)
	if err != nil {
		return nil, err
	}
	member := e.poolMember(&tenurev1.PoolNode{
		Name: own.GetNode(), NodeId: own.GetNodeId(), GossipAddress: own.GetGossipAddress(), Version: own.GetVersion(),
		State: tenurev1.PoolNodeState_POOL_NODE_STATE_ALIVE,
	})
	for _, m := range all {
		if m.Tags["id"] == own.GetNodeId() && strings.EqualFold(m.Name, own.GetNode()) {
			member = m
		}
	}
	return &reply.Answer{JSON: selfJSON{
		Config: configJSON{
			Datacenter: e.options.Datacenter, NodeName: own.GetNode(), NodeID: own.GetNodeId(), Server: false,
			Revision: e.revision(), Version: consulVersion, SessionTTLMin: e.options.SessionTTLMin.Nanoseconds(),
		},
		Member: member,
		Meta:   map[string]string{},
		Stats: map[string]map[string]string{
			"build":  {"version": consulVersion, "revision": e.revision()},
			"consul": {"server": "false", "known_servers": strconv.Itoa(len(list.all))},
		},
	}}, nil
}

// agentVersion serves GET /v1/agent/version.
func (e *memberEndpoints) agentVersion(context.Context, *request) (*reply.Answer, error) {
	return &reply.Answer{JSON: struct{ SHA, BuildDate, HumanVersion, FIPS string }{SHA: e.revision(), HumanVersion: consulVersion}}, nil
}

// caRoots serves GET /v1/agent/connect/ca/roots: there are none, and clients that only look go on.
func (e *memberEndpoints) caRoots(ctx context.Context, _ *request) (*reply.Answer, error) {
	return (&reply.Answer{JSON: struct {
		ActiveRootID string
		TrustDomain  string
		Roots        []struct{}
	}{Roots: []struct{}{}}}).Of(reply.State{Consistency: ask.Leader, KnownLeader: true, Policy: e.policy(ctx)}), nil
}

// raftServerJSON is a member as Consul shows those of its raft.
type raftServerJSON struct {
	ID              string
	Node            string
	Address         string
	Leader          bool
	ProtocolVersion string
	Voter           bool
}

// raftConfiguration serves GET /v1/operator/raft/configuration.
func (e *memberEndpoints) raftConfiguration(ctx context.Context, _ *request) (*reply.Answer, error) {
	status, err := e.cluster.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil {
		return nil, err
	}
	list, err := e.membersSeen(ctx)
	if err != nil {
		return nil, err
	}
	servers := []raftServerJSON{}
	for _, m := range list.all {
		servers = append(servers, raftServerJSON{
			ID: e.nodeID(list, m), Node: m.GetName(), Address: m.GetPeerAddress(), Leader: m.GetLeader(),
			ProtocolVersion: "3", Voter: !m.GetLearner(),
		})
	}
	return &reply.Answer{JSON: struct {
		Servers []raftServerJSON
		Index   uint64
	}{servers, status.GetAppliedIndex()}}, nil
}
