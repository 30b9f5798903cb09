package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	ofAdmin = "00000000-0000-4000-8000-000000000001"
	ofToken = "00000000-0000-4000-8000-000000000002"
	ofChild = "00000000-0000-4000-8000-000000000003"
	ofLate  = "00000000-0000-4000-8000-000000000004"
)

// cluster is a member with a token, a child of it, and sessions that were opened with them.
type cluster struct {
	mu sync.Mutex // Guards what follows.
	// answers are those to RevokeToken, one after the other; nil: the answer is lost.
	answers []*tenurev1.RevokeTokenResponse
	// gone are sessions that ended after they were listed; failing is one whose end fails with an error.
	gone    []string
	failing string
	// me is the caller's token; empty: that of the administrator. With strange, the cluster does not say which it is.
	me      string
	strange bool
	// denied says that the caller may not revoke other tokens; refusal is what RevokeToken fails with when there are no answers left.
	denied  bool
	refusal error
	// lostPage is a page whose listing fails.
	lostPage string
	many     int // sessions more, on the last page
	calls    []string
	asked    []string // principals
	ended    []string
}

// answer answers a call.
func (c *cluster) answer(_ context.Context, request any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.TrimPrefix(fmt.Sprintf("%T", request), "*tenurev1.")
	if len(c.calls) == 0 || c.calls[len(c.calls)-1] != name {
		c.calls = append(c.calls, name)
	}
	switch r := request.(type) {
	case *tenurev1.WhoAmIRequest:
		if c.strange {
			return nil, status.Error(codes.Internal, "no leader was asked")
		}
		return &tenurev1.WhoAmIResponse{Principal: "token:" + cmp.Or(c.me, ofAdmin), Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}, nil
	case *tenurev1.ListTokensRequest:
		return &tenurev1.ListTokensResponse{Tokens: []*tenurev1.Token{
			{Accessor: ofAdmin, Policies: []string{adminPolicy}}, {Accessor: ofToken}, {Accessor: ofChild, Parent: ofToken},
		}}, nil
	case *tenurev1.RotateTokenRequest:
		return &tenurev1.RotateTokenResponse{Text: "new", Token: &tenurev1.Token{Accessor: ofToken}}, nil
	case *tenurev1.CheckAccessRequest:
		return &tenurev1.CheckAccessResponse{Allowed: r.GetRule() == "admin write" && !c.denied}, nil
	case *tenurev1.RevokeTokenRequest:
		if len(c.answers) == 0 {
			return nil, c.refusal
		}
		next := c.answers[0]
		c.answers = c.answers[1:]
		if next == nil {
			return nil, status.Error(codes.Unavailable, "the member stops")
		}
		return next, nil
	case *tenurev1.ListSessionsRequest:
		c.asked = r.GetPrincipals()
		if c.lostPage != "" && r.GetPageToken() == c.lostPage {
			return nil, status.Error(codes.Internal, "the page is unreadable")
		}
		next, known := map[string]string{"": "b", "b": "c", "c": ""}[r.GetPageToken()]
		if !known {
			return nil, fmt.Errorf("unexpected page %s", r.GetPageToken())
		}
		page := &tenurev1.ListSessionsResponse{NextPageToken: next}
		if r.GetPageToken() != "b" { // A page may be empty, and another one follow.
			page.Sessions = []*tenurev1.Session{
				{SessionId: "1" + r.GetPageToken(), Name: "web"}, {SessionId: "2" + r.GetPageToken(), Name: "web", Ttl: durationpb.New(1e9)},
			}
		}
		for i := range c.many {
			if next == "" {
				page.Sessions = append(page.Sessions, &tenurev1.Session{SessionId: fmt.Sprintf("m%03d", i)})
			}
		}
		return page, nil
	case *tenurev1.DestroySessionRequest:
		switch {
		case !r.GetForce() || r.GetReason() == "" || r.GetClean():
			return nil, fmt.Errorf("unexpected %v", r)
		case slices.Contains(c.gone, r.GetSessionId()):
			return nil, fake.Refusal(codes.NotFound, "SESSION_NOT_FOUND", "no")
		case c.failing == r.GetSessionId():
			return nil, status.Error(codes.ResourceExhausted, "the disk is full")
		}
		c.ended = append(c.ended, r.GetSessionId())
		return &tenurev1.DestroySessionResponse{Destroyed: true}, nil
	default:
		return nil, fmt.Errorf("unexpected %s", name)
	}
}

