package consulhttp

import (
	"context"
	"strconv"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// consulVersion is the version of Consul's API that is served. Clients choose by it what they ask for.
const consulVersion = "1.22.0"

// revision tells Tenure from Consul, for those who look.
func (h *handler) revision() string { return "tenure-" + h.options.Version }

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
	SessionTTLMin string
}

// agentSelf serves GET /v1/agent/self.
func (h *handler) agentSelf(ctx context.Context, _ *request) (*answer, error) {
	list, err := h.members(ctx)
	if err != nil {
		return nil, err
	}
	if h.options.Agent != nil {
		return h.agent.self(ctx, list)
	}
	return &answer{json: selfJSON{
		Config: configJSON{
			Datacenter: h.options.Datacenter, NodeName: list.self.GetName(), NodeID: h.nodeID(list, list.self), Server: true,
			Revision: h.revision(), Version: consulVersion, SessionTTLMin: h.options.SessionTTLMin.String(),
		},
		Member: h.memberOf(list, list.self),
		Meta:   map[string]string{},
		Stats: map[string]map[string]string{
			"build": {"version": consulVersion, "revision": h.revision()},
			"consul": {
				"server": "true", "leader": strconv.FormatBool(list.self.GetLeader()), "leader_addr": list.leader.GetPeerAddress(),
			},
		},
	}}, nil
}

// agentVersion serves GET /v1/agent/version.
func (h *handler) agentVersion(context.Context, *request) (*answer, error) {
	return &answer{json: struct{ SHA, BuildDate, HumanVersion, FIPS string }{SHA: h.revision(), HumanVersion: consulVersion}}, nil
}

// caRoots serves GET /v1/agent/connect/ca/roots: there are none, and clients that only look go on.
func (h *handler) caRoots(context.Context, *request) (*answer, error) {
	return (&answer{json: struct {
		ActiveRootID string
		TrustDomain  string
		Roots        []struct{}
	}{Roots: []struct{}{}}}).of(state{consistency: consistencyLeader, knownLeader: true}), nil
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
func (h *handler) raftConfiguration(ctx context.Context, _ *request) (*answer, error) {
	status, err := h.cluster.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil {
		return nil, err
	}
	list, err := h.members(ctx)
	if err != nil {
		return nil, err
	}
	servers := []raftServerJSON{}
	for _, m := range list.all {
		servers = append(servers, raftServerJSON{
			ID: h.nodeID(list, m), Node: m.GetName(), Address: m.GetPeerAddress(), Leader: m.GetLeader(),
			ProtocolVersion: "3", Voter: !m.GetLearner(),
		})
	}
	return &answer{json: struct {
		Servers []raftServerJSON
		Index   uint64
	}{servers, status.GetAppliedIndex()}}, nil
}
