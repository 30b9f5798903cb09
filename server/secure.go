package server

import (
	"context"
	"crypto/x509"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/certs"
)

// secured is what makes the member's handshakes; nothing in it without TLS.
type secured struct {
	sources          []*certs.Source
	clients          *certs.Source // nil without TLS for clients
	grpc, http, peer *certs.Handshaker
	peers            *raftnode.PeerSecurity // nil without TLS between members
}

// openCertificates reads the certificates, and looks at their files until the member stops.
func (r *running) openCertificates(ctx context.Context) error {
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
	s, err := r.openSource(certs.Options{
		Files:   certs.Files{Cert: t.PeerCertFile, Key: t.PeerKeyFile, CA: t.PeerCAFile},
		Purpose: "peers",
		Uses:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		Check:   func(leaf *x509.Certificate) error { return certs.CheckMember(leaf, t.trustDomain(), r.config.Name) },
	})
	if err != nil {
		return nil, err
	}
	peers := certs.NewPeers(s, t.trustDomain())
	r.secured.peer = peers.Handshaker(certs.ListenOptions{
		Name: "peer", Callers: r.rooms.Callers, Failed: auditPart{r}.handshakeFailed("peer"), Logger: r.log,
	})
	r.secured.peers = &raftnode.PeerSecurity{
		Server: r.secured.peer.Credentials(), Client: peers.Credentials, Proves: peers.Proves,
	}
	return s, nil
}

// secureClients reads what clients are met with.
func (r *running) secureClients(t TLS) (*certs.Source, error) {
	s, err := r.openSource(certs.Options{
		Files:   certs.Files{Cert: t.CertFile, Key: t.KeyFile, CA: t.ClientCAFile},
		Purpose: "clients",
		Uses:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, err
	}
	r.secured.clients = s
	r.secured.grpc = r.handshaker(s, certs.ListenOptions{Name: "grpc", Auth: t.auth()})
	r.secured.http = r.handshaker(s, certs.ListenOptions{Name: "http", Auth: t.auth()})
	return s, nil
}

// openSource reads certificates whose files the member looks at.
func (r *running) openSource(o certs.Options) (*certs.Source, error) {
	o.Logger = r.log
	s, err := certs.Open(o)
	if err == nil {
		r.secured.sources = append(r.secured.sources, s)
	}
	return s, err
}

// serves notes where clients are told to connect.
func (s secured) serves(at raftnode.Addresses) {
	if s.clients != nil {
		s.clients.Serves(at.Client, at.HTTP)
	}
}

// covers reports whether the member's certificate for clients is for a host.
func (s secured) covers(host string) bool { return s.clients != nil && s.clients.Covers(host) }

// handshaker makes the handshakes of a listener.
func (r *running) handshaker(s *certs.Source, o certs.ListenOptions) *certs.Handshaker {
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
	return alarms
}

// grpcCredentials are what the gRPC listener accepts connections with.
func (r *running) grpcCredentials() credentials.TransportCredentials {
	if r.secured.grpc == nil {
		return insecure.NewCredentials()
	}
	return r.secured.grpc.Credentials()
}

// httpListener returns a listener of HTTP for clients, with TLS if there is any.
func (r *running) httpListener(listener net.Listener) net.Listener {
	if r.secured.http == nil {
		return listener
	}
	return r.secured.http.Listener(listener)
}

// unsafeAddress says which address of a member has no TLS and can be reached from elsewhere, so that tokens could be read on their
// way, or which lets other processes speak for members; empty: none.
func unsafeAddress(c Config, own Addresses, members []raftnode.Member) string {
	if !c.TLS.peers() && c.PeerAddr != peerOff {
		return "the address for other members has no TLS"
	}
	if c.TLS.on() {
		return ""
	}
	addresses := []string{own.GRPC, own.HTTP, own.Consul}
	for _, m := range members {
		addresses = append(addresses, m.GetClientAddress(), m.GetHttpAddress())
	}
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return "the address " + address + " has no TLS"
		}
	}
	return ""
}
