package agent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	hangs           bool // WhoAmI and ListMembers, until their caller hangs up

	mu    sync.Mutex // guards asked
	asked int
}

// Invoke answers a call.
func (a *answering) Invoke(ctx context.Context, _ string, request, response any, _ ...grpc.CallOption) error {
	a.mu.Lock()
	a.asked++
	a.mu.Unlock()
	if _, access := request.(*tenurev1.CheckAccessRequest); a.hangs && !access {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
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
	const off, warn, enforce = tenurev1.AuthMode_AUTH_MODE_OFF, tenurev1.AuthMode_AUTH_MODE_WARN, tenurev1.AuthMode_AUTH_MODE_ENFORCE
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
	type said struct { // what a member said when it was last asked, and how long ago that is
		mode tenurev1.AuthMode
		ago  time.Duration
	}
	never, lately := said{}, said{warn, warnMax - 1}
	for name, test := range map[string]struct {
		members *answering
		last    said
		want    codes.Code
	}{
		"one who has all rights":                   {&answering{mode: enforce, rules: all}, never, codes.OK},
		"one who lacks one":                        {&answering{mode: enforce, rules: map[string]bool{`node "web1" write`: true, "service * read": true}}, never, codes.PermissionDenied},
		"one who lacks that of others":             {&answering{mode: enforce, rules: map[string]bool{`node "web1" write`: true, `service "web" write`: true, "service * read": true}}, never, codes.PermissionDenied},
		"one who has none":                         {&answering{whoAmI: codes.PermissionDenied, members: codes.PermissionDenied}, never, codes.PermissionDenied},
		"a token that is none":                     {&answering{whoAmI: codes.Unauthenticated, members: codes.Unauthenticated}, lately, codes.Unauthenticated},
		"one who lacks it in mode warn":            {&answering{mode: warn}, never, codes.OK},
		"a token that is none, in mode off":        {&answering{whoAmI: codes.Unauthenticated}, never, codes.OK},
		"no member answers":                        {&answering{whoAmI: codes.Unavailable}, never, codes.Unavailable},
		"no member answers any more":               {&answering{whoAmI: codes.Unavailable}, lately, codes.OK},
		"none answers in time any more":            {&answering{whoAmI: codes.DeadlineExceeded}, lately, codes.OK},
		"one who has all rights, once more":        {&answering{mode: enforce, rules: all}, said{enforce, 0}, codes.OK},
		"one who lacks one, once more":             {&answering{mode: enforce, rules: map[string]bool{`node "web1" write`: true}}, said{enforce, 0}, codes.PermissionDenied},
		"one who has none, once more":              {&answering{whoAmI: codes.PermissionDenied, members: codes.PermissionDenied}, said{enforce, 0}, codes.PermissionDenied},
		"one who lacks one, in mode warn by now":   {&answering{mode: warn}, said{enforce, 0}, codes.OK},
		"a token that is none, in mode off by now": {&answering{whoAmI: codes.Unauthenticated}, said{enforce, 0}, codes.OK},
		"none any more, for too long":              {&answering{whoAmI: codes.Unavailable}, said{warn, warnMax}, codes.Unavailable},
		"none any more, in mode off":               {&answering{whoAmI: codes.Unavailable}, said{off, time.Hour}, codes.OK},
		"none any more, in mode enforce":           {&answering{whoAmI: codes.Unavailable}, said{enforce, 0}, codes.Unavailable},
		"no leader, and a token that was":          {&answering{whoAmI: codes.Unauthenticated, members: codes.Unavailable}, lately, codes.OK},
		"a member that fails":                      {&answering{whoAmI: codes.Internal}, lately, codes.Internal},
		"a member that has too much to do":         {&answering{whoAmI: codes.Unauthenticated, members: codes.ResourceExhausted}, lately, codes.ResourceExhausted},
		"no leader, and a token that is not":       {&answering{whoAmI: codes.Unauthenticated, members: codes.Unavailable}, never, codes.Unavailable},
	} {
		d := newDecider(test.members)
		now := time.Now()
		d.clock = func() time.Time { return now }
		d.mode, d.said = test.last.mode, now.Add(-test.last.ago)
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

// TestAReportIsAllowedWithoutALeaderIfItWas has programs report to an agent whose members have lost their leader.
func TestAReportIsAllowedWithoutALeaderIfItWas(t *testing.T) {
	members := &answering{mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE, rules: map[string]bool{`service "web" write`: true, `service "db" write`: true}}
	d := newDecider(members)
	service := "web"
	of := authz.Local{
		Needs:   []authz.Need{{Kind: authz.Service, Verb: authz.Write, By: authz.ByCheck, ID: "up", Node: "web1"}},
		Service: func(authz.Need) string { return service },
		Stale:   true,
	}
	report := func(token string, of authz.Local) codes.Code {
		return status.Code(d.decide(metadata.AppendToOutgoingContext(t.Context(), "authorization", token), of, func() error { return nil }))
	}
	change := of
	change.Stale = false
	want := func(what string, got, want codes.Code) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	want("a report", report("a", of), codes.OK)
	members.whoAmI = codes.Unavailable
	want("a report without a leader", report("a", of), codes.OK)
	want("that of another token", report("b", of), codes.Unavailable)
	want("a change without a leader", report("a", change), codes.Unavailable)
	service = "db"
	want("a report about what became another service's", report("a", of), codes.Unavailable)
	service = "web"
	members.whoAmI, members.members = codes.Unauthenticated, codes.Unauthenticated
	want("a report after the token was revoked", report("a", of), codes.Unauthenticated)
	members.whoAmI = codes.Unavailable
	want("that without a leader", report("a", of), codes.Unavailable)
}

// reporter is a program that reports about the service web, to an agent where rules are enforced.
func reporter(ctx context.Context, d *decider, token string) codes.Code {
	of := authz.Local{
		Needs:   []authz.Need{{Kind: authz.Service, Verb: authz.Write, By: authz.ByCheck, ID: "up", Node: "web1"}},
		Service: func(authz.Need) string { return "web" },
		Stale:   true,
	}
	return status.Code(d.decide(metadata.AppendToOutgoingContext(ctx, "authorization", token), of, func() error { return nil }))
}

// enforcing returns members that let clients write the service web.
func enforcing() *answering {
	return &answering{mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE, rules: map[string]bool{`service "web" write`: true}}
}

// TestARefusedReportIsNotAllowedByWhatWasBefore takes a right away, and then no member says in time which mode it is.
func TestARefusedReportIsNotAllowedByWhatWasBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := enforcing()
		d := newDecider(members)
		if got := reporter(t.Context(), d, "a"); got != codes.OK {
			t.Fatalf("a report is refused: %v", got)
		}
		members.rules, members.hangs = nil, true
		if got := reporter(t.Context(), d, "a"); got != codes.PermissionDenied {
			t.Errorf("a report after the right was taken away: got %v, want PermissionDenied", got)
		}
		members.whoAmI = codes.Unavailable
		if got := reporter(t.Context(), d, "a"); got == codes.OK {
			t.Error("a report without a leader is allowed, after it was refused")
		}
	})
}

