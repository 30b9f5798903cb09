package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/certs"
	"github.com/tenure-io/tenure/server/gate"
)

// secured is what makes the member's handshakes; nothing in it without TLS.
type secured struct {
	sources          []*certs.Source
	clients          *certs.Source // nil without TLS for clients
	grpc, http, peer *certs.Handshaker
	peers            *raftnode.PeerSecurity // nil without TLS between members
	letIn            letIn
}

// letIn decides whether those are let in who come without TLS.
type letIn struct {
	asked bool // --cleartext accept
	node  atomic.Pointer[raftnode.Node]
}

// clients reports whether clients are. Not where rules are enforced: their tokens could be read on their way.
func (l *letIn) clients() bool {
	node := l.node.Load()
	return l.asked && (node == nil || node.Store().Applied().AuthMode != storev1.AuthMode_AUTH_MODE_ENFORCE)
}

// members reports whether other members are. Not once there are tokens: any process could act for every client.
func (l *letIn) members() bool {
	node := l.node.Load()
	return l.asked && (node == nil || node.Store().Applied().AuthChanges == 0)
}

// openCertificates reads the certificates, and looks at their files until the member stops.
func (r *running) openCertificates(ctx context.Context) error {
	r.secured.letIn.asked = r.config.TLS.acceptsCleartext()
	var clients, peers *certs.Source
	var err error
	if t := r.config.TLS; t.on() {
		if clients, err = r.secureClients(t); err != nil {
			return err
		}
	}
	if t := r.config.TLS; t.peers() {
		if peers, err = r.securePeers(t); err != nil {
			return err
		}
	}
	if len(r.secured.sources) > 0 {
		r.background(context.WithoutCancel(ctx), r.lookAtCertificates)
	}
	return certs.Register(r.config.Registry, map[string]*certs.Source{"clients": clients, "peers": peers},
		map[string]*certs.Handshaker{"grpc": r.secured.grpc, "http": r.secured.http, "peer": r.secured.peer})
}

// securePeers reads what other members are met with.
func (r *running) securePeers(t TLS) (*certs.Source, error) {
	s, err := certs.Open(certs.Options{
		Files:   certs.Files{Cert: t.PeerCertFile, Key: t.PeerKeyFile, CA: t.PeerCAFile},
		Purpose: "peers",
		Uses:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		Check:   func(leaf *x509.Certificate) error { return certs.CheckMember(leaf, t.trustDomain(), r.config.Name) },
		Logger:  r.log,
	})
	if err != nil {
		return nil, err
	}
	r.secured.sources = append(r.secured.sources, s)
	peers := certs.NewPeers(s, t.trustDomain())
	if t.acceptsCleartext() {
		peers.Accept(r.secured.letIn.members)
	}
	r.secured.peer = peers.Handshaker(certs.ListenOptions{
		Name: "peer", Callers: r.rooms.Callers, Failed: auditPart{r}.handshakeFailed("peer"), Logger: r.log,
	})
	r.secured.peers = &raftnode.PeerSecurity{
		Server: gate.Leaving(r.secured.peer.Credentials()), Client: peers.Credentials, Proves: peers.Proves, Refused: auditPart{r}.peerRefused,
	}
	return s, nil
}

// secureClients reads what clients are met with.
func (r *running) secureClients(t TLS) (*certs.Source, error) {
	s, err := t.clients().Open(r.log)
	if err != nil {
		return nil, err
	}
	r.secured.sources = append(r.secured.sources, s)
	r.secured.clients = s
	r.secured.grpc = r.handshaker(s, certs.ListenOptions{Name: "grpc", Auth: t.clients().Asked()})
	r.secured.http = r.handshaker(s, certs.ListenOptions{Name: "http", Auth: t.clients().Asked()})
	return s, nil
}

// serves notes where clients are told to connect.
func (s *secured) serves(at raftnode.Addresses) {
	if s.clients != nil {
		s.clients.Serves(at.Client, at.HTTP)
	}
}

// covers reports whether the member's certificate for clients is for a host.
func (s *secured) covers(host string) bool { return s.clients != nil && s.clients.Covers(host) }

// handshaker makes the handshakes of a listener.
func (r *running) handshaker(s *certs.Source, o certs.ListenOptions) *certs.Handshaker {
	if r.config.TLS.acceptsCleartext() {
		o.Cleartext = r.secured.letIn.clients
	}
	o.Callers, o.Failed, o.Logger = r.rooms.Callers, auditPart{r}.handshakeFailed(o.Name), r.log
	return s.Handshaker(o)
}

