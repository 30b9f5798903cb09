package auth

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

const (
	// ttlDefault is how long a token lasts unless it is said.
	ttlDefault = 90 * 24 * time.Hour
	ttlMin     = time.Minute
	ttlMax     = 100 * 365 * 24 * time.Hour
	// bootstrapName is the name of the first token.
	bootstrapName = "bootstrap"
	// resetName is the name of those that are made when all are lost.
	resetName = "reset"
)

// Service serves AuthService.
type Service struct {
	tenurev1.UnimplementedAuthServiceServer
	*call.Caller
	// unsafe says which listener of this member is not safe enough for tokens; empty: none.
	unsafe func() string
	nonces *Nonces
	keys   *provider.Keys
	// editing has room for the one edit that this member makes.
	editing chan struct{}
}

// Options are what the service needs.
type Options struct {
	// Caller is what all services share.
	Caller *call.Caller
	// Unsafe says which listener of this member is not safe enough for tokens; empty: none.
	Unsafe func() string
	// Nonces prove who may read the directory of this member.
	Nonces *Nonces
	// Keys are those of the providers of JSON Web Tokens.
	Keys *provider.Keys
}

// New returns the service.
func New(o Options) *Service {
	return &Service{Caller: o.Caller, unsafe: o.Unsafe, nonces: o.Nonces, keys: o.Keys, editing: make(chan struct{}, 1)}
}

// change has a change ordered.
func (a *Service) change(ctx context.Context, r proto.Message, change *storev1.ChangeAuth) (*storev1.Result, error) {
	return a.Propose(ctx, call.Change{
		Request: r, Command: &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: change}},
	})
}

// edit is change for what may take a right away: such changes deny each other, whoever makes them. So this member makes one after the other, and
// decides about each again when its turn comes. Revocations of tokens do not deny each other, and need no turn.
func (a *Service) edit(ctx context.Context, r proto.Message, change *storev1.ChangeAuth) (*storev1.Result, error) {
	select {
	case a.editing <- struct{}{}:
	default:
		select {
		case a.editing <- struct{}{}:
		case <-a.Stopping.Done():
			return nil, reason.ErrStopping
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", raftnode.ErrNotProposed, ctx.Err())
		}
		if err := a.AuthoriseAgain(ctx); err != nil {
			<-a.editing
			return nil, err
		}
	}
	defer func() { <-a.editing }()
	return a.change(ctx, r, change)
}

const (
	// recordedWithin is how long a change waits for what members say of their listeners to be recorded: the record of one that has just been
	// restarted is of its last start for a moment.
	recordedWithin = 3 * time.Second
	recordedEvery  = 200 * time.Millisecond
)

// changeSafely is change for what is refused where a member listens in a way that is not safe enough.
func (a *Service) changeSafely(ctx context.Context, r proto.Message, change *storev1.ChangeAuth) (*storev1.Result, error) {
	last := time.NewTimer(recordedWithin)
	defer last.Stop()
	for {
		result, err := a.change(ctx, r, change)
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE {
			return result, err
		}
		pause := time.NewTimer(recordedEvery)
		select {
		case <-pause.C:
		case <-last.C:
			pause.Stop()
			return nil, err
		case <-ctx.Done():
			pause.Stop()
			return nil, err
		}
	}
}

// checkSafe refuses tokens where others could read them on their way, or propose in anybody's name.
func (a *Service) checkSafe() error {
	if listener := a.unsafe(); listener != "" {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE,
			"%s; tokens need TLS for clients unless all addresses are loopback, and TLS between members unless --peer is off", listener)
	}
	return nil
}

// mode converts a mode.
func mode(m tenurev1.AuthMode) (storev1.AuthMode, error) {
	if m < tenurev1.AuthMode_AUTH_MODE_OFF || m > tenurev1.AuthMode_AUTH_MODE_ENFORCE {
		return 0, reason.Invalid("mode", "must be off, warn or enforce")
	}
	return storev1.AuthMode(m), nil
}

