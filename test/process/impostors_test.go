package process_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// TestThePortForMembersHeedsNobodyElse calls the port for members of a cluster with TLS in the name of each other member: without TLS, without
// a certificate, and with those of a client, of another CA, of a name that is no member, of another member, and of a member that was removed.
// No call is served, and nothing is changed. A member that joins and one that was away get in.
func TestThePortForMembersHeedsNobodyElse(t *testing.T) {
	ctx := t.Context()
	p := newPortForMembers(t)
	p.c = rig.StartClusterEach(ctx, t, binary, 3, func(i int) []string { return p.flags(string(rune('a' + i))) })
	joined := p.c.Join(ctx, p.flags("d")...)
	p.put(ctx)
	joined.Kill()
	for range 20 {
		p.put(ctx)
	}
	joined.Restart(ctx)
	until(ctx, t, "the member that was away to catch up", func() bool { return get(ctx, joined, portKey) == nil })
	p.learn(ctx)
	p.remove(ctx, joined)

	p.servesAMember(ctx)
	for name, i := range p.impostors() {
		for _, m := range p.c.Running() {
			for _, from := range p.known {
				if from.name == m.Name() || name == "member a" && from.name == "a" {
					continue
				}
				for _, said := range []string{from.name, i.name} {
					if served := p.callsAs(ctx, m, i.how, from, said, badKey); len(served) > 0 {
						t.Errorf("%s calls itself %s with the id of %s: %s served %v", name, said, from.name, m.Name(), served)
					}
				}
			}
		}
		p.put(ctx)
	}
	p.unchanged(ctx)
	for _, m := range p.c.Running() {
		log := p.audited(m.Name())
		for _, reason := range []string{"HANDSHAKE_NOT_TLS", "HANDSHAKE_CERTIFICATE", "CERTIFICATE_WRONG", "JOIN_TOKEN_REFUSED"} {
			if !strings.Contains(log, `"via":"peer","decision":"denied","reason":"`+reason+`"`) {
				t.Errorf("the audit log of %s says nothing of %s:\n%s", m.Name(), reason, log)
			}
		}
	}
}

// portKey is a key that clients write, memberKey one that a member does, and badKey one that impostors try to.
const (
	portKey   = "port/well"
	memberKey = "port/member"
	badKey    = "port/bad"
)

// portForMembers is a cluster whose members meet each other with TLS, each with a certificate of its own.
type portForMembers struct {
	t     *testing.T
	c     *rig.Cluster
	dir   string
	ca    *rig.Authority
	known []peerHeader
}

// peerHeader is what calls of a member say of it.
type peerHeader struct {
	name                    string
	id, incarnation, starts uint64
	cluster                 []byte
}

func newPortForMembers(t *testing.T) *portForMembers {
	t.Helper()
	ca, err := rig.NewAuthority("members")
	if err != nil {
		t.Fatal(err)
	}
	p := &portForMembers{t: t, dir: t.TempDir(), ca: ca}
	p.write("ca.crt", ca.PEM())
	return p
}

func (p *portForMembers) write(name string, content []byte) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), content, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// hosts are the names in the certificate of a member.
func hostsOf(name string) []string {
	return []string{"member.tenure.internal", name + ".member.tenure.internal"}
}

// flags makes a certificate for a member, and returns the flags with which it uses that.
func (p *portForMembers) flags(name string) []string {
	p.t.Helper()
	certificate, key, err := p.ca.Issue(hostsOf(name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name+".crt", certificate)
	p.write(name+".key", key)
	at := func(file string) string { return filepath.Join(p.dir, file) }
	return []string{
		"--peer-cert-file", at(name + ".crt"), "--peer-key-file", at(name + ".key"), "--peer-ca-file", at("ca.crt"), "--audit-log", at(name + ".audit"),
	}
}

func (p *portForMembers) audited(name string) string {
	text, err := os.ReadFile(filepath.Join(p.dir, name+".audit"))
	if err != nil {
		p.t.Error(err)
	}
	return string(text)
}

// put writes a key, as a client.
func (p *portForMembers) put(ctx context.Context) {
	p.t.Helper()
	conn := p.c.Leader(ctx).Dial()
	defer func() { _ = conn.Close() }()
	until(ctx, p.t, "a put of a client", func() bool {
		_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{Key: portKey})
		return err == nil
	})
}

