package auth

import (
	"context"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// principalBytesMax is how long the principal of a binding may be.
const principalBytesMax = 2048

// PutPolicy serves AuthService.
func (a *Service) PutPolicy(ctx context.Context, r *tenurev1.PutPolicyRequest) (*tenurev1.PutPolicyResponse, error) {
	if err := checkPolicyName(r.GetName()); err != nil {
		return nil, err
	}
	policy, err := authz.ParsePolicy(r.GetRules())
	if err != nil {
		return nil, reason.Invalid("rules", "%v", err)
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{
		PutPolicy: &storev1.PolicyRecord{Name: r.GetName(), Rules: policy.String()},
	}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.PutPolicyResponse{Header: a.HeaderOf(result)}, nil
}

// checkPolicyName refuses what is no name of a policy that can be written.
func checkPolicyName(name string) error {
	if name == storage.AdminPolicy {
		return reason.Invalid("name", "the policy admin is built in")
	}
	return checkName("name", name)
}

// GetPolicy serves AuthService.
func (a *Service) GetPolicy(ctx context.Context, r *tenurev1.GetPolicyRequest) (*tenurev1.GetPolicyResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	rules, found := authz.AdminPolicy().String(), true
	if r.GetName() != storage.AdminPolicy {
		if rules, found, err = s.Policy(r.GetName()); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_POLICY_NOT_FOUND, "there is no policy %q", r.GetName())
	}
	return &tenurev1.GetPolicyResponse{Header: a.Header(s.At), Policy: &tenurev1.Policy{Name: r.GetName(), Rules: rules}}, nil
}

// ListPolicies serves AuthService.
func (a *Service) ListPolicies(ctx context.Context, r *tenurev1.ListPoliciesRequest) (*tenurev1.ListPoliciesResponse, error) {
	p, err := a.begin(ctx, r.GetPageSize(), r.GetPageToken(), "policies")
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(p.Snapshot)
	policies, err := p.Policies(p.after, p.limit, call.PageBytesMax)
	if err != nil {
		return nil, err
	}
	out := &tenurev1.ListPoliciesResponse{Header: a.Header(p.At)}
	bytes := 0
	for _, policy := range policies {
		bytes += len(policy.GetRules())
		out.Policies = append(out.Policies, &tenurev1.Policy{Name: policy.GetName(), Rules: policy.GetRules()})
	}
	if len(policies) > 0 && (len(policies) >= p.limit || bytes >= call.PageBytesMax) {
		out.NextPageToken = p.query.Token(p.At, policies[len(policies)-1].GetName())
	}
	return out, nil
}

// DeletePolicy serves AuthService.
func (a *Service) DeletePolicy(ctx context.Context, r *tenurev1.DeletePolicyRequest) (*tenurev1.DeletePolicyResponse, error) {
	if err := checkPolicyName(r.GetName()); err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: r.GetName()}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeletePolicyResponse{Header: a.HeaderOf(result), Deleted: result.GetChangeAuth().GetDeleted()}, nil
}

// PutBinding serves AuthService.
func (a *Service) PutBinding(ctx context.Context, r *tenurev1.PutBindingRequest) (*tenurev1.PutBindingResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	if err := checkCallers(r); err != nil {
		return nil, err
	}
	if err := checkPolicies(r.GetPolicies(), r.GetNode(), true); err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: r.GetName(), Kind: storev1.BindingKind(r.GetKind()), Principal: r.GetPrincipal(), Policies: r.GetPolicies(), Node: r.GetNode(),
		IssuedAfterMs: issuedAfterMs(r),
	}}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.PutBindingResponse{Header: a.HeaderOf(result)}, nil
}

// checkCallers refuses a binding that does not say which callers it is about.
func checkCallers(r *tenurev1.PutBindingRequest) error {
	anonymous := r.GetKind() == tenurev1.BindingKind_BINDING_KIND_ANONYMOUS
	ofJWT := r.GetKind() == tenurev1.BindingKind_BINDING_KIND_JWT
	switch {
	case !anonymous && !ofJWT && r.GetKind() != tenurev1.BindingKind_BINDING_KIND_CERTIFICATE:
		return reason.Invalid("kind", "must be anonymous, certificate or jwt")
	case anonymous && r.GetPrincipal() != "":
		return reason.Invalid("principal", "must be empty for anonymous callers")
	case !anonymous && r.GetPrincipal() == "":
		return reason.Invalid("principal", "must be given")
	case ofJWT && !storage.IsJWTPrincipal(r.GetPrincipal()):
		return reason.Invalid("principal", "must be jwt:PROVIDER/SUBJECT, or a prefix of that form that ends in / or :")
	case r.GetIssuedAfter() != nil && !ofJWT:
		return reason.Invalid("issued_after", "is only for callers with a JSON Web Token")
	case r.GetIssuedAfter() != nil && (!r.GetIssuedAfter().IsValid() || r.GetIssuedAfter().AsTime().UnixMilli() <= 0):
		return reason.Invalid("issued_after", "must be a time after 1970")
	}
	return call.CheckText("principal", r.GetPrincipal(), principalBytesMax)
}

// issuedAfterMs returns what tokens must have been issued after, in milliseconds since the Unix epoch; zero: any time.
func issuedAfterMs(r *tenurev1.PutBindingRequest) int64 {
	if r.GetIssuedAfter() == nil {
		return 0
	}
	return r.GetIssuedAfter().AsTime().UnixMilli()
}

// ListBindings serves AuthService.
func (a *Service) ListBindings(ctx context.Context, r *tenurev1.ListBindingsRequest) (*tenurev1.ListBindingsResponse, error) {
	p, err := a.begin(ctx, r.GetPageSize(), r.GetPageToken(), "bindings")
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(p.Snapshot)
	bindings, err := p.Bindings(p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out := &tenurev1.ListBindingsResponse{Header: a.Header(p.At)}
	for _, b := range bindings {
		out.Bindings = append(out.Bindings, &tenurev1.Binding{
			Name: b.GetName(), Kind: tenurev1.BindingKind(b.GetKind()), Principal: b.GetPrincipal(), Policies: b.GetPolicies(), Node: b.GetNode(),
			IssuedAfter: instant(b.GetIssuedAfterMs()),
		})
	}
	out.NextPageToken = p.next(len(bindings), func() string { return bindings[len(bindings)-1].GetName() })
	return out, nil
}

// DeleteBinding serves AuthService.
func (a *Service) DeleteBinding(ctx context.Context, r *tenurev1.DeleteBindingRequest) (*tenurev1.DeleteBindingResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteBinding{DeleteBinding: r.GetName()}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeleteBindingResponse{Header: a.HeaderOf(result), Deleted: result.GetChangeAuth().GetDeleted()}, nil
}