// TestSessionsOfARevokedTokenAreFoundOnAllPages revokes a token in a cluster where answers are lost, children are made at the last moment, and
// sessions end meanwhile.
func TestSessionsOfARevokedTokenAreFoundOnAllPages(t *testing.T) {
	revoked := &tenurev1.RevokeTokenResponse{Revoked: true, Accessors: []string{ofToken, ofChild}}
	for sentence, c := range map[string]struct {
		cluster *cluster
		args    []string
		of      []string
		ended   string // ids
		out     []string
		err     string
	}{
		"they are listed": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{revoked}}, nil,
			[]string{ofToken, ofChild},
			"",
			[]string{"token: 2\n", "ended: 2\n", "1 ", "2 ", "1c ", "2c "},
			"",
		},
		"they are ended": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{revoked}},
			[]string{"--end-sessions"},
			[]string{ofToken, ofChild},
			"1 1c 2 2c",
			[]string{"were ended: 4\n"},
			"",
		},
		"one ends meanwhile": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{revoked}, gone: []string{"1c"}},
			[]string{"--end-sessions"},
			[]string{ofToken, ofChild},
			"1 2 2c",
			[]string{"were ended: 4\n"},
			"",
		},
		"the end of one fails": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{revoked}, failing: "2c"},
			[]string{"--end-sessions"},
			[]string{ofToken, ofChild},
			"1 1c 2",
			[]string{"Success! The token is revoked.\n", "were ended: 3\n", "over, as they can no longer be renewed with the token: 1\n"},
			"the token is revoked, but 1 of the 4 sessions that were opened with it could not be ended: the disk is full",
		},
		"the answer is lost": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{nil, {}}},
			[]string{"--end-sessions"},
			[]string{ofToken, ofChild},
			"1 1c 2 2c",
			[]string{"Success! The token is revoked.\n", "were ended: 4\n"},
			"",
		},
		"a child is made at the last moment": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{{Revoked: true, Accessors: []string{ofToken, ofChild, ofLate}}}}, nil,
			[]string{ofToken, ofChild, ofLate},
			"", nil, "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			env, out := fake.EnvironmentAt((&fake.Member{}).Serve(t, grpc.UnaryInterceptor(c.cluster.answer)))
			cmd := newAuthTokenRevokeCommand(env)
			cmd.SetArgs(append([]string{strings.ToUpper(ofToken)}, c.args...))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Fatalf("got %v, want %q", err, c.err)
			}
			var want []string
			for _, accessor := range c.of {
				want = append(want, "token:"+accessor)
			}
			if !slices.Equal(c.cluster.asked, want) {
				t.Errorf("got sessions of %v, want those of %v", c.cluster.asked, want)
			}
			slices.Sort(c.cluster.ended)
			if got := strings.Join(c.cluster.ended, " "); got != c.ended {
				t.Errorf("got %s ended, want %s", got, c.ended)
			}
			for _, text := range c.out {
				if !strings.Contains(out.String(), text) {
					t.Errorf("got\n%s\nwant %q in it", out.String(), text)
				}
			}
			if at := slices.Index(c.cluster.calls, "RevokeTokenRequest"); at < 0 || slices.Index(c.cluster.calls, "ListSessionsRequest") < at {
				t.Errorf("got the calls %v, want the sessions listed after the revocation", c.cluster.calls)
			}
		})
	}
}