// with returns how an impostor with a certificate dials.
func (p *portForMembers) with(certificates ...tls.Certificate) credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: p.ca.Pool(), ServerName: "member.tenure.internal", Certificates: certificates,
	})
}

// pair returns a certificate for hosts.
func (p *portForMembers) pair(ca *rig.Authority, hosts []string, changes ...func(*x509.Certificate)) tls.Certificate {
	p.t.Helper()
	pair, err := ca.Pair(hosts, changes...)
	if err != nil {
		p.t.Fatal(err)
	}
	return pair
}

// impostor is how somebody dials who is not the member that it says it is, and the name in its certificate.
type impostor struct {
	how  credentials.TransportCredentials
	name string
}

// impostors are all kinds of them.
func (p *portForMembers) impostors() map[string]impostor {
	p.t.Helper()
	other, err := rig.NewAuthority("others")
	if err != nil {
		p.t.Fatal(err)
	}
	client := func(c *x509.Certificate) {
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: "tenure.internal", Path: "/client/web"}}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	return map[string]impostor{
		"who comes without TLS":  {insecure.NewCredentials(), ""},
		"who has no certificate": {p.with(), ""},
		"a client":               {p.with(p.pair(p.ca, nil, client)), "web"},
		"one of another CA":      {p.with(p.pair(other, hostsOf("a"))), "a"},
		"one of no member":       {p.with(p.pair(p.ca, hostsOf("nobody"))), "nobody"},
		"member a":               {p.with(p.pair(p.ca, hostsOf("a"))), "a"},
		"the removed member":     {p.with(p.pair(p.ca, hostsOf("d"))), "d"},
	}
}

// learn reads what the members say of themselves to another member.
func (p *portForMembers) learn(ctx context.Context) {
	p.t.Helper()
	for _, m := range p.c.Running() {
		conn, err := grpc.NewClient(m.Addresses.Peer, grpc.WithTransportCredentials(p.with(p.pair(p.ca, hostsOf("a")))))
		if err != nil {
			p.t.Fatal(err)
		}
		probe, err := peerv1.NewPeerServiceClient(conn).Probe(ctx, &peerv1.ProbeRequest{})
		if err = errors.Join(err, conn.Close()); err != nil {
			p.t.Fatal(err)
		}
		h := probe.GetHeader()
		p.known = append(p.known, peerHeader{m.Name(), h.GetFrom(), h.GetFromIncarnation(), h.GetStarts(), h.GetClusterId()})
	}
}

// remove ends a member's membership, and the member.
func (p *portForMembers) remove(ctx context.Context, m *rig.Member) {
	p.t.Helper()
	conn := p.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	i := slices.IndexFunc(p.known, func(h peerHeader) bool { return h.name == m.Name() })
	until(ctx, p.t, "the end of a membership", func() bool {
		_, err := tenurev1.NewClusterServiceClient(conn).RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: p.known[i].id})
		return err == nil || status.Code(err) == codes.NotFound
	})
	m.Kill()
}

// servesAMember demands that the leader serves the calls of another member, as else it would be no wonder that impostors are refused.
func (p *portForMembers) servesAMember(ctx context.Context) {
	p.t.Helper()
	until(ctx, p.t, "the leader to serve another member", func() bool {
		leader := p.c.Leader(ctx)
		i := slices.IndexFunc(p.known, func(h peerHeader) bool { return h.name != leader.Name() })
		name := p.known[i].name
		served := p.callsAs(ctx, leader, p.with(p.pair(p.ca, hostsOf(name))), p.known[i], name, memberKey)
		return slices.Contains(served, "propose") && slices.Contains(served, "a far term")
	})
}

