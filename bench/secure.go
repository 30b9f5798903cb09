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

// secured is a cluster with a kind of security. All kinds run during the whole run, so that a round measures them one after the other.
type secured struct {
	kind    string
	members []*server
	leader  *server
}

// startSecured starts a cluster of each kind, and fills its keys.
func startSecured(ctx context.Context, dir string, o options) (all []*secured, err error) {
	for _, kind := range secureKinds {
		s := &secured{kind: kind}
		all = append(all, s)
		if s.members, s.leader, err = startKind(ctx, dir, kind, o); err == nil {
			err = fillKeys(ctx, s.leader, o)
		}
		if err != nil {
			return all, fmt.Errorf("%s-%s: %w", workSecure, kind, err)
		}
	}
	return all, nil
}

func startKind(ctx context.Context, dir, kind string, o options) (members []*server, leader *server, err error) {
	if kind == secureOff {
		if members, err = startCluster(ctx, dir, o); err == nil {
			leader, err = leaderOf(ctx, members)
		}
		return members, leader, err
	}
	if dir, err = os.MkdirTemp(dir, "certs-"); err != nil {
		return nil, nil, err
	}
	p := operator{binary: o.binary, dir: dir}
	if o, err = p.withTLS(ctx, o); err != nil {
		return nil, nil, err
	}
	if members, err = startCluster(ctx, dir, o); err != nil {
		return members, nil, err
	}
	if leader, err = leaderOf(ctx, members); err != nil || kind == secureTLS {
		return members, leader, err
	}
	token, err := p.enforce(ctx, leader)
	for _, m := range members {
		m.dial = append(slices.Clone(m.dial), grpc.WithPerRPCCredentials(bearer(token)))
	}
	return members, leader, err
}

// newSecureCell puts values to random keys of a cluster with a kind of security.
func (b *bench) newSecureCell(kind string, clients int) (*cell, error) {
	for _, s := range b.secured {
		if s.kind == kind {
			c, err := newPutCell(s.leader, clients, b.options)
			if err == nil {
				c.servers = s.members
			}
			return c, err
		}
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

// enforce enforces rules, and returns a token that may write the keys that are measured.
func (p operator) enforce(ctx context.Context, m *server) (token string, err error) {
	member := []string{"--endpoints", m.addresses.GRPC, "--ca-file", p.file("ca.crt")}
	admin, policy := p.file("admin.token"), p.file("bench.policy")
	if err = os.WriteFile(policy, []byte("key \"bench/\"* rw\n"), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"auth", "bootstrap", "--out", admin, "--mode", "enforce"},
		{"auth", "policy", "put", "bench", policy, "--token-file", admin},
		{"auth", "token", "create", "--name", "bench", "--policy", "bench", "--token-file", admin},
	} {
		if token, err = p.run(ctx, append(args, member...)...); err != nil {
			return "", err
		}
	}
	return token, nil
}

// bearer sends a token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return true }