// TestWhatDecidesNothingIsNotRemembered has a caller hang up and a member fail, and then the members lose their leader.
func TestWhatDecidesNothingIsNotRemembered(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context, members *answering) context.Context{
		"a caller that hung up": func(ctx context.Context, _ *answering) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		},
		"a member that fails": func(ctx context.Context, members *answering) context.Context {
			members.whoAmI = codes.Internal
			return ctx
		},
	} {
		members := enforcing()
		d := newDecider(members)
		if got := reporter(t.Context(), d, "a"); got != codes.OK {
			t.Fatalf("%s: a report before it is refused: %v", name, got)
		}
		if got := reporter(fail(t.Context(), members), d, "a"); got == codes.OK {
			t.Errorf("%s: the report is allowed", name)
		}
		members.whoAmI = codes.Unavailable
		if got := reporter(t.Context(), d, "a"); got != codes.OK {
			t.Errorf("%s: then a report without a leader gets %v, want that it is allowed as before", name, got)
		}
	}
}

// TestOneDecisionIsForgottenForANewOne has programs report to an agent that remembers as many decisions as it may.
func TestOneDecisionIsForgottenForANewOne(t *testing.T) {
	d := newDecider(enforcing())
	for i := range uint32(reportsMax - 1) {
		d.reports[sha256.Sum256(binary.BigEndian.AppendUint32(nil, i))] = struct{}{}
	}
	for _, token := range []string{"a", "a", "b"} { // The second is known, and the third is one too many.
		if got := reporter(t.Context(), d, token); got != codes.OK {
			t.Fatalf("a report is refused: %v", got)
		}
		if len(d.reports) != reportsMax {
			t.Errorf("after a report of %s the agent remembers %d decisions, want %d", token, len(d.reports), reportsMax)
		}
	}
}
