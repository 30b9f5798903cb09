package certs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tenure-io/tenure/server/certs"
)

// TestAnAddressOfClientsThatTheCertificateLacksIsAProblem: clients that are told to connect there refuse the member.
func TestAnAddressOfClientsThatTheCertificateLacksIsAProblem(t *testing.T) {
	ours := newCA(t)
	files := ours.member("a", 0)
	core, logged := observer.New(zap.InfoLevel)
	s, err := certs.Open(certs.Options{Files: files, Purpose: "test", Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	lacks := func() string {
		for _, p := range s.Problems() {
			if p.Name == certs.ProblemLacksAddress {
				return p.Message
			}
		}
		return ""
	}
	s.Serves("localhost:7400", "[::]:7400", "a.member."+domain+":7401")
	if got := lacks(); got != "" || logged.Len() > 0 {
		t.Errorf("got %q, and logged %v; want no problem with hosts that the certificate lists", got, logged.All())
	}
	s.Serves("10.0.0.1:7400", "10.0.0.1:7401")
	if got := lacks(); !strings.Contains(got, "does not list 10.0.0.1, where") || logged.FilterLevelExact(zap.WarnLevel).Len() != 1 {
		t.Errorf("got %q, and logged %v; want that the address is missing", got, logged.All())
	}
	made, err := ours.Member(domain, "a", []string{"10.0.0.1", "b.example.net"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ours.write("a", made)
	s.Reload()
	if got := lacks(); got != "" {
		t.Errorf("got %q, want no problem with a certificate that lists the address", got)
	}
	for host, want := range map[string]bool{"10.0.0.1": true, "b.Example.net": true, "example.net": false, "localhost": false, "": false} {
		if s.Covers(host) != want {
			t.Errorf("that the certificate is for %q: got %t", host, !want)
		}
	}
}

// TestWhatIsLoggedOfFiles reads in the log which files are not taken, and that they can be used again.
func TestWhatIsLoggedOfFiles(t *testing.T) {
	ours := newCA(t)
	files := ours.member("a", 0)
	core, logged := observer.New(zap.InfoLevel)
	s, err := certs.Open(certs.Options{Files: files, Purpose: "peers", Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		writeFile(t, files.Key, []byte("x"))
		s.Reload()
	}
	if problems := s.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Message, "The files for peers were changed") {
		t.Errorf("got %v, want that the problem says what the files are for", problems)
	}
	writeFile(t, files.Key, good)
	s.Reload()
	ours.member("a", 0)
	s.Reload()
	var got []string
	for _, l := range logged.All() {
		got = append(got, l.Message)
		for _, end := range l.ContextMap() {
			if ends, ok := end.([]any); ok && !strings.HasPrefix(fmt.Sprint(ends[0]), time.Now().AddDate(0, 0, 90).UTC().Format("2006-01-02 ")) {
				t.Errorf("got the end %v, want its date", ends)
			}
		}
	}
	want := "certificate not taken, the earlier one stays; certificate files can be used again, and say the same as before; certificate taken"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// chain writes a certificate of a member with one between it and its CA, and the CA's own, and returns where. The one between ends after some days; if
// there are more, it was renewed, and one that ends after each follows.
func chain(t *testing.T, days ...int) certs.Files {
	t.Helper()
	now := time.Now()
	issue := func(name string, days int, isCA bool, by *x509.Certificate, byKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		t.Helper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(0, 0, days),
			IsCA: isCA, BasicConstraintsValid: isCA, DNSNames: []string{"localhost"},
		}
		if by == nil {
			by, byKey = c, key
		}
		raw, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), byKey)
		if err == nil {
			c, err = x509.ParseCertificate(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c, key
	}
	root, rootKey := issue("root", 9, true, nil, nil)
	between, betweenKey := issue("between", days[0], true, root, rootKey)
	sent := []*x509.Certificate{between}
	for _, d := range days[1:] {
		renewed := *between
		renewed.NotAfter = now.AddDate(0, 0, d)
		raw, err := x509.CreateCertificate(rand.Reader, &renewed, root, betweenKey.Public(), rootKey)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, &x509.Certificate{Raw: raw})
	}
	other, _ := issue("other", 1, true, root, rootKey)
	leaf, leafKey := issue("a", 90, false, between, betweenKey)
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, c := range slices.Concat([]*x509.Certificate{leaf}, sent, []*x509.Certificate{root, other}) {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	dir := t.TempDir()
	files := certs.Files{Cert: filepath.Join(dir, "a.crt"), Key: filepath.Join(dir, "a.key")}
	writeFile(t, files.Cert, all)
	writeFile(t, files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return files
}

// A certificate is good until the first ends of those by which the other side gets from it to the CA. Others in the file do not count: neither the CA's
// own, nor one that signed none of them.
func TestACertificateBetweenTheOwnAndTheCAEnds(t *testing.T) {
	later := 0
	now := func() time.Time { return time.Now().AddDate(0, 0, later) }
	files := chain(t, 30)
	registry := prometheus.NewRegistry()
	s, err := certs.Open(certs.Options{Files: files, Purpose: "test", Now: now})
	if err == nil {
		err = certs.Register(registry, map[string]*certs.Source{"test": s}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if problems := s.Problems(); len(problems) > 0 {
		t.Errorf("got %v with 30 days left, want no problem", problems)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if labels := m.GetLabel(); family.GetName() == "tenure_certs_end_seconds" && labels[0].GetValue() == "own" &&
				time.Unix(int64(m.GetGauge().GetValue()), 0).After(time.Now().AddDate(0, 0, 31)) {
				t.Errorf("got the end %v, want that of the one between", m)
			}
		}
	}
	later = 20
	end := time.Now().AddDate(0, 0, 30).UTC().Format("2006-01-02 ")
	if problems := s.Problems(); len(problems) != 1 || problems[0].Name != certs.ProblemExpires || !strings.Contains(problems[0].Message, "ends on "+end) {
		t.Errorf("got %v with 10 days left, want that it ends", problems)
	}
	later = 31
	if _, err = certs.Open(certs.Options{Files: files, Now: now}); !errors.Is(err, certs.ErrEnded) {
		t.Errorf("after the end: got %v, want %v", err, certs.ErrEnded)
	}
}

// A file with a CA's certificate that has ended is taken if the renewed one is there, too.
func TestARenewedCertificateBetweenCounts(t *testing.T) {
	for _, c := range []struct {
		days []int
		want error
	}{
		{[]int{30, 90}, nil},
		{[]int{90, 30}, nil},
		{[]int{30, 20}, certs.ErrEnded},
	} {
		later := func() time.Time { return time.Now().AddDate(0, 0, 31) }
		if _, err := certs.Open(certs.Options{Files: chain(t, c.days...), Now: later}); !errors.Is(err, c.want) {
			t.Errorf("those between end after %d days: after 31 days got %v, want %v", c.days, err, c.want)
		}
	}
}

// Files that did not change are in use, also after their certificate has ended: there is one problem then, and nothing that was not taken.
func TestFilesThatOnlyGotOldWereNotChanged(t *testing.T) {
	ours := newCA(t)
	later := 0
	s, err := certs.Open(certs.Options{Files: ours.member("a", 0), Purpose: "test", Now: func() time.Time { return time.Now().AddDate(0, 0, later) }})
	if err != nil {
		t.Fatal(err)
	}
	later = 91
	s.Reload()
	if problems := s.Problems(); len(problems) != 1 || problems[0].Name != certs.ProblemExpires {
		t.Errorf("got %v, want that the certificate has ended", problems)
	}
	ours.member("a", 0) // It has ended, too, and is another one.
	s.Reload()
	if problems := s.Problems(); len(problems) != 2 || problems[0].Name != certs.ProblemNotLoaded {
		t.Errorf("got %v, want that the files were changed and are not taken", problems)
	}
}