// shownMode converts a mode of the state; before the bootstrap it is off.
func shownMode(m storev1.AuthMode) tenurev1.AuthMode {
	return max(tenurev1.AuthMode(m), tenurev1.AuthMode_AUTH_MODE_OFF)
}

// BootstrapAuth serves AuthService.
func (a *Service) BootstrapAuth(
	ctx context.Context, r *tenurev1.BootstrapAuthRequest,
) (*tenurev1.BootstrapAuthResponse, error) {
	hash, err := identity.ParseToken(r.GetToken())
	if err != nil {
		return nil, reason.Invalid("token", "must be the text of a token, as `tenure auth bootstrap` draws it")
	}
	if r.GetMode() == tenurev1.AuthMode_AUTH_MODE_UNSPECIFIED {
		r.Mode = tenurev1.AuthMode_AUTH_MODE_WARN
	}
	m, err := mode(r.GetMode())
	if err != nil {
		return nil, err
	}
	if err = a.checkSafe(); err != nil {
		return nil, err
	}
	if !fromLoopback(ctx) {
		if err = a.nonces.Check(ctx, r.GetNonce()); err != nil {
			return nil, err
		}
	}
	result, err := a.changeSafely(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: m, Token: firstToken(hash, bootstrapName),
	}}})
	if err != nil {
		return nil, err
	}
	made := result.GetChangeAuth()
	return &tenurev1.BootstrapAuthResponse{
		Header: a.HeaderOf(result), Accessor: call.SessionText(made.GetToken().GetAccessor()), Mode: shownMode(made.GetMode()),
	}, nil
}

// firstToken returns a token that may do everything, for ever.
func firstToken(hash identity.Hash, name string) *storev1.TokenRecord {
	accessor := uuid.New()
	return &storev1.TokenRecord{
		Accessor: accessor[:], TokenSha256: hash[:], Name: name, Policies: []string{storage.AdminPolicy},
	}
}

// ResetAuth serves AuthService.
func (a *Service) ResetAuth(ctx context.Context, r *tenurev1.ResetAuthRequest) (*tenurev1.ResetAuthResponse, error) {
	hash, err := identity.ParseToken(r.GetToken())
	if err != nil {
		return nil, reason.Invalid("token", "must be the text of a token, as `tenure auth reset` draws it")
	}
	if err = a.checkSafe(); err != nil {
		return nil, err
	}
	if err = a.nonces.Check(ctx, r.GetNonce()); err != nil {
		return nil, err
	}
	result, err := a.change(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_MakeFirst{MakeFirst: firstToken(hash, resetName)}})
	if err != nil {
		return nil, err
	}
	made := result.GetChangeAuth()
	return &tenurev1.ResetAuthResponse{
		Header: a.HeaderOf(result), Accessor: call.SessionText(made.GetToken().GetAccessor()), Mode: shownMode(made.GetMode()),
	}, nil
}

// fromLoopback reports whether a call comes from this machine.
func fromLoopback(ctx context.Context) bool {
	host, _, err := net.SplitHostPort(gate.Address(ctx))
	if err != nil {
		return gate.Address(ctx) == "bufconn"
	}
	return net.ParseIP(host).IsLoopback()
}

// GetAuthStatus serves AuthService.
func (a *Service) GetAuthStatus(
	ctx context.Context, _ *tenurev1.GetAuthStatusRequest,
) (*tenurev1.GetAuthStatusResponse, error) {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	head, err := s.AuthHead()
	if err != nil {
		return nil, err
	}
	return &tenurev1.GetAuthStatusResponse{
		Header: a.Header(s.At), Mode: shownMode(s.At.AuthMode), Bootstrapped: head != nil, Tokens: head.GetTokens(),
		Policies: head.GetPolicies(), Bindings: head.GetBindings(), DenyRevision: s.At.DenyRevision, Providers: head.GetProviders(),
	}, nil
}