// TestRevocationsThatFailSayWhatTheyDid revokes tokens where something fails on the way.
func TestRevocationsThatFailSayWhatTheyDid(t *testing.T) {
	revoked := []*tenurev1.RevokeTokenResponse{{Revoked: true, Accessors: []string{ofToken, ofChild}}}
	refused := fake.Refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
	ended := fake.Refusal(codes.Unauthenticated, "UNAUTHENTICATED", "no")
	most := "1c 2 2c"
	for i := range 300 {
		most += fmt.Sprintf(" m%03d", i)
	}
	for sentence, c := range map[string]struct {
		cluster *cluster
		args    []string
		ended   string // ids
		out     []string
		not     string // is not in the output
		err     string // empty: none
	}{
		"of a parent without the right": {
			&cluster{me: ofChild, denied: true, refusal: refused},
			[]string{ofToken, "--end-sessions"},
			"", nil, "ended", `to revoke the parent of your token takes the right "admin write"; nothing was changed`,
		},
		"of a parent with the right": {
			&cluster{me: ofChild, answers: revoked},
			[]string{ofToken, "--end-sessions"},
			"1 1c 2 2c",
			[]string{"Success! The token is revoked.\n", "were ended: 4\n"},
			"", "",
		},
		"of itself, and is refused": {
			&cluster{me: ofToken, denied: true, refusal: refused},
			[]string{"--self", "--end-sessions"},
			"1 1c 2 2c",
			[]string{"were ended: 4\n", "The token is not revoked.\n"},
			"Success", "refused",
		},
		"of itself, and nobody knows": {
			&cluster{me: ofToken, refusal: status.Error(codes.Internal, "no")},
			[]string{"--self", "--end-sessions"},
			"1 1c 2 2c",
			[]string{"were ended: 4\n", "It is not known whether the token is revoked.\n"},
			"Success", "no",
		},
		"of itself, in JSON": {
			&cluster{me: ofToken, refusal: refused},
			[]string{"--self", "--end-sessions"},
			"1 1c 2 2c",
			[]string{`"endedSessions": [`, `"1c"`},
			"revoked\"", "refused",
		},
		"of itself, and the answer is lost": {
			&cluster{me: ofToken, answers: []*tenurev1.RevokeTokenResponse{nil}, refusal: ended},
			[]string{"--self"},
			"",
			[]string{"Success! The token is revoked.\n"},
			"", "",
		},
		"of itself, when it has ended": {
			&cluster{me: ofToken, refusal: ended}, []string{"--self"}, "", nil, "Success", "refused",
		},
		"whose caller nobody knows, of itself": {&cluster{strange: true, answers: revoked}, []string{"--self"}, "", nil, "Success", "no leader was asked"},
		"whose caller nobody knows, with its sessions": {
			&cluster{strange: true, answers: revoked}, []string{ofToken, "--end-sessions"}, "", nil, "Success", "no leader was asked",
		},
		"whose caller nobody knows": {
			&cluster{strange: true, answers: revoked}, []string{ofToken}, "", []string{"Sessions with a TTL: 2\n"}, "the mode is", "",
		},
		"with a page that is lost": {
			&cluster{lostPage: "b", answers: revoked}, []string{ofToken}, "", []string{"The sessions that were opened with it are not shown: the page"}, "TTL", "",
		},
		"with a page that is lost, and its sessions": {
			&cluster{lostPage: "b", answers: revoked},
			[]string{ofToken, "--end-sessions"},
			"",
			[]string{"Success! The token is revoked.\n"},
			"TTL",
			"the token is revoked, but the sessions that were opened with it could not be listed, and were not ended: the page is unreadable",
		},
		"where the end of the first of many sessions fails": {
			&cluster{failing: "1", many: 300, answers: revoked},
			[]string{ofToken, "--end-sessions"},
			most,
			[]string{"were ended: 303\n"},
			"",
			"the token is revoked, but 1 of the 304 sessions",
		},
		"at an older member": {
			&cluster{answers: []*tenurev1.RevokeTokenResponse{{Revoked: true}}},
			[]string{ofToken, "--end-sessions"},
			"",
			[]string{"Success! The token is revoked.\n"},
			"TTL",
			"the token is revoked, but the sessions that were opened with it could not be listed, and were not ended: this member is older",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			env, out := fake.EnvironmentAt((&fake.Member{}).Serve(t, grpc.UnaryInterceptor(c.cluster.answer)))
			if strings.HasSuffix(sentence, "in JSON") {
				env.Output = cli.OutputJSON
			}
			revokeWith(t, env, c.args, c.err)
			slices.Sort(c.cluster.ended)
			if got := strings.Join(c.cluster.ended, " "); got != c.ended {
				t.Errorf("got %q ended, want %q", got, c.ended)
			}
			for _, text := range c.out {
				if !strings.Contains(out.String(), text) {
					t.Errorf("got\n%s\nwant %q in it", out.String(), text)
				}
			}
			if c.not != "" && strings.Contains(out.String(), c.not) {
				t.Errorf("got\n%s\nwant no %q in it", out.String(), c.not)
			}
		})
	}
}

// TestATokenThatNeverWasIsNotRevokedByASecondAttempt loses no answer: the first attempt says that it changed nothing.
func TestATokenThatNeverWasIsNotRevokedByASecondAttempt(t *testing.T) {
	c := &cluster{answers: []*tenurev1.RevokeTokenResponse{{}}}
	first := true
	env, _ := fake.EnvironmentAt((&fake.Member{}).Serve(t, grpc.UnaryInterceptor(
		func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if _, ok := request.(*tenurev1.RevokeTokenRequest); ok && first {
				first = false
				return nil, fake.Refusal(codes.Unavailable, "NO_LEADER", "no")
			}
			return c.answer(ctx, request, info, next)
		})))
	revokeWith(t, env, []string{ofToken}, "there is no token "+ofToken)
}

// TestRotateNamesTheChildrenThatEnd rotates a token with a child, whose accessor is written in capitals.
func TestRotateNamesTheChildrenThatEnd(t *testing.T) {
	env, out := fake.EnvironmentAt((&fake.Member{}).Serve(t, grpc.UnaryInterceptor((&cluster{}).answer)))
	cmd := newAuthTokenRotateCommand(env)
	cmd.SetArgs([]string{strings.ToUpper(ofToken)})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "The tokens that descend from it end: " + ofChild + "\n"; !strings.HasPrefix(out.String(), want) || !strings.HasSuffix(out.String(), "\nnew\n") {
		t.Errorf("got\n%s\nwant %q first, and the text last", out.String(), want)
	}
}

// revokeWith runs the command, and checks how the error begins; empty: none.
func revokeWith(t *testing.T, env *cli.Environment, args []string, want string) {
	t.Helper()
	cmd := newAuthTokenRevokeCommand(env)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	switch err := cmd.ExecuteContext(t.Context()); {
	case want == "" && err == nil:
	case want == "" || err == nil || !strings.HasPrefix(cli.ErrorText(err), want):
		t.Fatalf("got %v, want %q", err, want)
	}
}
