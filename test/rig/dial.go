package rig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Dial returns a new connection to the member, which the caller closes.
func (m *Member) Dial() *grpc.ClientConn {
	m.t.Helper()
	how := insecure.NewCredentials()
	if m.secured != "" {
		config, err := trust(m.secured)
		if err != nil {
			m.t.Fatal(err)
		}
		how = credentials.NewTLS(config)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(how)}
	if m.token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(m.token)))
	}
	conn, err := grpc.NewClient(m.Addresses.GRPC, options...)
	if err != nil {
		m.t.Fatal(err)
	}
	return conn
}

// trust returns how a client with the files of a folder speaks TLS with members, wherever they listen.
func trust(dir string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in ca.crt")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: memberHost, MinVersion: tls.VersionTLS13,
	}, nil
}
