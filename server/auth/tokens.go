package auth

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
)

// tokenToProto returns what is shown of a token.
func tokenToProto(t *storev1.TokenRecord) *tenurev1.Token {
	return &tenurev1.Token{
		Accessor: call.SessionText(t.GetAccessor()), Name: t.GetName(), Policies: t.GetPolicies(), Node: t.GetNode(),
		ExpireTime: instant(t.GetExpireTimeMs()), CreatedBy: t.GetCreatedBy(), CreateTime: instant(t.GetCreateTimeMs()),
		Parent: accessorText(t.GetParent()), LastUsedTime: dayOf(t.GetLastUsedDay()),
	}
}

// accessorText returns an accessor as text; empty for none.
func accessorText(accessor []byte) string {
	if len(accessor) == 0 {
		return ""
	}
	return call.SessionText(accessor)
}

// CreateToken serves AuthService.
func (a *Service) CreateToken(ctx context.Context, r *tenurev1.CreateTokenRequest) (*tenurev1.CreateTokenResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	parent, err := a.parentOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if err = checkPolicies(r.GetPolicies(), r.GetNode(), len(parent) == 0); err != nil {
		return nil, err
	}
	ttl, err := lifeOf(r)
	if err != nil {
		return nil, err
	}
	text := identity.NewToken()
	hash, err := identity.ParseToken(text)
	if err != nil {
		return nil, err
	}
	accessor := uuid.New()
	record := &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: r.GetName(), Policies: r.GetPolicies(), Node: r.GetNode(),
		Parent: parent,
	}
	if ttl > 0 {
		record.ExpireTimeMs = time.Now().Add(ttl).UnixMilli()
	}
	result, err := a.change(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: record}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.CreateTokenResponse{
		Header: a.HeaderOf(result), Token: tokenToProto(result.GetChangeAuth().GetToken()), Text: text,
	}, nil
}

// lifeOf returns how long a token is to last; zero: until it is revoked.
func lifeOf(r *tenurev1.CreateTokenRequest) (time.Duration, error) {
	switch {
	case r.GetNoExpiry() && r.GetTtl() != nil:
		return 0, reason.Invalid("ttl", "must not be given together with no_expiry")
	case r.GetNoExpiry():
		return 0, nil
	case r.GetTtl() == nil:
		return ttlDefault, nil
	}
	ttl := r.GetTtl().AsDuration()
	if r.GetTtl().CheckValid() != nil || ttl < ttlMin || ttl > ttlMax {
		return 0, reason.Invalid("ttl", "must be at least %v and at most %v", ttlMin, ttlMax)
	}
	return ttl, nil
}

// parentOf returns the accessor of the parent that a new token is to have; nil: none. A caller who may not change tokens makes a child of
// its own token, and this cannot get a policy that the caller's lacks, whether there is such a policy or not.
func (a *Service) parentOf(ctx context.Context, r *tenurev1.CreateTokenRequest) ([]byte, error) {
	if r.GetParent() == "" {
		return nil, nil
	}
	id, err := uuid.Parse(r.GetParent())
	if err != nil || len(r.GetParent()) != len(id.String()) {
		return nil, reason.Invalid("parent", "must be a UUID, the accessor of a token")
	}
	who := callerOf(ctx)
	if who.Covers(authz.Need{Kind: authz.Admin, Verb: authz.Write}) {
		return id[:], nil
	}
	for _, name := range r.GetPolicies() {
		if !slices.Contains(who.Policies, name) {
			return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
				"%s does not have the policy %q itself, and without the right admin write it can only give its own to a child", who.Principal, name).
				With("needs", "admin write")
		}
	}
	return id[:], nil
}

// accessorOf returns the accessor that a request names: an empty one is that of the caller's own token.
func (a *Service) accessorOf(ctx context.Context, text string) ([]byte, error) {
	if text == "" {
		if own := callerOf(ctx).Accessor; own != nil {
			return own, nil
		}
		return nil, reason.Invalid("accessor", "must be given by a caller without a token")
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return nil, reason.Invalid("accessor", "must be a UUID")
	}
	return id[:], nil
}

// GetToken serves AuthService.
func (a *Service) GetToken(ctx context.Context, r *tenurev1.GetTokenRequest) (*tenurev1.GetTokenResponse, error) {
	accessor, err := a.accessorOf(ctx, r.GetAccessor())
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	t, err := s.Token(accessor)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_TOKEN_NOT_FOUND, "there is no token with this accessor")
	}
	return &tenurev1.GetTokenResponse{Header: a.Header(s.At), Token: tokenToProto(t)}, nil
}

// RotateToken serves AuthService.
func (a *Service) RotateToken(ctx context.Context, r *tenurev1.RotateTokenRequest) (*tenurev1.RotateTokenResponse, error) {
	accessor, err := a.accessorOf(ctx, r.GetAccessor())
	if err != nil {
		return nil, err
	}
	text := identity.NewToken()
	hash, err := identity.ParseToken(text)
	if err != nil {
		return nil, err
	}
	result, err := a.edit(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{
		RotateToken: &storev1.RotateToken{Accessor: accessor, TokenSha256: hash[:]},
	}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.RotateTokenResponse{
		Header: a.HeaderOf(result), Token: tokenToProto(result.GetChangeAuth().GetToken()), Text: text,
	}, nil
}

// RevokeToken serves AuthService.
func (a *Service) RevokeToken(ctx context.Context, r *tenurev1.RevokeTokenRequest) (*tenurev1.RevokeTokenResponse, error) {
	accessor, err := a.accessorOf(ctx, r.GetAccessor())
	if err != nil {
		return nil, err
	}
	result, err := a.change(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: accessor}})
	if err != nil {
		return nil, err
	}
	response := &tenurev1.RevokeTokenResponse{Header: a.HeaderOf(result), Revoked: result.GetChangeAuth().GetDeleted()}
	for _, gone := range result.GetChangeAuth().GetRevoked() {
		response.Accessors = append(response.Accessors, accessorText(gone))
	}
	return response, nil
}

// page is a listing under way.
type page struct {
	*call.Snapshot
	query call.PageQuery
	after string
	limit int
}

// begin opens a snapshot for a listing. The caller closes it.
func (a *Service) begin(ctx context.Context, size uint32, token, list string) (*page, error) {
	limit, err := call.PageSize(size)
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	p := &page{Snapshot: s, query: call.PageQuery{List: list}, limit: limit}
	if p.after, err = p.query.After(s.At, token); err == nil {
		err = unread.Begin(ctx)
	}
	if err != nil {
		a.CloseSnapshot(s)
		return nil, err
	}
	return p, nil
}

// next returns the token for the page behind an item, if this page is full.
func (p *page) next(items int, last func() string) string {
	if items < p.limit {
		return ""
	}
	return p.query.Token(p.At, last())
}

// ListTokens serves AuthService.
func (a *Service) ListTokens(ctx context.Context, r *tenurev1.ListTokensRequest) (*tenurev1.ListTokensResponse, error) {
	p, err := a.begin(ctx, r.GetPageSize(), r.GetPageToken(), "tokens")
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(p.Snapshot)
	tokens, err := p.Tokens(p.after, p.limit)
	if err != nil {
		return nil, err
	}
	out := &tenurev1.ListTokensResponse{Header: a.Header(p.At)}
	for _, t := range tokens {
		out.Tokens = append(out.Tokens, tokenToProto(t))
	}
	out.NextPageToken = p.next(len(tokens), func() string { return string(tokens[len(tokens)-1].GetAccessor()) })
	return out, nil
}
