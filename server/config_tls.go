package server

import (
	"errors"
	"fmt"
	"os"

	"github.com/tenure-io/tenure/server/certs"
	"github.com/tenure-io/tenure/server/identity"
)

// ErrPeerInsecure means that members could be spoken for by anybody, while clients could not.
var ErrPeerInsecure = errors.New("with --cert-file, connections between members need TLS as well: give --peer-cert-file, --peer-key-file " +
	"and --peer-ca-file, listen on a loopback address, or, for a member that is alone, say --peer off; --insecure does not excuse it")

// TLS says how clients and a member are sure of each other. Without files there is no TLS.
type TLS struct {
	// CertFile has the certificate of the member as PEM, and those between it and its CA; KeyFile has its private key. With
	// them gRPC and HTTP speak TLS and nothing else.
	CertFile, KeyFile string
	// ClientCAFile has the CAs that certificates of clients are verified with.
	ClientCAFile string
	// ClientAuth says what is asked of clients: none, verify or require a certificate; empty is verify with a CA, and none
	// without.
	ClientAuth certs.ClientAuth
	// PeerCertFile and PeerKeyFile are the certificate of the member for other members, and PeerCAFile the CAs that theirs are
	// verified with. With them both sides of each connection between members show a certificate. All three or none.
	PeerCertFile, PeerKeyFile, PeerCAFile string
	// CertIdentity says what of a client certificate names its client: uri, cn or none; empty is uri.
	CertIdentity string
	// TrustDomain is the cluster's name in certificates of members; empty is tenure.internal.
	TrustDomain string
	// Cleartext is accept where those are let in, too, who come without TLS, for a cluster that begins to use it; else empty. In mode enforce
	// nobody is, and other members are not once there are tokens.
	Cleartext string
	// Reload has something when the files are to be looked at now; they are every 10 s anyway. Nil has nothing.
	Reload <-chan os.Signal
}

// on reports whether gRPC and HTTP speak TLS.
func (t TLS) on() bool { return t.clients().On() }

// peers reports whether members speak TLS to each other.
func (t TLS) peers() bool { return t.PeerCertFile != "" || t.PeerKeyFile != "" || t.PeerCAFile != "" }

// trustDomain returns the cluster's name in certificates.
func (t TLS) trustDomain() string {
	if t.TrustDomain == "" {
		return certs.TrustDomainDefault
	}
	return t.TrustDomain
}

// clients says how clients and the member are sure of each other.
func (t TLS) clients() certs.Clients {
	return certs.Clients{CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.ClientCAFile, Auth: t.ClientAuth}
}

// cleartextAccept is the value of --cleartext.
const cleartextAccept = "accept"

// acceptsCleartext reports whether those are let in who come without TLS.
func (t TLS) acceptsCleartext() bool { return t.Cleartext == cleartextAccept }

// check returns what is wrong with the settings. The files are read when the member starts.
func (t TLS) check() error {
	var problems []error
	for _, mistake := range t.clients().Check() {
		problems = append(problems, fmt.Errorf("%w: %w", ErrConfig, mistake))
	}
	if t.peers() && (t.PeerCertFile == "" || t.PeerKeyFile == "" || t.PeerCAFile == "") {
		problems = append(problems, fmt.Errorf("%w: --peer-cert-file, --peer-key-file and --peer-ca-file belong together; give all or none", ErrConfig))
	}
	switch {
	case t.Cleartext != "" && !t.acceptsCleartext():
		problems = append(problems, fmt.Errorf("%w: --cleartext is %q; it can only be accept", ErrConfig, t.Cleartext))
	case t.acceptsCleartext() && !t.on() && !t.peers():
		problems = append(problems, fmt.Errorf("%w: --cleartext accept needs --cert-file or --peer-cert-file: without TLS there is nothing else", ErrConfig))
	}
	if _, err := identity.ParseCertificateIdentity(t.CertIdentity); err != nil {
		problems = append(problems, fmt.Errorf("%w: --cert-identity %w", ErrConfig, err))
	}
	if err := certs.CheckTrustDomain(t.trustDomain()); err != nil {
		problems = append(problems, fmt.Errorf("%w: --trust-domain: %w", ErrConfig, err))
	}
	return errors.Join(problems...)
}

// peerOff is the PeerAddr of a member that is alone for good.
const peerOff = "off"

// checkPeerAddress refuses a peer address that others could reach and use.
func (c Config) checkPeerAddress() error {
	if c.PeerAddr == peerOff {
		if len(c.InitialCluster) > 0 || len(c.Join) > 0 || c.AdvertisePeerAddr != "" || c.TLS.peers() {
			return fmt.Errorf("%w: --peer off is for a member that is alone: it has no --initial-cluster, no --join, no "+
				"--advertise-peer and no --peer-cert-file", ErrConfig)
		}
		return nil
	}
	err := checkListenAddress("--peer", c.PeerAddr, c.TLS.peers() || c.Insecure && !c.TLS.on())
	if errors.Is(err, ErrInsecure) && c.TLS.on() {
		return fmt.Errorf("--peer %s: %w", c.PeerAddr, ErrPeerInsecure)
	}
	return err
}
