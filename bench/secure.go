package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
	"google.golang.org/grpc"
)

// What security costs: the same puts without any, over TLS, and over TLS with rules that are enforced.
const (
	secureOff     = "off"
	secureTLS     = "tls"
	secureEnforce = "enforce"
)

var secureKinds = []string{secureOff, secureTLS, secureEnforce}

// secureWorkloads are the names of the cells.
func secureWorkloads() []string {
	var names []string
	for _, kind := range secureKinds {
		names = append(names, workSecure+"-"+kind)
	}
	return names
}

// secured is a cluster with a kind of security, or two. Both clusters run during the whole run, so that a round measures all kinds one after the
// other.
type secured struct {
	members []*server
	leader  *server
	// dials are how clients connect, by kind.
	dials map[string][]grpc.DialOption
	// enforced turns the rules on or off; nil: they are always off. One cluster is measured with rules and without them, so that nothing else
	// differs, such as what its disk has to do.
	enforced func(ctx context.Context, on bool) error
}

// startSecured starts a cluster without security and one with it, and fills their keys.
func startSecured(ctx context.Context, dir string, o options) (all []*secured, err error) {
	for _, start := range []func(context.Context, string, options) (*secured, error){startOpen, startSafe} {
		s, err := start(ctx, dir, o)
		all = append(all, s)
		if err == nil {
			err = fillKeys(ctx, s.leader, o)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", workSecure, err)
		}
	}
	return all, nil
}

// startOpen starts a cluster without security.
func startOpen(ctx context.Context, dir string, o options) (s *secured, err error) {
	s = &secured{}
	if s.members, err = startCluster(ctx, dir, o); err == nil {
		s.leader, err = leaderOf(ctx, s.members)
	}
	if err == nil {
		s.dials = map[string][]grpc.DialOption{secureOff: s.leader.dial}
	}
	return s, err
}

// startSafe starts a cluster with TLS and a token.
func startSafe(ctx context.Context, dir string, o options) (s *secured, err error) {
	s = &secured{}
	if dir, err = os.MkdirTemp(dir, "certs-"); err != nil {
		return s, err
	}
	p := operator{binary: o.binary, dir: dir}
	if o, err = p.withTLS(ctx, o); err != nil {
		return s, err
	}
	if s.members, err = startCluster(ctx, dir, o); err != nil {
		return s, err
	}
	if s.leader, err = leaderOf(ctx, s.members); err != nil {
		return s, err
	}
	token, err := p.bootstrap(ctx, s.leader)
	if err != nil {
		return s, err
	}
	bare := s.leader.dial
	s.dials = map[string][]grpc.DialOption{
		secureTLS: bare, secureEnforce: append(slices.Clone(bare), grpc.WithPerRPCCredentials(bearer(token))),
	}
	if s.enforced, err = p.switchOf(s.leader); err != nil {
		return s, err
	}
	return s, s.enforced(ctx, false)
}

// newSecureCell puts values to random keys of a cluster with a kind of security.
func (b *bench) newSecureCell(ctx context.Context, kind string, clients int) (*cell, error) {
	for _, s := range b.secured {
		dial, has := s.dials[kind]
		if !has {
			continue
		}
		if s.enforced != nil {
			if err := s.enforced(ctx, kind == secureEnforce); err != nil {
				return nil, err
			}
		}
		leader := *s.leader
		leader.dial = dial
		c, err := newPutCell(&leader, clients, b.options)
		if err == nil {
			c.servers = s.members
		}
		return c, err
	}
	return nil, fmt.Errorf("no cluster with %s", kind)
}

// operator makes certificates and tokens as an operator does, with the program that is measured.
type operator struct{ binary, dir string }

func (p operator) file(name string) string { return filepath.Join(p.dir, name) }

// run runs a command, and returns what it printed.
func (p operator) run(ctx context.Context, args ...string) (string, error) {
	var said, failed bytes.Buffer
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("tenure %s: %w: %s", strings.Join(args, " "), err, failed.String())
	}
	return strings.TrimSpace(said.String()), nil
}

// withTLS makes a CA and a certificate for each member, and returns options with which members use them, and are called with TLS.
func (p operator) withTLS(ctx context.Context, o options) (options, error) {
	if _, err := p.run(ctx, "cert", "ca", "--dir", p.dir); err != nil {
		return o, err
	}
	for i := range o.members {
		if _, err := p.run(ctx, "cert", "member", memberName(i), "127.0.0.1", "--dir", p.dir); err != nil {
			return o, err
		}
	}
	how, err := certs.Dialing{Files: certs.Files{CA: p.file("ca.crt")}, ServerName: "127.0.0.1"}.Credentials()
	if err != nil {
		return o, err
	}
	o.memberFlags = func(member string) []string {
		certificate, key := p.file(member+".crt"), p.file(member+".key")
		return []string{
			"--cert-file", certificate, "--key-file", key,
			"--peer-cert-file", certificate, "--peer-key-file", key, "--peer-ca-file", p.file("ca.crt"),
		}
	}
	o.dial = []grpc.DialOption{grpc.WithTransportCredentials(how)}
	return o, nil
}

// bootstrap makes the first token, and returns one that may write the keys that are measured.
func (p operator) bootstrap(ctx context.Context, m *server) (token string, err error) {
	policy := p.file("bench.policy")
	if err = os.WriteFile(policy, []byte("key \"bench/\"* rw\n"), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"auth", "bootstrap", "--out", p.admin()},
		{"auth", "policy", "put", "bench", policy, "--token-file", p.admin()},
		{"auth", "token", "create", "--name", "bench", "--policy", "bench", "--token-file", p.admin()},
	} {
		if token, err = p.run(ctx, append(args, p.at(m)...)...); err != nil {
			return "", err
		}
	}
	return token, nil
}

// switchOf returns what turns the rules on or off at a member.
func (p operator) switchOf(m *server) (func(ctx context.Context, on bool) error, error) {
	token, err := os.ReadFile(p.admin())
	if err != nil {
		return nil, err
	}
	conns, err := dialAll(m.addresses.GRPC, 1, append(slices.Clone(m.dial), grpc.WithPerRPCCredentials(bearer(strings.TrimSpace(string(token)))))...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, on bool) error {
		mode := tenurev1.AuthMode_AUTH_MODE_OFF
		if on {
			mode = tenurev1.AuthMode_AUTH_MODE_ENFORCE
		}
		_, err := tenurev1.NewAuthServiceClient(conns.of(0)).SetAuthMode(ctx, &tenurev1.SetAuthModeRequest{Mode: mode})
		return err
	}, nil
}

// admin is the file with the first token.
func (p operator) admin() string { return p.file("admin.token") }

// at are the flags of commands to a member.
func (p operator) at(m *server) []string {
	return []string{"--endpoints", m.addresses.GRPC, "--ca-file", p.file("ca.crt")}
}

// credential is what a client sends with each call.
type credential map[string]string

// bearer returns the credential of a token.
func bearer(token string) credential { return credential{"authorization": "Bearer " + token} }

func (c credential) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return c, nil
}

func (credential) RequireTransportSecurity() bool { return true }
