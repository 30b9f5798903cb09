package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"google.golang.org/grpc/credentials"
)

// Files is TLS from files. What is empty is not there: without CA the system's roots are used, and without Cert and Key no certificate is sent.
type Files struct {
	// CA has certificates of authorities, and Cert and Key the client's own pair, as PEM.
	CA, Cert, Key string
	// ServerName is what a member's certificate must be for; empty is the host that is connected to.
	ServerName string
}

// FileError says that a file is of no use. It says the same as what it wraps.
type FileError struct{ err error }

// Error names the file and what is wrong with it.
func (e *FileError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *FileError) Unwrap() error { return e.err }

// Config reads the files. The error is a *FileError.
func (f Files) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, unread("ca_file", f.CA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &FileError{fmt.Errorf("ca_file %s has no certificate in PEM form", f.CA)}
		}
	}
	if f.Cert != "" {
		certificate, err := os.ReadFile(f.Cert)
		if err != nil {
			return nil, unread("cert_file", f.Cert, err)
		}
		key, err := os.ReadFile(f.Key)
		if err != nil {
			return nil, unread("key_file", f.Key, err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, &FileError{fmt.Errorf("cert_file %s and key_file %s are not a pair: %w", f.Cert, f.Key, err)}
		}
		// It is sent whoever a member wants it to be from: then the member can say that it refuses it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// unread returns the error of a file that cannot be read.
func unread(name, path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // The path is said already.
	}
	return &FileError{fmt.Errorf("%s %s: %w", name, path, err)}
}

// AtLeast13 returns a copy of a program's own configuration that agrees on nothing older than TLS 1.3.
func AtLeast13(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.MinVersion = max(config.MinVersion, tls.VersionTLS13)
	return config
}

// Credentials returns credentials that read the files for each connection.
func (f Files) Credentials() credentials.TransportCredentials {
	named := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, ServerName: f.ServerName})
	return &fromFiles{TransportCredentials: named, files: f}
}

// fromFiles are the credentials of Files. All but the handshake is as of any others.
type fromFiles struct {
	credentials.TransportCredentials

	files Files
}

// Clone returns a copy.
func (c *fromFiles) Clone() credentials.TransportCredentials {
	return &fromFiles{TransportCredentials: c.TransportCredentials.Clone(), files: c.files}
}

// ClientHandshake reads the files and agrees on TLS.
func (c *fromFiles) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config, err := c.files.Config()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, raw)
}
