package server_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/certs"
)

// securePeers gives a member TLS to other members, with the certificate of its name.
func (a *authority) securePeers(c *server.Config) {
	a.member(c.Name, 0)
	c.TLS.PeerCertFile, c.TLS.PeerKeyFile, c.TLS.PeerCAFile = a.path(c.Name+".crt"), a.path(c.Name+".key"), a.path("ca.crt")
}

// dialMember dials as a member does, with the certificate of a name.
func (a *authority) dialMember(name string) certs.Dialing {
	d := a.dialing(name)
	d.ServerName = "member." + certs.TrustDomainDefault
	return d
}

// inTheNameOf returns a call's metadata that says that it comes from one member to another.
func inTheNameOf(t *testing.T, from, to *peerv1.PeerHeader, name string) metadata.MD {
	t.Helper()
	return metadata.Pairs(
		"tenure-peer-cluster", fmt.Sprintf("%x", to.GetClusterId()),
		"tenure-peer-to", strconv.FormatUint(to.GetFrom(), 16),
		"tenure-peer-from", strconv.FormatUint(from.GetFrom(), 16),
		"tenure-peer-incarnation", strconv.FormatUint(from.GetFromIncarnation(), 16),
		"tenure-peer-starts", strconv.FormatUint(from.GetStarts(), 10),
		"tenure-peer-name", name,
	)
}

func TestMembersProveWhoTheyAre(t *testing.T) {
	t.Parallel()
	a, foreign := newAuthority(t), newAuthority(t)
	c := startCluster(t, 3, a.securePeers)
	lead := c.leader(t)
	leader, follower := c.members[lead], c.members[(lead+1)%3]
	await(t, "a change that a member forwards is made", func() bool {
		_, err := follower.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")})
		return err == nil
	})
	a.client("client")
	a.member("stranger", 0)
	foreign.member("m1", 0)
	name := fmt.Sprintf("m%d", (lead+1)%3+1)
	header := func(m *member) *peerv1.PeerHeader {
		t.Helper()
		answer, err := peerv1.NewPeerServiceClient(dialSecure(t, m.at.Peer, a.dialMember("m1"))).Probe(t.Context(), &peerv1.ProbeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetHeader()
	}
	from, to := header(follower), header(leader)
	put := func(conn *grpc.ClientConn, says string) error {
		ctx := metadata.NewOutgoingContext(t.Context(), inTheNameOf(t, from, to, says))
		_, err := peerv1.NewRelayServiceClient(conn).Propose(ctx, &peerv1.ProposeRequest{
			Command: &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "forged", Value: []byte("v")}}},
		})
		return err
	}
	before, err := leader.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// Whoever is no member of the cluster is not listened to.
	for who, d := range map[string]certs.Dialing{
		"a client of the same CA":     a.dialMember("client"),
		"somebody with no proof":      a.dialMember(""),
		"a member of another CA":      {Files: certs.Files{CA: a.path("ca.crt"), Cert: foreign.path("m1.crt"), Key: foreign.path("m1.key")}, ServerName: "member.tenure.internal"},
		"a client of the API, by TLS": a.dialing("client"),
	} {
		if err = put(dialOnce(t, leader.at.Peer, d), name); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: got %v, want that the connection is refused", who, err)
		}
	}
	if err = put(dial(t, leader.at.Peer), name); err == nil {
		t.Error("somebody without TLS is heard")
	}
	// A member speaks for itself only.
	own := dialSecure(t, leader.at.Peer, a.dialMember("stranger"))
	for _, says := range []string{name, "stranger", ""} {
		err = put(own, says)
		if status.Code(err) != codes.FailedPrecondition || infoOf(err).GetReason() != "CERTIFICATE_WRONG" {
			t.Errorf("the certificate of another member that says %q: got %v, want CERTIFICATE_WRONG", says, err)
		}
	}
	_, err = peerv1.NewPeerServiceClient(own).Join(t.Context(), &peerv1.JoinRequest{Member: &storev1.Member{Name: "other"}})
	if infoOf(err).GetReason() != "CERTIFICATE_WRONG" {
		t.Errorf("joins in another's name: got %v, want CERTIFICATE_WRONG", err)
	}
	after, err := leader.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil || after.GetKeys() != before.GetKeys() {
		t.Errorf("there are %d keys, %v; want %d as before", after.GetKeys(), err, before.GetKeys())
	}
	// With the member's own certificate the call is a member's.
	itself := dialOnce(t, leader.at.Peer, a.dialMember(name))
	await(t, "the member itself is heard", func() bool {
		err := put(itself, name)
		return err == nil || infoOf(err).GetDomain() == "tenure.io" && infoOf(err).GetReason() != "CERTIFICATE_WRONG" // Leadership may have moved.
	})
}

func TestAMemberJoinsWithTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	c := startCluster(t, 1, a.securePeers)
	first := c.members[0]
	token, err := addMember(t, first, &tenurev1.AddMemberRequest{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	d := startMember(t, func(c *server.Config) {
		c.Name, c.Join, c.JoinToken, c.Tick = "d", []string{first.at.Peer}, token.GetJoinToken(), clusterTick
	}, a.securePeers)
	await(t, "the new member votes", func() bool {
		list, err := d.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
		if err != nil {
			return false
		}
		voters := 0
		for _, m := range list.GetMembers() {
			if !m.GetLearner() {
				voters++
			}
		}
		return voters == 2
	})
}

func TestAMemberWithoutPeers(t *testing.T) {
	m := startMember(t, func(c *server.Config) { c.PeerAddr = "off" })
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
		t.Error(err)
	}
	if m.at.Peer != "" {
		t.Errorf("it listens for peers at %s", m.at.Peer)
	}
}

func TestSettingsOfTLSBetweenMembers(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	a.client("c")
	secure := server.TLS{CertFile: "c", KeyFile: "k"}
	tests := map[string]struct {
		config server.Config
		want   string
	}{
		"with TLS for clients, peers off loopback need it": {server.Config{PeerAddr: "10.0.0.1:7402", TLS: secure}, "connections between members need TLS as well"},
		"insecure does not excuse it":                      {server.Config{PeerAddr: ":7402", TLS: secure, Insecure: true}, "connections between members need TLS as well"},
		"the files for peers belong together":              {server.Config{TLS: server.TLS{PeerCertFile: "c"}}, "give all or none"},
		"who has no peers joins nobody":                    {server.Config{PeerAddr: "off", Join: []string{"a:1"}}, "--peer off is for a member that is alone"},
		"a trust domain is a DNS name":                     {server.Config{TLS: server.TLS{TrustDomain: "A b"}}, "--trust-domain"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.config.DataDir = "d"
			if _, err := server.New(tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	for name, c := range map[string]server.Config{
		"of another member": {Name: "b", TLS: server.TLS{PeerCertFile: a.path("a.crt"), PeerKeyFile: a.path("a.key"), PeerCAFile: a.path("ca.crt")}},
		"of a client":       {Name: "c", TLS: server.TLS{PeerCertFile: a.path("c.crt"), PeerKeyFile: a.path("c.key"), PeerCAFile: a.path("ca.crt")}},
		"of another domain": {Name: "a", TLS: server.TLS{PeerCertFile: a.path("a.crt"), PeerKeyFile: a.path("a.key"), PeerCAFile: a.path("ca.crt"), TrustDomain: "other.internal"}},
	} {
		c.DataDir, c.ListenAddr, c.HTTPAddr, c.PeerAddr = "d", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		s, err := server.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it lacks the DNS name") && !strings.Contains(err.Error(), "not for this use") {
			t.Errorf("the certificate %s: got %v, want that the member does not start", name, err)
		}
	}
	for _, good := range []server.Config{
		{PeerAddr: ":7402", TLS: server.TLS{CertFile: "c", KeyFile: "k", PeerCertFile: "c", PeerKeyFile: "k", PeerCAFile: "ca"}},
		{PeerAddr: "off", ListenAddr: ":7400", TLS: secure},
		{PeerAddr: net.JoinHostPort("127.0.0.1", "0"), TLS: secure},
	} {
		good.DataDir = "d"
		if _, err := server.New(good); err != nil {
			t.Error(err)
		}
	}
}
