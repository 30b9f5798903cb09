package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spiffe/go-spiffe/v2/spiffeid"
)

// Metadata is the name of the metadata, and of the header over HTTP, that carries a token.
const Metadata = "authorization"

// Kind says what a caller showed.
type Kind uint8

// What callers show.
const (
	// None means that the caller is anonymous.
	None Kind = iota
	// Token means a well-formed token. Whether there is such a token is for others to say.
	Token
	// Certificate means a client certificate that was verified.
	Certificate
	// Bad means a credential that cannot be right. Its caller is not anonymous.
	Bad
)

// String returns the word for a kind.
func (k Kind) String() string {
	switch k {
	case Token:
		return "token"
	case Certificate:
		return "certificate"
	case Bad:
		return "bad"
	default:
		return "none"
	}
}

// Caller is who calls, as far as that can be read from a call.
type Caller struct {
	Kind Kind
	// Token is the hash of the token's text, for Token.
	Token Hash
	// Principal is who calls, for Certificate. Who a token's principal is has to be looked up.
	Principal string
	// Cause says what is wrong with a credential, for Bad. It repeats nothing of it.
	Cause string
}

// CertificateIdentity says what of a client certificate is an identity.
type CertificateIdentity uint8

// What of a client certificate is an identity.
const (
	// ByURI means its only URI, which names a workload as SPIFFE does.
	ByURI CertificateIdentity = iota
	// ByCommonName means the common name of its subject.
	ByCommonName
	// ByNothing means that client certificates name nobody.
	ByNothing
)

// ErrCertificateIdentity says that a text does not name a CertificateIdentity.
var ErrCertificateIdentity = errors.New("must be uri, cn or none")

// ParseCertificateIdentity reads the value of --cert-identity. Empty means uri.
func ParseCertificateIdentity(text string) (CertificateIdentity, error) {
	switch text {
	case "", "uri":
		return ByURI, nil
	case "cn":
		return ByCommonName, nil
	case "none":
		return ByNothing, nil
	default:
		return 0, ErrCertificateIdentity
	}
}

// bearerMax bounds the value of the metadata, in bytes.
const bearerMax = 8 << 10

// nameMax bounds the common name of a certificate, in bytes.
const nameMax = 256

// Of returns who calls: authorization are the values of the metadata of that name, and certificate is the verified certificate of
// the client, nil if it has none. A token comes before a certificate.
func Of(authorization []string, certificate *x509.Certificate, by CertificateIdentity) Caller {
	if len(authorization) > 0 {
		hash, err := bearer(authorization)
		if err != nil {
			return Caller{Kind: Bad, Cause: err.Error()}
		}
		return Caller{Kind: Token, Token: hash}
	}
	if certificate == nil || by == ByNothing {
		return Caller{}
	}
	principal, err := principalOf(certificate, by)
	switch {
	case err != nil:
		return Caller{Kind: Bad, Cause: err.Error()}
	case principal == "":
		return Caller{}
	default:
		return Caller{Kind: Certificate, Principal: principal}
	}
}

// bearer returns the hash of the token in the values of the metadata.
func bearer(values []string) (Hash, error) {
	if len(values) > 1 {
		return Hash{}, errors.New("authorization is given more than once")
	}
	if len(values[0]) > bearerMax {
		return Hash{}, fmt.Errorf("authorization is longer than %d bytes", bearerMax)
	}
	scheme, text, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "bearer") {
		return Hash{}, errors.New("authorization must be of the form: Bearer TOKEN")
	}
	return ParseToken(text)
}

// principalOf returns who a certificate names; empty if it names nobody.
func principalOf(certificate *x509.Certificate, by CertificateIdentity) (string, error) {
	if by == ByCommonName {
		name := certificate.Subject.CommonName
		switch {
		case name == "":
			return "", nil
		case len(name) > nameMax:
			return "", fmt.Errorf("the certificate's common name is longer than %d bytes", nameMax)
		case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
			return "", errors.New("the certificate's common name has control characters, or is not UTF-8")
		}
		return "cert:cn/" + name, nil
	}
	switch len(certificate.URIs) {
	case 0:
		return "", nil
	case 1:
		id, err := spiffeid.FromURI(certificate.URIs[0])
		if err != nil {
			return "", errors.New("the certificate's URI is not the id of a workload: spiffe://TRUST-DOMAIN/PATH")
		}
		return "cert:" + id.String(), nil
	default:
		return "", errors.New("the certificate has more than one URI")
	}
}
