package provider

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// leeway is by how much a provider's clock may differ from this member's.
	leeway = 30 * time.Second
	// lifeMax is how far away the end of a token may be.
	lifeMax = 24 * time.Hour
	// subjectBytesMax is how long a subject may be.
	subjectBytesMax = 1024
)

// Cause is why a token is refused.
type Cause uint8

// Why a token is refused.
const (
	causeNone Cause = iota
	// CauseMalformed means that it cannot be read.
	CauseMalformed
	// CauseIssuer means that no provider has its issuer.
	CauseIssuer
	// CauseAlgorithm means that the provider does not allow its algorithm.
	CauseAlgorithm
	// CauseNoKeys means that the provider's keys are not here yet.
	CauseNoKeys
	// CauseKey means that the provider has no such key, as far as is known.
	CauseKey
	// CauseSignature means that the signature is not of the key.
	CauseSignature
	// CauseAudience means that it is for somebody else.
	CauseAudience
	// CauseSubject means that it has no subject, or not one that can be shown.
	CauseSubject
	// CauseTime means that it has no end, that its end is too far away, or that it is not valid yet.
	CauseTime
	// CauseExpired means that it has ended.
	CauseExpired
	causes
)

// word returns a cause for metrics.
func (c Cause) word() string {
	return [...]string{
		"", "malformed", "issuer", "algorithm", "no_keys", "key", "signature", "audience", "subject", "time", "expired",
	}[c]
}

// String returns a cause for people.
func (c Cause) String() string {
	return [...]string{
		"",
		"the JSON Web Token cannot be read, or has an algorithm that is never allowed",
		"no provider has the issuer of the JSON Web Token",
		"the provider does not allow the algorithm of the JSON Web Token",
		"the keys of the provider of the JSON Web Token are not here yet",
		"the provider of the JSON Web Token has no key with its key id",
		"the signature of the JSON Web Token is wrong",
		"the JSON Web Token is for another audience",
		"the JSON Web Token has no subject, or one with control characters or of more than 1024 bytes",
		"the JSON Web Token is not valid yet, has no end, or ends in more than 24 hours",
		"expired",
	}[c]
}

// Claims are what a token says, once its signature is verified.
type Claims struct {
	// Provider is the name of its provider.
	Provider string
	// Subject is who has it.
	Subject string
	// IssuedMs is when it was issued, in milliseconds since the Unix epoch; zero: it does not say.
	IssuedMs int64
	// ExpireMs is when it is refused, the leeway included.
	ExpireMs int64
	// Key verified its signature.
	Key KeyID
}

// Verify returns what a token of one of some providers says, or why it is refused; then the claims have the provider, if it is known.
func (k *Keys) Verify(providers []*storev1.ProviderRecord, text string) (Claims, Cause) {
	claims, cause := k.verify(providers, text)
	if cause != causeNone {
		k.metrics.refused.WithLabelValues(cause.word()).Inc()
	}
	return claims, cause
}

func (k *Keys) verify(providers []*storev1.ProviderRecord, text string) (Claims, Cause) {
	var allowed []jose.SignatureAlgorithm
	for _, name := range Algorithms() {
		allowed = append(allowed, jose.SignatureAlgorithm(name))
	}
	token, err := jwt.ParseSigned(text, allowed)
	if err != nil || len(token.Headers) != 1 {
		return Claims{}, CauseMalformed
	}
	var said jwt.Claims
	if token.UnsafeClaimsWithoutVerification(&said) != nil {
		return Claims{}, CauseMalformed
	}
	at := slices.IndexFunc(providers, func(p *storev1.ProviderRecord) bool { return p.GetIssuer() == said.Issuer })
	if at < 0 {
		return Claims{}, CauseIssuer
	}
	p, header := providers[at], token.Headers[0]
	claims := Claims{Provider: p.GetName()}
	if !slices.Contains(p.GetAlgorithms(), header.Algorithm) {
		return claims, CauseAlgorithm
	}
	keys := k.of(p)
	if keys == nil {
		return claims, CauseNoKeys
	}
	key := find(keys, header.KeyID, header.Algorithm)
	if key == nil {
		return claims, CauseKey
	}
	said = jwt.Claims{}
	if token.Claims(key.public, &said) != nil {
		return claims, CauseSignature
	}
	claims.Key = key.id
	return claims, claims.take(said, p, k.now())
}

// take takes over what a token says, unless it is refused at a time.
func (c *Claims) take(said jwt.Claims, p *storev1.ProviderRecord, now time.Time) Cause {
	switch {
	case said.Subject == "" || len(said.Subject) > subjectBytesMax || !utf8.ValidString(said.Subject) ||
		strings.ContainsFunc(said.Subject, unicode.IsControl):
		return CauseSubject
	case said.Expiry == nil || said.Expiry.Time().Sub(now) > lifeMax+leeway:
		return CauseTime
	}
	// An empty issuer was not found among the providers.
	err := said.ValidateWithLeeway(jwt.Expected{Issuer: p.GetIssuer(), AnyAudience: p.GetAudiences(), Time: now}, leeway)
	switch {
	case errors.Is(err, jwt.ErrInvalidAudience):
		return CauseAudience
	case errors.Is(err, jwt.ErrExpired):
		return CauseExpired
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return CauseIssuer
	case err != nil:
		return CauseTime
	}
	c.Subject, c.ExpireMs = said.Subject, said.Expiry.Time().Add(leeway).UnixMilli()
	if said.IssuedAt != nil {
		c.IssuedMs = said.IssuedAt.Time().UnixMilli()
	}
	return causeNone
}
