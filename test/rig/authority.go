package rig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority makes certificates for tests. What it makes is good for a day, and was from an hour ago: clocks of a test machine may differ.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority returns an authority with a key of its own. Each change makes its certificate another one.
func NewAuthority(name string, changes ...func(*x509.Certificate)) (*Authority, error) {
	template := template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	for _, change := range changes {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{certificate: certificate, key: key}, err
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // It never fails; see crypto/rand.
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Pool returns the authority's certificate alone, to trust nobody else.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue returns a certificate for hosts, and its key, as PEM. It is good for servers and clients. Each change makes it another one.
func (a *Authority) Issue(hosts []string, changes ...func(*x509.Certificate)) (certificate, key []byte, err error) {
	template := template("tenure test")
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	for _, change := range changes {
		change(template)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", secret), err
}

// Pair is Issue for a server of this process.
func (a *Authority) Pair(hosts []string, changes ...func(*x509.Certificate)) (tls.Certificate, error) {
	certificate, key, err := a.Issue(hosts, changes...)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// memberHost is a name in certificates of members, wherever they listen.
const memberHost = "localhost"

// Write writes what members and clients need into a directory: ca.crt; member.crt with member.key, for localhost and 127.0.0.1; peer.crt with peer.key,
// which say that it is a member, for the others; and client.crt with client.key.
func (a *Authority) Write(dir string) error {
	files := map[string][]byte{"ca.crt": a.PEM()}
	for name, hosts := range map[string][]string{
		"member": {memberHost, "127.0.0.1"}, "peer": {"member.tenure.internal", "*.member.tenure.internal"}, "client": nil,
	} {
		certificate, key, err := a.Issue(hosts)
		if err != nil {
			return err
		}
		files[name+".crt"], files[name+".key"] = certificate, key
	}
	for name, content := range files {
		// Whoever reads a file meanwhile reads all of the old one or all of the new one.
		if err := os.WriteFile(filepath.Join(dir, name+".new"), content, 0o600); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
