package server

import (
	"errors"
	"fmt"
	"os"

	"github.com/tenure-io/tenure/server/certs"
)

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
	// Reload has something when the files are to be looked at now; they are every 10 s anyway. Nil has nothing.
	Reload <-chan os.Signal
}

// on reports whether gRPC and HTTP speak TLS.
func (t TLS) on() bool { return t.CertFile != "" || t.KeyFile != "" }

// auth returns what is asked of clients.
func (t TLS) auth() certs.ClientAuth {
	switch {
	case t.ClientAuth != "":
		return t.ClientAuth
	case t.ClientCAFile != "":
		return certs.AuthVerify
	default:
		return certs.AuthNone
	}
}

// check returns what is wrong with the settings. The files are read when the member starts.
func (t TLS) check() error {
	var problems []error
	if (t.CertFile == "") != (t.KeyFile == "") {
		problems = append(problems, fmt.Errorf("%w: --cert-file and --key-file belong together; give both or neither", ErrConfig))
	}
	switch t.auth() {
	case certs.AuthNone:
	case certs.AuthVerify, certs.AuthRequire:
		if t.ClientCAFile == "" {
			problems = append(problems, fmt.Errorf("%w: --client-auth %s needs --client-ca-file", ErrConfig, t.ClientAuth))
		}
	default:
		problems = append(problems, fmt.Errorf("%w: --client-auth is %q; it must be none, verify or require", ErrConfig, t.ClientAuth))
	}
	if !t.on() && (t.ClientCAFile != "" || t.ClientAuth != "") {
		problems = append(problems, fmt.Errorf("%w: --client-ca-file and --client-auth need --cert-file and --key-file", ErrConfig))
	}
	return errors.Join(problems...)
}
