package agent

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// modeWait is for how long an agent asks for the mode if the last one that it heard of enforces nothing.
const modeWait = time.Second

// decider has a member decide about what clients of Consul ask of the agent: with the token that they show. Those without one act as the agent,
// about whose own entries members decide when it writes them.
type decider struct {
	auth    tenurev1.AuthServiceClient
	cluster tenurev1.ClusterServiceClient
	// lax says that no rule was enforced when a member was last asked.
	lax atomic.Bool
}

// newDecider returns a decider that asks over a connection.
func newDecider(conn grpc.ClientConnInterface) *decider {
	return &decider{auth: tenurev1.NewAuthServiceClient(conn), cluster: tenurev1.NewClusterServiceClient(conn)}
}

// decide makes a call if its client may make it.
func (d *decider) decide(ctx context.Context, of authz.Local, serve func() error) error {
	if shown, _ := metadata.FromOutgoingContext(ctx); len(shown[identity.Metadata]) == 0 {
		return serve()
	}
	enforced, err := d.enforces(ctx)
	if err != nil {
		return err
	}
	if enforced {
		if err = d.refusal(ctx, of); err != nil {
			return err
		}
	}
	return serve()
}

// enforces reports whether rules are enforced. While no member can be asked, what the last one said holds that enforced none; without, and where
// they were enforced, nobody can decide.
func (d *decider) enforces(ctx context.Context) (bool, error) {
	asking := ctx
	if d.lax.Load() {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, modeWait)
		defer cancel()
	}
	enforced, err := d.asked(asking)
	switch {
	case err == nil:
		d.lax.Store(!enforced)
		return enforced, nil
	case d.lax.Load() && ctx.Err() == nil && silent(err):
		return false, nil
	default:
		return false, err
	}
}

// asked asks a member whether rules are enforced.
func (d *decider) asked(ctx context.Context) (bool, error) {
	who, err := d.auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	if err == nil {
		return who.GetMode() == tenurev1.AuthMode_AUTH_MODE_ENFORCE, nil
	}
	if !denies(err) {
		return false, err
	}
	// The mode is not said to a client without any right, or with a token that is none. It is served what takes a right unless rules are enforced.
	if _, err = d.cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{}); err != nil && !denies(err) {
		return false, err
	}
	return err != nil, nil
}

// refusal returns why a client may not make a call; nil: it may.
func (d *decider) refusal(ctx context.Context, of authz.Local) error {
	asked := map[string]bool{}
	for _, need := range of.Needs {
		rule, err := ruleOf(ctx, of, need)
		if err != nil {
			return err
		}
		if rule == "" || asked[rule] {
			continue
		}
		asked[rule] = true
		may, err := d.auth.CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: rule})
		switch {
		case err != nil:
			return err
		case !may.GetAllowed():
			// The client is told the need as it is: with nothing that it did not say itself.
			said, _ := reason.Status(reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
				"the token does not have the right %s", need).With("needs", need.String()), "")
			return said.Err()
		}
	}
	return nil
}

// ruleOf returns the rule that meets a need; empty: there is no such need, as nobody has what it is about.
func ruleOf(ctx context.Context, of authz.Local, need authz.Need) (string, error) {
	if need.By != 0 {
		name := of.Service(need)
		if name == "" && of.Catalog != nil {
			var err error
			if name, err = of.Catalog(ctx, need); err != nil {
				return "", err
			}
		}
		if name == "" {
			return "", nil
		}
		need = need.OfService(name)
	}
	if need.Match == authz.Prefix && need.Text == "" {
		need.Match = authz.All
	}
	return authz.Rule{Kind: need.Kind, Match: need.Match, Text: need.Text, Verbs: need.Verb}.String(), nil
}

// silent reports whether an error says that no member answered.
func silent(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// denies reports whether an error says that its caller lacks a right, or shows a credential that is none.
func denies(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}
