package auth

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// What a provider may have.
const (
	// ProvidersMax is how many providers there are at most.
	ProvidersMax         = 16
	providerNameBytesMax = 63
	// IssuerBytesMax is how long an issuer is at most.
	IssuerBytesMax = 512
	// AudiencesMax is how many audiences a provider has at most.
	AudiencesMax = 8
	// AudienceBytesMax is how long an audience is.
	AudienceBytesMax = 256
	// JWKSBytesMax is how long the keys are that are part of a provider.
	JWKSBytesMax = 64 << 10
	// URLBytesMax is how long the URL of keys is.
	URLBytesMax = 1024
	// CABytesMax is how long the certificates of a provider are.
	CABytesMax    = 16 << 10
	algorithmsMax = 4
	// jwtPrefix begins the principals of callers with a JSON Web Token; the name of the provider and a slash come next.
	jwtPrefix = "jwt:"
)

// JWTPrincipal returns the principal of a provider's caller.
func JWTPrincipal(provider, subject string) string { return jwtPrefix + provider + "/" + subject }

// IsJWTPrincipal reports whether a text is the principal of a provider's caller, or begins one.
func IsJWTPrincipal(s string) bool {
	rest, ok := strings.CutPrefix(s, jwtPrefix)
	provider, _, found := strings.Cut(rest, "/")
	return ok && found && IsProviderName(provider)
}

// IsProviderName reports whether a text can name a provider.
func IsProviderName(s string) bool {
	if s == "" || len(s) > providerNameBytesMax {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// putProvider writes a provider. One that replaces another may take rights away.
func (c *Change) putProvider(head *storev1.AuthRecord, p *storev1.ProviderRecord) error {
	tooLong := func(s string) bool { return s == "" || len(s) > AudienceBytesMax }
	switch {
	case !IsProviderName(p.GetName()):
		return malformed("name")
	case p.GetIssuer() == "" || len(p.GetIssuer()) > IssuerBytesMax:
		return malformed("issuer")
	case len(p.GetAudiences()) == 0 || len(p.GetAudiences()) > AudiencesMax || slices.ContainsFunc(p.GetAudiences(), tooLong):
		return malformed("audiences")
	case len(p.GetJwks()) > JWKSBytesMax:
		return malformed("jwks")
	case len(p.GetJwksUrl()) > URLBytesMax || p.GetJwks() != "" && p.GetJwksUrl() != "":
		return malformed("jwks_url")
	case len(p.GetCaCertificates()) > CABytesMax:
		return malformed("ca_certificates")
	case len(p.GetAlgorithms()) == 0 || len(p.GetAlgorithms()) > algorithmsMax || slices.ContainsFunc(p.GetAlgorithms(), tooLong):
		return malformed("algorithms")
	}
	all, err := (&Reader{rows: c.Rows}).Providers()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.GetIssuer() == p.GetIssuer() && other.GetName() != p.GetName() {
			return malformed("issuer")
		}
	}
	record := proto.CloneOf(p)
	record.Name = ""
	return c.put(providerRow(p.GetName()), record, &head.Providers, "providers_max", ProvidersMax)
}

// Providers returns all providers, by name.
func (r *Reader) Providers() ([]*storev1.ProviderRecord, error) {
	var all []*storev1.ProviderRecord
	err := r.page(layout.RowProvider, "", func(name string, value []byte) (bool, error) {
		p := &storev1.ProviderRecord{}
		err := layout.Decode(value, p)
		p.Name = name
		all = append(all, p)
		return true, err
	})
	return all, err
}
