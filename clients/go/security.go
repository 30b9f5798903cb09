package tenure

import (
	"context"
	"crypto/tls"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/secure"
)

// securedBy is what one place says about security: the options of Open, the connection string or the environment. What is empty it leaves to the next.
type securedBy struct {
	files     secure.Files
	token     string
	tokenFile string
	source    func(ctx context.Context) (string, error)
	clear     bool // Whether a token may be sent without TLS.
}

// parameter takes one parameter of a connection string.
func (s *securedBy) parameter(name, value string) error {
	texts := map[string]*string{
		"ca_file": &s.files.CA, "cert_file": &s.files.Cert, "key_file": &s.files.Key, "server_name": &s.files.ServerName,
		"token_file": &s.tokenFile,
	}
	text, known := texts[name]
	switch {
	case known && value == "":
		return invalid("%s= is empty", name)
	case known:
		*text = value
	case name == "insecure" && (value == "true" || value == "false"):
		s.clear = value == "true"
	case name == "insecure":
		return invalid("insecure=%s must be true or false", value)
	default:
		return invalid("unknown parameter %q", name)
	}
	return nil
}

// fromEnvironment is what the environment says.
func fromEnvironment() securedBy {
	return securedBy{
		files: secure.Files{
			CA: os.Getenv("TENURE_CA_FILE"), Cert: os.Getenv("TENURE_CERT_FILE"), Key: os.Getenv("TENURE_KEY_FILE"),
			ServerName: os.Getenv("TENURE_SERVER_NAME"),
		},
		token: os.Getenv("TENURE_TOKEN"), tokenFile: os.Getenv("TENURE_TOKEN_FILE"),
	}
}

// tokens returns how many tokens there are to choose from.
func (s *securedBy) tokens() int {
	n := 0
	for _, given := range []bool{s.token != "", s.tokenFile != "", s.source != nil} {
		if given {
			n++
		}
	}
	return n
}

// or returns what a place says, and where it says nothing what the next one does. A pair of certificate and key, and a token, come from one place.
func (s *securedBy) or(next *securedBy) securedBy {
	all := *s
	if all.files.CA == "" {
		all.files.CA = next.files.CA
	}
	if all.files.Cert == "" && all.files.Key == "" {
		all.files.Cert, all.files.Key = next.files.Cert, next.files.Key
	}
	if all.files.ServerName == "" {
		all.files.ServerName = next.files.ServerName
	}
	if all.tokens() == 0 {
		all.token, all.tokenFile, all.source = next.token, next.tokenFile, next.source
	}
	all.clear = all.clear || next.clear
	return all
}

// security is how a client's connections are secured, and by what token its calls are known; nil is none.
type security struct {
	credentials credentials.TransportCredentials
	tls         bool
	token       *secure.Token
	clear       bool // Whether tokens may be sent without TLS.
}

// newSecurity puts together what options, connection string and environment say, and looks whether the files are there.
func newSecurity(ctx context.Context, t *target, own *tls.Config, options securedBy) (*security, error) {
	all := options.or(&t.secured)
	s, all, err := newTransport(t.scheme, own, all, fromEnvironment())
	if err != nil {
		return nil, err
	}
	return s, s.takeToken(ctx, t, &all)
}

// newTransport puts together how connections are secured, and returns with it all that is said.
func newTransport(scheme string, own *tls.Config, all, environment securedBy) (*security, securedBy, error) {
	if own != nil {
		if all.files != (secure.Files{}) {
			return nil, all, invalid("WithTLS and files or a server name of TLS exclude each other")
		}
		environment.files = secure.Files{}
	}
	all = all.or(&environment)
	secured := scheme == schemeTLS || own != nil || all.files != (secure.Files{})
	switch {
	case secured && scheme == schemeClear:
		return nil, all, invalid("the connection string starts with tenure://, which means no TLS, but %s is given: use tenures://",
			askedForTLS(own, all.files))
	case (all.files.Cert == "") != (all.files.Key == ""):
		return nil, all, invalid("a certificate needs its key: cert_file and key_file (TENURE_CERT_FILE and TENURE_KEY_FILE) go together")
	case all.tokens() > 1:
		return nil, all, invalid("there is more than one token: give it by text, by file (TENURE_TOKEN or TENURE_TOKEN_FILE) or by a source")
	case secured && all.clear:
		return nil, all, invalid("insecure=true is for connections without TLS; with TLS nothing skips verification")
	}
	s := &security{tls: secured, credentials: insecure.NewCredentials()}
	switch {
	case own != nil:
		s.credentials = credentials.NewTLS(secure.AtLeast13(own))
	case secured:
		if _, err := all.files.Config(); err != nil {
			return nil, all, &Error{Kind: ErrTLSFailed, Applied: AppliedNo, Message: err.Error(), cause: err}
		}
		s.credentials = all.files.Credentials()
	}
	return s, all, nil
}

// plain is without TLS and without a token.
func plain() *security { return &security{credentials: insecure.NewCredentials()} }

// askedForTLS names what asks for TLS.
func askedForTLS(own *tls.Config, files secure.Files) string {
	switch {
	case own != nil:
		return "WithTLS"
	case files.CA != "":
		return "a CA (ca_file, TENURE_CA_FILE)"
	case files.Cert != "" || files.Key != "":
		return "a certificate (cert_file, TENURE_CERT_FILE)"
	default:
		return "a server name (server_name, TENURE_SERVER_NAME)"
	}
}

// takeToken takes the token, if there is one, and looks whether it may be sent.
func (s *security) takeToken(ctx context.Context, t *target, all *securedBy) error {
	s.clear = all.clear
	switch {
	case all.source != nil:
		s.token = secure.TokenFrom(all.source)
	case all.tokenFile != "":
		s.token = secure.TokenFile(all.tokenFile)
	case all.token != "":
		s.token = secure.FixedToken(all.token)
	default:
		return nil
	}
	for _, member := range t.members {
		if !s.tls && !all.clear && !conn.Local(member) {
			return invalid("the token is not sent to %s without TLS: use tenures://, or insecure=true if the network may read it", member)
		}
	}
	if all.source == nil { // A source may take its time, and waits for the first call.
		if _, err := s.token.Get(ctx); err != nil {
			return &Error{Kind: ErrAuth, Applied: AppliedNo, Message: err.Error(), cause: err}
		}
	}
	return nil
}

// guards reports whether no token may be sent to another machine, whoever it is of.
func (s *security) guards() bool { return !s.tls && !s.clear }

// bearing returns a Dial that sends the token, if there is one. The tokens of calls are guarded as it is.
func (s *security) bearing(dial conn.Dial) conn.Dial {
	if s.guards() {
		dial = conn.Clear(dial)
	}
	if s.token == nil {
		return dial
	}
	return conn.Bearing(dial, s.token, s.guards())
}
