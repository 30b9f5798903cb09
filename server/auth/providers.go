package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// algorithmsDefault are what signatures may have, unless it is said.
func algorithmsDefault() []string { return []string{"RS256", "ES256"} }

// PutProvider serves AuthService.
func (a *Service) PutProvider(ctx context.Context, r *tenurev1.PutProviderRequest) (*tenurev1.PutProviderResponse, error) {
	if err := checkProvider(r); err != nil {
		return nil, err
	}
	algorithms := r.GetAlgorithms()
	if len(algorithms) == 0 {
		algorithms = algorithmsDefault()
	}
	if err := a.checkIssuer(ctx, r); err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: &storev1.ProviderRecord{
		Name: r.GetName(), Issuer: r.GetIssuer(), Audiences: r.GetAudiences(), Jwks: r.GetJwks(), JwksUrl: r.GetJwksUrl(),
		CaCertificates: r.GetCaCertificates(), Algorithms: algorithms,
	}}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.PutProviderResponse{Header: a.HeaderOf(result)}, nil
}

// checkProviderName refuses what is no name of a provider.
func checkProviderName(name string) error {
	if !storage.IsProviderName(name) {
		return reason.Invalid("name", "must be 1 to 63 of the characters a-z, 0-9 and hyphen")
	}
	return nil
}

// checkProvider refuses a provider that cannot be one.
func checkProvider(r *tenurev1.PutProviderRequest) error {
	if err := checkProviderName(r.GetName()); err != nil {
		return err
	}
	if err := call.CheckText("issuer", r.GetIssuer(), storage.ProviderIssuerBytesMax); err != nil || r.GetIssuer() == "" {
		return orMissing(err, "issuer")
	}
	if n := len(r.GetAudiences()); n == 0 || n > storage.ProviderAudiencesMax {
		return reason.Invalid("audiences", "must be 1 to %d", storage.ProviderAudiencesMax)
	}
	for i, audience := range r.GetAudiences() {
		field := fmt.Sprintf("audiences[%d]", i)
		if err := call.CheckText(field, audience, storage.ProviderAudienceBytesMax); err != nil || audience == "" {
			return orMissing(err, field)
		}
	}
	known := provider.Algorithms()
	for i, algorithm := range r.GetAlgorithms() {
		if !slices.Contains(known, algorithm) || slices.Contains(r.GetAlgorithms()[:i], algorithm) {
			return reason.Invalid(fmt.Sprintf("algorithms[%d]", i), "must be one of %s, each once", strings.Join(known, ", "))
		}
	}
	return checkKeySource(r)
}

// orMissing returns an error, or that a field is empty.
func orMissing(err error, field string) error {
	if err != nil {
		return err
	}
	return reason.Invalid(field, "must be given")
}

// checkKeySource refuses what does not say where keys are.
func checkKeySource(r *tenurev1.PutProviderRequest) error {
	if len(r.GetCaCertificates()) > storage.ProviderCABytesMax {
		return reason.Invalid("ca_certificates", "must have at most %d bytes", storage.ProviderCABytesMax)
	}
	if err := provider.CheckCertificates(r.GetCaCertificates()); err != nil {
		return reason.Invalid("ca_certificates", "%v", err)
	}
	switch {
	case r.GetJwks() != "" && r.GetJwksUrl() != "":
		return reason.Invalid("jwks_url", "must not be given together with jwks")
	case len(r.GetJwks()) > storage.ProviderJWKSBytesMax:
		return reason.Invalid("jwks", "must have at most %d bytes", storage.ProviderJWKSBytesMax)
	case len(r.GetJwksUrl()) > storage.ProviderURLBytesMax:
		return reason.Invalid("jwks_url", "must have at most %d bytes", storage.ProviderURLBytesMax)
	case r.GetJwks() != "":
		if err := provider.CheckKeySet(r.GetJwks()); err != nil {
			return reason.Invalid("jwks", "%v", err)
		}
	case r.GetJwksUrl() != "":
		if err := provider.CheckURL(r.GetJwksUrl()); err != nil {
			return reason.Invalid("jwks_url", "%v", err)
		}
	default:
		if err := provider.CheckURL(r.GetIssuer()); err != nil {
			return reason.Invalid("issuer", "it must be a URL that says where the keys are, unless jwks or jwks_url is given: %v", err)
		}
	}
	return nil
}

// checkIssuer refuses an issuer that another provider has. Applying the command refuses it, too, but without naming the other.
func (a *Service) checkIssuer(ctx context.Context, r *tenurev1.PutProviderRequest) error {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return err
	}
	defer a.CloseSnapshot(s)
	all, err := s.Providers()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.GetIssuer() == r.GetIssuer() && p.GetName() != r.GetName() {
			return reason.Invalid("issuer", "the provider %s has it", p.GetName())
		}
	}
	return nil
}

// ListProviders serves AuthService.
func (a *Service) ListProviders(
	ctx context.Context, _ *tenurev1.ListProvidersRequest,
) (*tenurev1.ListProvidersResponse, error) {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	all, err := s.Providers()
	if err != nil {
		return nil, err
	}
	out := &tenurev1.ListProvidersResponse{Header: a.Header(s.At)}
	for _, p := range all {
		out.Providers = append(out.Providers, &tenurev1.Provider{
			Name: p.GetName(), Issuer: p.GetIssuer(), Audiences: p.GetAudiences(), Jwks: p.GetJwks(), JwksUrl: p.GetJwksUrl(),
			CaCertificates: p.GetCaCertificates(), Algorithms: p.GetAlgorithms(),
		})
		state := a.keys.State(p.GetName())
		keys := &tenurev1.ProviderKeys{Provider: p.GetName(), Keys: uint32(state.Keys), Failure: state.Failure}
		if !state.Fetched.IsZero() {
			keys.FetchTime = timestamppb.New(state.Fetched.Truncate(time.Second))
		}
		out.Keys = append(out.Keys, keys)
	}
	return out, nil
}

// DeleteProvider serves AuthService.
func (a *Service) DeleteProvider(
	ctx context.Context, r *tenurev1.DeleteProviderRequest,
) (*tenurev1.DeleteProviderResponse, error) {
	if err := checkProviderName(r.GetName()); err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{DeleteProvider: r.GetName()}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeleteProviderResponse{Header: a.HeaderOf(result), Deleted: result.GetChangeAuth().GetDeleted()}, nil
}
