package certs_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/server/certs"
)

func TestNamesInCertificates(t *testing.T) {
	ours := newCA(t)
	made, err := ours.Member(domain, "a", []string{"a.example.net", "10.0.0.5", "::1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	leaf := parse(t, made)
	for _, host := range []string{"member." + domain, "a.member." + domain, "a.example.net", "10.0.0.5", "::1"} {
		if err = leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if made, err = ours.Client(domain, "billing", time.Now()); err != nil {
		t.Fatal(err)
	}
	leaf = parse(t, made)
	if len(leaf.URIs) != 1 || leaf.URIs[0].String() != "spiffe://tenure.internal/client/billing" || len(leaf.DNSNames) > 0 {
		t.Errorf("got %v, %v; want one SPIFFE id", leaf.URIs, leaf.DNSNames)
	}
	for _, name := range []string{"", "A", "a.b", "a_b", "-a", strings.Repeat("a", 64), "*", "ä"} {
		if _, err := ours.Member(domain, name, nil, time.Now()); !errors.Is(err, certs.ErrMemberName) {
			t.Errorf("member %q: got %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "a b", "a%2f", strings.Repeat("a", 64)} {
		if _, err := ours.Client(domain, name, time.Now()); !errors.Is(err, certs.ErrClientName) {
			t.Errorf("client %q: got %v", name, err)
		}
	}
	for _, host := range []string{"", "a:7400", "https://a", "*.example.net", "a..b", "10.0.0.0/8"} {
		if _, err := ours.Member(domain, "a", []string{host}, time.Now()); !errors.Is(err, certs.ErrHost) {
			t.Errorf("host %q: got %v", host, err)
		}
	}
	for _, name := range []string{"", "Tenure", "a..b", "a/b", strings.Repeat("a.", 95) + "a"} {
		if _, err := certs.NewAuthority(name, time.Now()); !errors.Is(err, certs.ErrTrustDomain) {
			t.Errorf("trust domain %q: got %v", name, err)
		}
	}
}

func parse(t *testing.T, made certs.Issued) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(made.Cert)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestNoCAIsBelowTheCA(t *testing.T) {
	ours := newCA(t)
	member := ours.member("a", 0)
	pair := certs.Issued{Cert: read(t, member.Cert), Key: read(t, member.Key)}
	if _, err := certs.ParseAuthority(pair); !errors.Is(err, certs.ErrNotCA) {
		t.Errorf("got %v, want that a member's certificate signs nothing", err)
	}
	block, _ := pem.Decode(read(t, ours.path))
	own, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !own.IsCA || own.MaxPathLen != 0 || !own.MaxPathLenZero {
		t.Errorf("got %v, CA %t, path length %d; want a CA of path length 0", err, own.IsCA, own.MaxPathLen)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOpenSSL lets openssl verify our certificates, and serves with one that openssl made.
func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is missing")
	}
	ours := newCA(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "openssl", args...)
		cmd.Dir = ours.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v\n%s", args, err, out)
		}
	}
	ours.member("a", 0)
	ours.client("c")
	run("verify", "-x509_strict", "-CAfile", "ca.crt", "-purpose", "sslserver", "-verify_hostname", "a.member."+domain, "a.crt")
	run("verify", "-x509_strict", "-CAfile", "ca.crt", "-purpose", "sslclient", "a.crt")
	run("verify", "-x509_strict", "-CAfile", "ca.crt", "-purpose", "sslclient", "c.crt")

	writeFile(t, filepath.Join(ours.dir, "names"), []byte("subjectAltName=DNS:member.tenure.internal,DNS:b.member.tenure.internal,DNS:localhost\n"+
		"extendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n"))
	run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=b", "-keyout", "b.key", "-out", "b.csr")
	run("x509", "-req", "-in", "b.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "90", "-extfile", "names", "-out", "b.crt")
	s := open(t, certs.Files{Cert: filepath.Join(ours.dir, "b.crt"), Key: filepath.Join(ours.dir, "b.key")})
	address, _ := listen(t, s, certs.ListenOptions{})
	if _, err := connect(address, certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}); err != nil {
		t.Error(err)
	}
}