// lookAtCertificates reads changed files, until ctx ends.
func (r *running) lookAtCertificates(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	reloads := make([]chan struct{}, len(r.secured.sources))
	for i, s := range r.secured.sources {
		reloads[i] = make(chan struct{}, 1)
		all.Go(func() { s.Run(ctx, reloads[i]) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.config.TLS.Reload:
		}
		for _, reload := range reloads {
			select {
			case reload <- struct{}{}:
			default: // It looks soon anyway.
			}
		}
	}
}

// certificateAlarms returns what an operator should know of the certificates.
func (r auditPart) certificateAlarms() []raftnode.Alarm {
	var alarms []raftnode.Alarm
	for _, s := range r.secured.sources {
		for _, p := range s.Problems() {
			alarms = append(alarms, raftnode.Alarm{Name: p.Name, Member: r.node.Status().MemberID, Message: p.Message})
		}
	}
	if problem := r.secured.cleartext(); problem != "" {
		alarms = append(alarms, raftnode.Alarm{Name: problemCleartext, Member: r.node.Status().MemberID, Message: problem})
	}
	return alarms
}

const (
	// problemCleartext is the problem of a member that lets those in who come without TLS, and the heading of its runbook.
	problemCleartext = "cleartext-accepted"
	// strangersShown is how many hosts the problem names of a listener.
	strangersShown = 8
)

// cleartext says that those are let in who come without TLS, and who does; empty: nobody is.
func (s *secured) cleartext() string {
	if !s.letIn.clients() && !s.letIn.members() {
		return ""
	}
	var users []string
	for _, l := range []struct {
		name string
		h    *certs.Handshaker
	}{{"gRPC", s.grpc}, {"HTTP", s.http}, {"members", s.peer}} {
		if l.h == nil {
			continue
		}
		hosts := l.h.Strangers()
		if more := len(hosts) - strangersShown; more > 0 {
			hosts = append(hosts[:strangersShown:strangersShown], fmt.Sprintf("%d more", more))
		}
		if len(hosts) > 0 {
			users = append(users, l.name+" by "+strings.Join(hosts, ", "))
		}
	}
	if len(users) == 0 {
		return "This member accepts connections without TLS (--cleartext accept), and none was used within the last hour: restart it without the flag."
	}
	return "This member accepts connections without TLS (--cleartext accept). Used within the last hour: " + strings.Join(users, "; ") + "."
}

// clientSecurity says how a member with these addresses listens for clients: as the least secure of them does.
func clientSecurity(c Config, own Addresses, advertised raftnode.Addresses) storev1.ListenerSecurity {
	_, open := c.withoutTLS(own, advertised)
	switch {
	case open:
		return storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT
	case c.TLS.on() && c.TLS.acceptsCleartext():
		return storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT
	case c.TLS.on():
		return storev1.ListenerSecurity_LISTENER_SECURITY_TLS
	default:
		return storev1.ListenerSecurity_LISTENER_SECURITY_LOOPBACK
	}
}

// openListener is an address for clients that other machines can reach, and that has no TLS.
type openListener struct {
	flag, address string
	ofAgent       bool
}

// withoutTLS returns the first such address of a member, and whether there is one.
func (c Config) withoutTLS(own Addresses, advertised raftnode.Addresses) (openListener, bool) {
	listeners := []openListener{{"--with-agent", c.AgentAddr, true}, {"--with-agent-http", c.AgentHTTPAddr, true}}
	if !c.TLS.on() {
		listeners = append(
			listeners, openListener{flag: "--listen", address: own.GRPC}, openListener{flag: "--http", address: own.HTTP},
			openListener{flag: "--consul-http", address: c.ConsulAddr},
			openListener{flag: "--advertise", address: advertised.Client}, openListener{flag: "--advertise-http", address: advertised.HTTP},
		)
	}
	for _, l := range listeners {
		if host, _, err := net.SplitHostPort(l.address); err == nil && !loopback(host) {
			return l, true
		}
	}
	return openListener{}, false
}

// peerSecurity says how a member listens for others.
func peerSecurity(c Config) storev1.ListenerSecurity {
	switch {
	case c.PeerAddr == peerOff:
		return storev1.ListenerSecurity_LISTENER_SECURITY_OFF
	case c.TLS.peers() && c.TLS.acceptsCleartext():
		return storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT
	case c.TLS.peers():
		return storev1.ListenerSecurity_LISTENER_SECURITY_TLS
	default:
		return storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT
	}
}

// unsafeListener says which listener of this member is not safe enough for tokens; empty: none. What others say of themselves is decided where
// the change is applied.
func unsafeListener(c Config, own Addresses, advertised raftnode.Addresses) string {
	switch peerSecurity(c) {
	case storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT:
		return "the address for other members has no TLS"
	case storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT:
		return "this member lets others in without TLS (--cleartext accept)"
	default:
	}
	switch clientSecurity(c, own, advertised) {
	case storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT:
		return "other machines can reach an address for clients, or one of --with-agent and --with-agent-http, that has no TLS"
	case storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT:
		return "this member lets clients in without TLS (--cleartext accept)"
	default:
		return ""
	}
}