// SetAuthMode serves AuthService.
func (a *Service) SetAuthMode(ctx context.Context, r *tenurev1.SetAuthModeRequest) (*tenurev1.SetAuthModeResponse, error) {
	m, err := mode(r.GetMode())
	if err != nil {
		return nil, err
	}
	if m > storev1.AuthMode_AUTH_MODE_OFF {
		if err = a.checkSafe(); err != nil {
			return nil, err
		}
	}
	result, err := a.changeSafely(ctx, r, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: m}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.SetAuthModeResponse{Header: a.HeaderOf(result)}, nil
}

// WhoAmI serves AuthService.
func (a *Service) WhoAmI(ctx context.Context, _ *tenurev1.WhoAmIRequest) (*tenurev1.WhoAmIResponse, error) {
	who, at, err := a.whoNow(ctx)
	if err != nil {
		return nil, err
	}
	return &tenurev1.WhoAmIResponse{
		Header: a.Header(at), Principal: who.Principal, Credential: who.Credential.String(), Cause: who.Cause,
		Policies: who.Policies, ExpireTime: instant(who.ExpireTimeMs), Mode: shownMode(at.AuthMode), Parent: accessorText(who.Parent),
	}, nil
}

// callerOf returns the caller of a call, as it was when the call was decided about. Calls that passed no gate, as those of tests, have none.
func callerOf(ctx context.Context) *access.Who {
	if g := access.Of(ctx); g != nil {
		return g.Who()
	}
	return &access.Who{}
}

// whoNow returns the caller of a call as the cluster knows it, with the state that it is of. Others decide by that, such as the agents of machines, and nothing decides
// again about what they do then: a member that is cut off must not answer with what it has.
func (a *Service) whoNow(ctx context.Context) (*access.Who, storage.Applied, error) {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, storage.Applied{}, err
	}
	defer a.CloseSnapshot(s)
	who, err := access.Of(ctx).WhoAt(s.Reader, s.At)
	return who, s.At, err
}

// CheckAccess serves AuthService.
func (a *Service) CheckAccess(ctx context.Context, r *tenurev1.CheckAccessRequest) (*tenurev1.CheckAccessResponse, error) {
	policy, err := authz.ParsePolicy(r.GetRule())
	if err != nil {
		return nil, reason.Invalid("rule", "%v", err)
	}
	if len(policy.Rules) != 1 {
		return nil, reason.Invalid("rule", "must be one rule")
	}
	who, at, err := a.whoNow(ctx)
	if err != nil {
		return nil, err
	}
	allowed := true
	for _, need := range policy.Rules[0].Needs() {
		allowed = allowed && who.Covers(need)
	}
	return &tenurev1.CheckAccessResponse{Header: a.Header(at), Allowed: allowed}, nil
}

// instant converts milliseconds since the Unix epoch; zero is none.
func instant(ms int64) *timestamppb.Timestamp {
	if ms == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(ms))
}

// checkName refuses what is no name of a policy, a token or a binding.
func checkName(field, name string) error {
	if !storage.IsAuthName(name) {
		return reason.Invalid(field, "must be 1 to 128 of the characters a-z, A-Z, 0-9, dot, underscore and hyphen")
	}
	return nil
}

// checkPolicies refuses what is no list of policies, and a node that is too long. Some say that there must be at least one.
func checkPolicies(policies []string, node string, some bool) error {
	if some && len(policies) == 0 || len(policies) > storage.PoliciesOfMax {
		return reason.Invalid("policies", "must be 1 to %d", storage.PoliciesOfMax)
	}
	for i, name := range policies {
		if err := checkName(fmt.Sprintf("policies[%d]", i), name); err != nil {
			return err
		}
	}
	return call.CheckText("node", node, call.NameBytesMax)
}
