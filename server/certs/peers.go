package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
)

// Errors of members.
var (
	// ErrNotMember says that a certificate is not that of a member of this cluster.
	ErrNotMember = errors.New("the certificate is not that of a member of this cluster")
	// ErrOtherMember says that a certificate is that of another member.
	ErrOtherMember = errors.New("the certificate is that of another member")
)

// Peers is how the members of a cluster, whose name is its trust domain, are sure of each other. Any goroutine may use it.
type Peers struct {
	source      *Source
	trustDomain string
}

// NewPeers returns how a member with the certificates of a source meets others. The source must have a pair and a CA.
func NewPeers(s *Source, trustDomain string) *Peers {
	return &Peers{source: s, trustDomain: trustDomain}
}

// CheckMember refuses a certificate with which a member of a name is not believed. One for all members' names, which begins
// with an asterisk, stands for any.
func CheckMember(leaf *x509.Certificate, trustDomain, name string) error {
	has := func(name string) bool {
		return slices.ContainsFunc(leaf.DNSNames, func(n string) bool { return strings.EqualFold(n, name) })
	}
	members := MembersName(trustDomain)
	if !has(members) {
		return fmt.Errorf("%w: it lacks the DNS name %s", ErrNotMember, members)
	}
	if name == "" || has("*."+members) || labelForm.MatchString(name) && has(name+"."+members) {
		return nil
	}
	if !labelForm.MatchString(name) {
		return fmt.Errorf("%w: a member of the name %.64q needs the DNS name *.%s", ErrOtherMember, name, members)
	}
	return fmt.Errorf("%w: it lacks the DNS name %s.%s", ErrOtherMember, name, members)
}

// Handshaker makes the handshakes of the listener of members: both sides show a certificate, and who is no member is refused.
func (p *Peers) Handshaker(o ListenOptions) *Handshaker {
	o.Auth, o.Verify = AuthRequire, func(c tls.ConnectionState) error { return CheckMember(c.PeerCertificates[0], p.trustDomain, "") }
	return p.source.Handshaker(o)
}

// Credentials returns what a member dials another one of a name with; without a name any member. Each handshake uses the
// certificates of its moment.
func (p *Peers) Credentials(name string) credentials.TransportCredentials {
	return peerCredentials{p: p, name: name}
}

// Proves returns an error unless whoever is at the other end of a connection is the member of a name.
func (p *Peers) Proves(info credentials.AuthInfo, name string) error {
	shown, ok := info.(Info)
	if !ok || shown.Certificate() == nil || name == "" {
		return ErrNotMember
	}
	return CheckMember(shown.Certificate(), p.trustDomain, name)
}

// peerCredentials dial a member.
type peerCredentials struct {
	p    *Peers
	name string
}

// ClientHandshake makes a handshake. The other side has the name of members, whatever host it has: gRPC would ask for the host.
func (c peerCredentials) ClientHandshake(ctx context.Context, _ string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m := c.p.source.current.Load()
	config := base(protoHTTP2)
	config.RootCAs = m.pool
	config.Certificates = []tls.Certificate{*m.pair}
	config.VerifyConnection = func(s tls.ConnectionState) error {
		return CheckMember(s.PeerCertificates[0], c.p.trustDomain, c.name)
	}
	below := c.p.source.trust(raw, x509.ExtKeyUsageServerAuth)
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, MembersName(c.p.trustDomain), below)
	secured, ok := info.(credentials.TLSInfo)
	if err != nil || !ok {
		return conn, info, err
	}
	below.made(secured.State)
	return conn, infoOf(secured.State, below), nil
}

// ServerHandshake fails: these credentials dial.
func (peerCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.ErrUnsupported
}

// Info describes the credentials.
func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone returns the credentials, which nobody changes.
func (c peerCredentials) Clone() credentials.TransportCredentials { return c }

// OverrideServerName fails: the name of members is part of these credentials.
func (peerCredentials) OverrideServerName(string) error { return errors.ErrUnsupported }
