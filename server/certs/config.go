package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"google.golang.org/grpc/credentials"
)

// ClientAuth says what is asked of those who connect.
type ClientAuth string

// What is asked of those who connect.
const (
	// AuthNone asks for no certificate.
	AuthNone ClientAuth = "none"
	// AuthVerify asks for one, and refuses one that is sent and not valid.
	AuthVerify ClientAuth = "verify"
	// AuthRequire refuses who has none.
	AuthRequire ClientAuth = "require"
)

// The protocols that are spoken inside TLS.
const (
	protoHTTP2 = "h2"
	protoHTTP1 = "http/1.1"
)

// base returns what all configurations have in common.
func base(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		NextProtos:             protocols,
	}
}

// listening returns the configuration for who listens. Each handshake uses the certificates of its moment. Verify may refuse
// what is valid.
func (s *Source) listening(auth ClientAuth, verify func(tls.ConnectionState) error, protocols ...string) *tls.Config {
	outer := base(protocols...)
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m := s.current.Load()
		c := base(protocols...)
		c.Certificates, c.VerifyConnection = []tls.Certificate{*m.pair}, verify
		if m.pool != nil {
			c.ClientCAs = m.pool
			switch auth {
			case AuthNone:
			case AuthVerify:
				c.ClientAuth = tls.VerifyClientCertIfGiven
			case AuthRequire:
				c.ClientAuth = tls.RequireAndVerifyClientCert
			}
		}
		return c, nil
	}
	return outer
}

// Dialing says how TLS is spoken by who dials.
type Dialing struct {
	Files
	// ServerName is the name that the other side must have; empty is the host that is dialed.
	ServerName string
}

// Config returns the configuration for who dials, with the files as they are now.
func (d Dialing) Config() (*tls.Config, error) {
	contents, _, err := d.read()
	if err != nil {
		return nil, err
	}
	m, err := d.parse(contents)
	if err != nil {
		return nil, err
	}
	c := base(protoHTTP2)
	c.RootCAs, c.ServerName = m.pool, d.ServerName // Without a pool the system's CAs are used.
	if m.pair != nil {
		c.Certificates = []tls.Certificate{*m.pair}
	}
	return c, nil
}

// Asking returns the configuration for asking a server over HTTPS that is verified with the CAs in a text of PEM; an empty one means
// the system's.
func Asking(pem []byte) (*tls.Config, error) {
	c := base(protoHTTP1)
	if len(pem) == 0 {
		return c, nil
	}
	all, err := parseCertificates(pem)
	if err != nil {
		return nil, err
	}
	c.RootCAs = x509.NewCertPool()
	for _, ca := range all {
		c.RootCAs.AddCert(ca)
	}
	return c, nil
}

// Credentials returns what gRPC dials with, with the files as they are now.
func (d Dialing) Credentials() (credentials.TransportCredentials, error) {
	c, err := d.Config()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(c), nil
}

// NameIn returns the first DNS name of the certificate in a file: a name under which its owner can be verified.
func NameIn(path string) (string, error) {
	data, err := readFile(path)
	if err != nil {
		return "", err
	}
	all, err := parseCertificates(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if len(all[0].DNSNames) == 0 {
		return "", nil
	}
	return all[0].DNSNames[0], nil
}