// callsAs makes calls to a member with the id of another one and a name, which write a key if they can, and returns those that are served.
func (p *portForMembers) callsAs(
	ctx context.Context, m *rig.Member, how credentials.TransportCredentials, from peerHeader, name, key string,
) (served []string) {
	p.t.Helper()
	conn, err := grpc.NewClient(m.Addresses.Peer, grpc.WithTransportCredentials(how))
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	to := p.known[slices.IndexFunc(p.known, func(h peerHeader) bool { return h.name == m.Name() })]
	as := func(starts uint64) context.Context {
		return metadata.NewOutgoingContext(ctx, metadata.Pairs(
			"tenure-peer-from", strconv.FormatUint(from.id, 16), "tenure-peer-incarnation", strconv.FormatUint(from.incarnation, 16),
			"tenure-peer-starts", strconv.FormatUint(starts, 10), "tenure-peer-to", strconv.FormatUint(to.id, 16),
			"tenure-peer-cluster", fmt.Sprintf("%x", from.cluster), "tenure-peer-name", name))
	}
	for call, try := range map[string]func() error{
		"propose": func() error {
			put := &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: key}}}
			_, err := peerv1.NewRelayServiceClient(conn).Propose(as(from.starts), &peerv1.ProposeRequest{Command: put})
			return err
		},
		"more starts": func() error {
			_, err := peerv1.NewRelayServiceClient(conn).TimesLeft(as(1<<60), &peerv1.TimesLeftRequest{})
			return err
		},
		"join": func() error {
			_, err := peerv1.NewPeerServiceClient(conn).Join(as(from.starts), &peerv1.JoinRequest{Member: &storev1.Member{
				Id: 0xbad, Incarnation: 1, Name: name, PeerAddress: "127.0.0.1:1", VersionMax: 2,
			}})
			return err
		},
		"a far term": func() error { return sendFarTerm(as(from.starts), conn, to.id, from.id) },
		"a client's call": func() error {
			_, err := tenurev1.NewKVServiceClient(conn).Put(ctx, &tenurev1.PutRequest{Key: key})
			return err
		},
	} {
		if err := try(); err == nil {
			served = append(served, call)
		}
	}
	return served
}

// sendFarTerm sends a vote in a term of a far future.
func sendFarTerm(ctx context.Context, conn *grpc.ClientConn, to, from uint64) error {
	const vote, term = 5, 1 << 40
	var raw []byte
	for i, value := range []uint64{vote, to, from, term} {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, protowire.Number(i+1), protowire.VarintType), value)
	}
	stream, err := peerv1.NewPeerServiceClient(conn).Exchange(ctx)
	if err != nil {
		return err
	}
	_ = stream.Send(&peerv1.ExchangeRequest{}) // What fails is seen when it is read.
	_ = stream.Send(&peerv1.ExchangeRequest{Number: 1, Messages: [][]byte{raw}})
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) || err == nil && answer.GetNumber() == 1 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// unchanged demands that nothing of what impostors wanted has come about.
func (p *portForMembers) unchanged(ctx context.Context) {
	p.t.Helper()
	conn := p.c.Leader(ctx).Dial()
	defer func() { _ = conn.Close() }()
	if _, err := tenurev1.NewKVServiceClient(conn).Get(ctx, &tenurev1.GetRequest{Key: badKey}); status.Code(err) != codes.NotFound {
		p.t.Errorf("the key of impostors: got %v, want NOT_FOUND", err)
	}
	all, err := tenurev1.NewClusterServiceClient(conn).ListMembers(ctx, &tenurev1.ListMembersRequest{})
	if err != nil || len(all.GetMembers()) != 3 {
		p.t.Errorf("members: got %v, %v; want three", all.GetMembers(), err)
	}
	for _, m := range p.c.Running() {
		s, err := m.Status(ctx)
		if err != nil || s.GetHeader().GetTerm() > 1<<32 {
			p.t.Errorf("%s is in term %d, %v", m.Name(), s.GetHeader().GetTerm(), err)
		}
		m.Kill()
		m.Restart(ctx) // A start that was claimed for it would keep it away.
	}
	p.put(ctx)
}
