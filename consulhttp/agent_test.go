package consulhttp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/consulhttp"
	"github.com/tenure-io/tenure/server"
)

// TestTheMemberIsShownAsAnAgent is golden, but for its ports.
func TestTheMemberIsShownAsAnAgent(t *testing.T) {
	const id = "11111111-2222-3333-4444-555555555555"
	r := newRig(t, func(o *consulhttp.Options) { o.NodeID, o.Datacenter = id, "east" })
	var leader string
	if err := json.Unmarshal([]byte(r.send("GET", "/v1/status/leader", "").body), &leader); err != nil || !strings.HasPrefix(leader, "127.0.0.1:") {
		t.Fatalf("the leader is %q, %v", leader, err)
	}
	port := strings.TrimPrefix(leader, "127.0.0.1:")
	r.want("GET", "/v1/status/peers", "", 200, list(leader))
	r.want("GET", "/v1/catalog/datacenters", "", 200, list("east"))
	member := fmt.Sprintf(`{"Name":"node-1","Addr":"127.0.0.1","Port":%s,"Tags":{"build":"1.22.0:tenure-test","dc":"east","id":"%s","port":"%s",`+
		`"role":"consul","vsn":"2"},"Status":1,"ProtocolMin":1,"ProtocolMax":5,"ProtocolCur":2,"DelegateMin":2,"DelegateMax":5,"DelegateCur":4}`, port, id, port)
	r.want("GET", "/v1/agent/members", "", 200, "["+member+"]")
	r.want("GET", "/v1/agent/self", "", 200, `{"Config":{"Datacenter":"east","NodeName":"node-1","NodeID":"`+id+`","Server":true,`+
		`"Revision":"tenure-test","Version":"1.22.0","SessionTTLMin":10000000000},"DebugConfig":{},"Member":`+member+`,"Meta":{},`+
		`"Stats":{"build":{"revision":"tenure-test","version":"1.22.0"},"consul":{"leader":"true","leader_addr":"`+leader+`","server":"true"}}}`)
	r.want("GET", "/v1/agent/version", "", 200, `{"SHA":"tenure-test","BuildDate":"","HumanVersion":"1.22.0","FIPS":""}`)
	r.want("GET", "/v1/agent/connect/ca/roots", "", 200, `{"ActiveRootID":"","TrustDomain":"","Roots":[]}`)
	raft := r.send("GET", "/v1/operator/raft/configuration", "")
	if want := `{"Servers":[{"ID":"` + id + `","Node":"node-1","Address":"` + leader + `","Leader":true,"ProtocolVersion":"3","Voter":true}],"Index":`; !strings.HasPrefix(raft.body, want) {
		t.Errorf("got %s, want %s", raft.body, want)
	}
	r.want("GET", "/v1/kv/a?dc=dc1", "", 500, "No path to datacenter")
}

// TestAMemberWithoutAPortForMembersHasAnAddress shows the address for clients of a member that runs with --peer off: programs that take the
// leader's address apart fail on an empty one.
func TestAMemberWithoutAPortForMembersHasAnAddress(t *testing.T) {
	r := newMemberRig(t, func(c *server.Config) { c.PeerAddr = "off" })
	address := r.grpc.Target()
	r.want("GET", "/v1/status/leader", "", 200, fmt.Sprintf("%q", address))
	r.want("GET", "/v1/status/peers", "", 200, list(address))
}
