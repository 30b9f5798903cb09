package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/tenure-io/tenure/server/identity"
)

// tokenVariable is the environment variable with the text of a token. There is no flag for it: others see flags.
const tokenVariable = "TENURE_TOKEN"

// bearer sends a token with each call of a connection.
type bearer struct{ text string }

// GetRequestMetadata returns the token.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{identity.Metadata: "Bearer " + b.text}, nil
}

// RequireTransportSecurity is false: what may be sent where was checked before.
func (bearer) RequireTransportSecurity() bool { return false }

// Token returns what commands send to say who calls; nil if there is no token. It is not sent in clear to another machine.
func (e *Environment) Token() (credentials.PerRPCCredentials, error) {
	text, set := e.Getenv(tokenVariable)
	if !set {
		text = ""
	}
	if e.TokenFile != "" {
		var err error
		if text, err = ReadToken(e.TokenFile); err != nil {
			return nil, UsageError("--token-file: %w", err)
		}
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, UsageError("the token has characters that no token has")
	}
	if err := e.CheckClear(); err != nil {
		return nil, err
	}
	return bearer{text: text}, nil
}

// CheckClear refuses to send the text of a token if others could read it on its way.
func (e *Environment) CheckClear() error {
	if endpoint := e.InClear(); endpoint != "" {
		return UsageError("the token is not sent to %s without TLS: use tenures:// in --endpoints", endpoint)
	}
	return nil
}

// InClear returns the first endpoint that is another machine, if there is no TLS; empty: none is.
func (e *Environment) InClear() string {
	for _, endpoint := range e.Endpoints {
		if !e.Security.on() && !loopback(endpoint) {
			return endpoint
		}
	}
	return ""
}

// OnlyHere reports whether tokens may be sent to the endpoints and to no other members: all are of this machine, and there is no TLS.
func (e *Environment) OnlyHere() bool { return !e.Security.on() && e.InClear() == "" }

// tokenBytesMax bounds what a file with a token may have.
const tokenBytesMax = 16 << 10

// ReadToken returns the text in a file, without blanks around it.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(f, tokenBytesMax+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > tokenBytesMax:
		return "", fmt.Errorf("%s is longer than %d bytes", path, tokenBytesMax)
	case strings.TrimSpace(string(text)) == "":
		return "", fmt.Errorf("%s is empty", path)
	}
	return strings.TrimSpace(string(text)), nil
}

// loopback reports whether an address, host:port, is of this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
