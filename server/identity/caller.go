package identity

import (
	"crypto/sha256"
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
	// JWT means what looks like a JSON Web Token. Whether a provider issued it is for others to say.
	JWT
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
	case JWT:
		return "jwt"
	default:
		return "none"
	}
}

// Caller is who calls, as far as that can be read from a call.
type Caller struct {
	Kind Kind
	// Token is the hash of the token's text, for Token and JWT.
	Token Hash
	// JWT is the text of a JSON Web Token, which is needed to verify it.
	JWT Text
	// Principal is who calls, for Certificate. Who a token's principal is has to be looked up.
	Principal string
	// Cause says what is wrong with a credential, for Bad. It repeats nothing of it.
	Cause string
}

// Text is a text that nobody prints by mistake: as text it is three stars.
type Text string

// Format prints three stars.
func (Text) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("***")) }

// Brief returns the caller without the text of a token: what may be kept for long.
func (c Caller) Brief() Caller {
	c.JWT = ""
	return c
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
		caller, err := bearer(authorization)
		if err != nil {
			return Caller{Kind: Bad, Cause: err.Error()}
		}
		return caller
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

// bearer returns the caller whose token is in the values of the metadata.
func bearer(values []string) (Caller, error) {
	if len(values) > 1 {
		return Caller{}, errors.New("authorization is given more than once")
	}
	if len(values[0]) > bearerMax {
		return Caller{}, fmt.Errorf("authorization is longer than %d bytes", bearerMax)
	}
	scheme, text, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "bearer") {
		return Caller{}, errors.New("authorization must be of the form: Bearer TOKEN")
	}
	// A JSON object in base64 begins so, and a token of Tenure does not.
	if strings.HasPrefix(text, "eyJ") && strings.Count(text, ".") == 2 {
		return Caller{Kind: JWT, Token: sha256.Sum256([]byte(text)), JWT: Text(text)}, nil
	}
	hash, err := ParseToken(text)
	return Caller{Kind: Token, Token: hash}, err
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
