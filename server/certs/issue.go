package certs

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
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// How long certificates live.
const (
	caLife   = 10 * 365 * 24 * time.Hour
	leafLife = 90 * 24 * time.Hour
	// begunBefore is how long before now a certificate begins, for machines whose clocks are behind.
	begunBefore = 5 * time.Minute
)

// TrustDomainDefault is the name of a cluster in certificates, unless another is chosen.
const TrustDomainDefault = "tenure.internal"

// Errors of names.
var (
	// ErrTrustDomain says that a name cannot be a trust domain.
	ErrTrustDomain = errors.New("a trust domain must be a DNS name in lower case, such as tenure.internal, of at most 189 bytes")
	// ErrMemberName says that a name cannot be in a member's certificate.
	ErrMemberName = errors.New("the name of a member in a certificate must be 1 to 63 lower-case letters, digits or hyphens, and must not start or end with a hyphen")
	// ErrClientName says that a name cannot be in a client's certificate.
	ErrClientName = errors.New("the name of a client must be 1 to 63 letters, digits, dots, hyphens or underscores")
	// ErrHost says that something is neither a DNS name nor an address.
	ErrHost = errors.New("a host must be a DNS name or an IP address, without port")
	// ErrNotCA says that a certificate cannot sign others.
	ErrNotCA = errors.New("the certificate is not that of a CA")
)

var (
	labelForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	clientForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)
)

// trustDomainBytesMax leaves room for the name of a member before it.
const trustDomainBytesMax = 189

// CheckTrustDomain refuses what cannot be a trust domain.
func CheckTrustDomain(name string) error {
	if len(name) > trustDomainBytesMax || slices.ContainsFunc(strings.Split(name, "."), func(l string) bool { return !labelForm.MatchString(l) }) {
		return fmt.Errorf("%.128q: %w", name, ErrTrustDomain)
	}
	return nil
}

// MembersName is the DNS name that the certificates of all members of a cluster have.
func MembersName(trustDomain string) string { return "member." + trustDomain }

// Authority is a CA that issues certificates.
type Authority struct {
	cert *x509.Certificate
	key  any
}

// Issued is a certificate with its private key, as PEM.
type Issued struct{ Cert, Key []byte }

// NewAuthority makes a CA.
func NewAuthority(trustDomain string, now time.Time) (Issued, error) {
	if err := CheckTrustDomain(trustDomain); err != nil {
		return Issued{}, err
	}
	return issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "Tenure CA of " + trustDomain, Organization: []string{trustDomain}},
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}, now, nil)
}

// ParseAuthority returns the CA of a certificate with its key.
func ParseAuthority(ca Issued) (*Authority, error) {
	all, err := parseCertificates(ca.Cert)
	if err != nil {
		return nil, fmt.Errorf("the CA's certificate: %w", err)
	}
	if !all[0].IsCA {
		return nil, ErrNotCA
	}
	pair, err := pairOf(ca)
	if err != nil {
		return nil, fmt.Errorf("the CA's key: %w", err)
	}
	return &Authority{cert: all[0], key: pair.PrivateKey}, nil
}

// Member issues the certificate of a member, which listens and dials with it.
func (a *Authority) Member(trustDomain, name string, hosts []string, now time.Time) (Issued, error) {
	if err := CheckTrustDomain(trustDomain); err != nil {
		return Issued{}, err
	}
	if !labelForm.MatchString(name) {
		return Issued{}, fmt.Errorf("%.128q: %w", name, ErrMemberName)
	}
	leaf := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{MembersName(trustDomain), name + "." + MembersName(trustDomain)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
			continue
		}
		if len(host) > 253 || slices.ContainsFunc(strings.Split(host, "."), func(l string) bool { return !hostForm.MatchString(l) }) {
			return Issued{}, fmt.Errorf("%.128q: %w", host, ErrHost)
		}
		if !slices.Contains(leaf.DNSNames, host) {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	return a.leaf(leaf, now)
}

// Client issues the certificate of a client.
func (a *Authority) Client(trustDomain, name string, now time.Time) (Issued, error) {
	if err := CheckTrustDomain(trustDomain); err != nil {
		return Issued{}, err
	}
	if !clientForm.MatchString(name) || strings.Trim(name, ".") == "" {
		return Issued{}, fmt.Errorf("%.128q: %w", name, ErrClientName)
	}
	return a.leaf(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: trustDomain, Path: "/client/" + name}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, now)
}

func (a *Authority) leaf(leaf *x509.Certificate, now time.Time) (Issued, error) {
	leaf.NotAfter = now.Add(leafLife)
	if leaf.NotAfter.After(a.cert.NotAfter) {
		leaf.NotAfter = a.cert.NotAfter
	}
	leaf.KeyUsage = x509.KeyUsageDigitalSignature
	leaf.BasicConstraintsValid = true
	return issue(leaf, now, a)
}

// issue signs a certificate with a new key; without an authority it signs itself.
func issue(cert *x509.Certificate, now time.Time, by *Authority) (Issued, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, err
	}
	// 128 random bits, of which one is not zero.
	if cert.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128)); err != nil {
		return Issued{}, err
	}
	cert.SerialNumber.SetBit(cert.SerialNumber, 0, 1)
	cert.NotBefore = now.Add(-begunBefore)
	parent, signer := cert, any(key)
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		return Issued{}, err
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Issued{}, err
	}
	return Issued{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}, nil
}
