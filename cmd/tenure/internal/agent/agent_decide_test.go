package agent

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// answering is a connection to members that answer as a test tells it.
type answering struct {
	grpc.ClientConnInterface
	whoAmI, members codes.Code
	mode            tenurev1.AuthMode
	rules           map[string]bool
	asked           int
}

// Invoke answers a call.
func (a *answering) Invoke(_ context.Context, _ string, request, response any, _ ...grpc.CallOption) error {
	a.asked++
	switch r := request.(type) {
	case *tenurev1.WhoAmIRequest:
		if answer, ok := response.(*tenurev1.WhoAmIResponse); ok {
			answer.Mode = a.mode
		}
		return status.Error(a.whoAmI, "")
	case *tenurev1.ListMembersRequest:
		return status.Error(a.members, "")
	case *tenurev1.CheckAccessRequest:
		if answer, ok := response.(*tenurev1.CheckAccessResponse); ok {
			answer.Allowed = a.rules[r.GetRule()]
		}
		return status.Error(a.whoAmI, "")
	default:
		return status.Error(codes.Unimplemented, "")
	}
}

// TestAMemberDecidesForWhoeverShowsAToken asks members that enforce rules, that do not, and that do not answer.
func TestAMemberDecidesForWhoeverShowsAToken(t *testing.T) {
	const enforce, warn = tenurev1.AuthMode_AUTH_MODE_ENFORCE, tenurev1.AuthMode_AUTH_MODE_WARN
	of := authz.Local{
		Needs: []authz.Need{
			{Kind: authz.Node, Verb: authz.Write, Match: authz.Exact, Text: "web1"},
			{Kind: authz.Service, Verb: authz.Write, By: authz.ByService, ID: "a", Node: "web1"},
			{Kind: authz.Service, Verb: authz.Write, By: authz.ByService, ID: "none", Node: "web1"},
			{Kind: authz.Service, Verb: authz.Write, By: authz.ByCheck, ID: "of others", Node: "web1"},
			{Kind: authz.Service, Verb: authz.Read, Match: authz.Prefix},
		},
		Service: func(n authz.Need) string { return map[string]string{"a": "web"}[n.ID] },
		Catalog: func(_ context.Context, n authz.Need) (string, error) {
			return map[string]string{"a": "not asked", "of others": "db"}[n.ID], nil
		},
	}
	all := map[string]bool{`node "web1" write`: true, `service "web" write`: true, `service "db" write`: true, "service * read": true}
	for name, test := range map[string]struct {
		members answering
		last    bool // a member enforced nothing when it was last asked
		want    codes.Code
	}{
		"one who has all rights":             {answering{mode: enforce, rules: all}, false, codes.OK},
		"one who lacks one":                  {answering{mode: enforce, rules: map[string]bool{`node "web1" write`: true, "service * read": true}}, false, codes.PermissionDenied},
		"one who lacks that of others":       {answering{mode: enforce, rules: map[string]bool{`node "web1" write`: true, `service "web" write`: true, "service * read": true}}, false, codes.PermissionDenied},
		"one who has none":                   {answering{whoAmI: codes.PermissionDenied, members: codes.PermissionDenied}, false, codes.PermissionDenied},
		"a token that is none":               {answering{whoAmI: codes.Unauthenticated, members: codes.Unauthenticated}, true, codes.Unauthenticated},
		"one who lacks it in mode warn":      {answering{mode: warn}, false, codes.OK},
		"a token that is none, in mode off":  {answering{whoAmI: codes.Unauthenticated}, false, codes.OK},
		"no member answers":                  {answering{whoAmI: codes.Unavailable}, false, codes.Unavailable},
		"no member answers any more":         {answering{whoAmI: codes.Unavailable}, true, codes.OK},
		"none answers in time any more":      {answering{whoAmI: codes.DeadlineExceeded}, true, codes.OK},
		"a member that fails":                {answering{whoAmI: codes.Internal}, true, codes.Internal},
		"a member that has too much to do":   {answering{whoAmI: codes.Unauthenticated, members: codes.ResourceExhausted}, true, codes.ResourceExhausted},
		"no leader, and a token that is not": {answering{whoAmI: codes.Unauthenticated, members: codes.Unavailable}, false, codes.Unavailable},
	} {
		d := newDecider(&test.members)
		d.lax.Store(test.last)
		served := false
		serve := func() error {
			served = true
			return nil
		}
		err := d.decide(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer x"), of, serve)
		if status.Code(err) != test.want || served != (test.want == codes.OK) {
			t.Errorf("%s: got %v and the call was made: %v; want %v", name, err, served, test.want)
		}
		test.members.asked, served = 0, false
		if err = d.decide(t.Context(), of, serve); err != nil || !served || test.members.asked != 0 {
			t.Errorf("%s, without a token: got %v, made %v, and %d questions; want that it acts as the agent", name, err, served, test.members.asked)
		}
	}
}
