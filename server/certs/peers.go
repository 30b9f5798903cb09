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
	"sync"
	"time"

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
	// cleartext reports whether members are met without TLS, too; nil: none.
	cleartext func() bool
	ways      ways
}

// NewPeers returns how a member with the certificates of a source meets others. The source must have a pair and a CA.
func NewPeers(s *Source, trustDomain string) *Peers {
	return &Peers{source: s, trustDomain: trustDomain}
}

// Accept has members met without TLS, too, while cleartext says so: for a cluster that begins to use it, one member after the other. It
// must be called before all else.
func (p *Peers) Accept(cleartext func() bool) { p.cleartext = cleartext }

// CheckMemberName refuses a name that no certificate proves, but one for all members.
func CheckMemberName(name string) error {
	if !labelForm.MatchString(name) {
		return fmt.Errorf("%.64q: %w", name, ErrMemberName)
	}
	return nil
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
	o.Cleartext = p.cleartext
	o.Auth, o.Verify = AuthRequire, func(c tls.ConnectionState) error { return CheckMember(c.PeerCertificates[0], p.trustDomain, "") }
	return p.source.Handshaker(o)
}

// Credentials returns what a member dials another one of a name with; without a name any member. Each handshake uses the
// certificates of its moment. One that is known to speak TLS, or did once, is never met without; of others it is tried.
func (p *Peers) Credentials(name string, speaksTLS bool) credentials.TransportCredentials {
	return peerCredentials{p: p, name: name, speaksTLS: speaksTLS}
}

// Proves returns an error unless whoever is at the other end of a connection is the member of a name. Where members are met without TLS,
// those are believed.
func (p *Peers) Proves(info credentials.AuthInfo, name string) error {
	if _, inClear := info.(Cleartext); inClear && p.cleartext != nil && p.cleartext() {
		return nil
	}
	shown, ok := info.(Info)
	if !ok || shown.Certificate() == nil || name == "" {
		return ErrNotMember
	}
	return CheckMember(shown.Certificate(), p.trustDomain, name)
}

// peerCredentials dial a member.
type peerCredentials struct {
	p         *Peers
	name      string
	speaksTLS bool
}

// ClientHandshake makes a handshake. The other side has the name of members, whatever host it has: gRPC would ask for the host.
func (c peerCredentials) ClientHandshake(ctx context.Context, address string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	whose := c.name
	if whose == "" {
		whose = address
	}
	tries := c.p.cleartext != nil && c.p.cleartext() && !c.speaksTLS
	if tries && c.p.ways.clear(whose, time.Now()) {
		return raw, inClear(), nil
	}
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
		if why := causeOf(err); tries && (why == causeNotTLS || why == causeCut) {
			c.p.ways.refused(whose, time.Now())
		}
		return conn, info, err
	}
	c.p.ways.spoken(whose)
	below.made(secured.State)
	return conn, infoOf(secured.State, below), nil
}

// clearFor is how long a member that did not understand TLS is met without, before it is tried again.
const clearFor = time.Second

// ways are how other members are met, of whom it is not known, by name or address. Those who speak TLS are remembered as long as this
// member runs.
type ways struct {
	mu  sync.Mutex // guards all
	all map[string]*way
}

// way is how one is met.
type way struct {
	tls  bool      // It spoke TLS once.
	last time.Time // when it did not understand TLS
}

// of returns the way to a member. The mutex is held.
func (w *ways) of(whose string) *way {
	if w.all == nil {
		w.all = map[string]*way{}
	}
	if w.all[whose] == nil {
		w.all[whose] = &way{}
	}
	return w.all[whose]
}

// clear reports whether a member is met without TLS now.
func (w *ways) clear(whose string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of(whose)
	return !one.tls && !one.last.IsZero() && now.Sub(one.last) < clearFor
}

// refused notes that a member did not understand TLS.
func (w *ways) refused(whose string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(whose).last = now
}

// spoken notes that a member spoke TLS.
func (w *ways) spoken(whose string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(whose).tls = true
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
