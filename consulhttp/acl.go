package consulhttp

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/instead"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// principalStart is how the principal of a caller with a token begins.
const principalStart = "token:"

// aclEndpoints serve what clients may learn of access control: who they are.
type aclEndpoints struct{ *core }

// routes returns the paths of access control.
func (e *aclEndpoints) routes() []route {
	every := map[string]serveFunc{}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
		every[method] = e.others
	}
	return []route{{path: "acl/token/self", methods: get(e.self)}, {path: "acl/", methods: every}}
}

// who returns the caller, or refuses because credentials are not looked at. A caller without any right is not told the mode, and so that it is not
// looked at, unless rules are enforced.
func (e *aclEndpoints) who(ctx context.Context) (*tenurev1.WhoAmIResponse, error) {
	who, err := e.auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	if err == nil {
		e.mode.Saw(who.GetMode())
	}
	off := err == nil && who.GetMode() == tenurev1.AuthMode_AUTH_MODE_OFF
	if off || status.Code(err) == codes.PermissionDenied && e.servesAnybody(ctx) {
		err = reply.Refusal(http.StatusUnauthorized, instead.TextACL)
	}
	return who, err
}

// servesAnybody reports whether the members serve a caller without any right what takes one: they do, unless rules are enforced. What was last
// seen of the mode is not asked, as it may be of others, and older.
func (e *aclEndpoints) servesAnybody(ctx context.Context) bool {
	_, err := e.cluster.ListMembers(ctx, &tenurev1.ListMembersRequest{})
	return err == nil
}

// others says what Tenure has in place of the rest.
func (e *aclEndpoints) others(ctx context.Context, _ *request) (*reply.Answer, error) {
	e.metrics.notOffered.WithLabelValues("acl").Inc()
	_, err := e.who(ctx)
	if code := status.Code(err); code == codes.OK || code == codes.PermissionDenied || code == codes.Unauthenticated {
		// It is the same for those who have no rights.
		err = reply.Refusal(http.StatusNotImplemented, instead.SentenceACL)
	}
	return nil, err
}

// self serves GET /v1/acl/token/self.
func (e *aclEndpoints) self(ctx context.Context, _ *request) (*reply.Answer, error) {
	who, err := e.who(ctx)
	switch {
	case err != nil:
		return nil, err
	case who.GetCause() != "":
		return nil, reply.Refusal(http.StatusForbidden, reply.TextNotFound)
	case !strings.HasPrefix(who.GetPrincipal(), principalStart):
		return &reply.Answer{JSON: wire.Nobody(who)}, nil
	}
	own, err := e.auth.GetToken(ctx, &tenurev1.GetTokenRequest{})
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: wire.TokenOf(own.GetToken())}, nil
}
