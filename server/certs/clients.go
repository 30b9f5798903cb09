package certs

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"

	"go.uber.org/zap"
)

// Clients says how the listeners of a process and their clients are sure of each other. Without files there is no TLS.
type Clients struct {
	// CertFile has the certificate of the process as PEM, and those between it and its CA; KeyFile has its private key. Both or neither.
	CertFile, KeyFile string
	// CAFile has the CAs that certificates of clients are verified with.
	CAFile string
	// Auth says what is asked of clients; empty is AuthVerify with a CA, and AuthNone without.
	Auth ClientAuth
	// CertFlag and KeyFlag name the flags of CertFile and KeyFile in errors; empty is --cert-file and --key-file.
	CertFlag, KeyFlag string
}

// On reports whether the listeners speak TLS.
func (c Clients) On() bool { return c.CertFile != "" || c.KeyFile != "" }

// Asked returns what is asked of clients.
func (c Clients) Asked() ClientAuth {
	switch {
	case c.Auth != "":
		return c.Auth
	case c.CAFile != "":
		return AuthVerify
	default:
		return AuthNone
	}
}

// Check returns what is wrong with the settings, one error for each mistake. The files are read by Open.
func (c Clients) Check() []error {
	var mistakes []error
	cert, key := cmp.Or(c.CertFlag, "--cert-file"), cmp.Or(c.KeyFlag, "--key-file")
	if (c.CertFile == "") != (c.KeyFile == "") {
		mistakes = append(mistakes, fmt.Errorf("%s and %s belong together; give both or neither", cert, key))
	}
	switch c.Asked() {
	case AuthNone:
	case AuthVerify, AuthRequire:
		if c.CAFile == "" {
			mistakes = append(mistakes, fmt.Errorf("--client-auth %s needs --client-ca-file", c.Auth))
		}
	default:
		mistakes = append(mistakes, fmt.Errorf("--client-auth is %q; it must be none, verify or require", c.Auth))
	}
	if !c.On() && (c.CAFile != "" || c.Auth != "") {
		mistakes = append(mistakes, fmt.Errorf("--client-ca-file and --client-auth need %s and %s", cert, key))
	}
	return mistakes
}

// errNoTLS means that there are no files to open.
var errNoTLS = errors.New("there is no certificate for clients")

// Open reads the files. It fails when they cannot be used.
func (c Clients) Open(log *zap.Logger) (*Source, error) {
	if !c.On() {
		return nil, errNoTLS
	}
	return Open(Options{
		Files:   Files{Cert: c.CertFile, Key: c.KeyFile, CA: c.CAFile},
		Purpose: "clients",
		Uses:    []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		Logger:  log,
	})
}
