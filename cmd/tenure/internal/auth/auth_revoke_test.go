package auth

import (
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
	calls   []string
	asked   []string // principals
	ended   []string
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
		return &tenurev1.WhoAmIResponse{Principal: "token:" + ofAdmin, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}, nil
	case *tenurev1.ListTokensRequest:
		return &tenurev1.ListTokensResponse{Tokens: []*tenurev1.Token{
			{Accessor: ofAdmin, Policies: []string{adminPolicy}}, {Accessor: ofToken}, {Accessor: ofChild, Parent: ofToken},
		}}, nil
	case *tenurev1.RevokeTokenRequest:
		next := c.answers[0]
		c.answers = c.answers[1:]
		if next == nil {
			return nil, status.Error(codes.Unavailable, "the member stops")
		}
		return next, nil
	case *tenurev1.ListSessionsRequest:
		c.asked = r.GetPrincipals()
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
			"", nil, "the token is revoked, but",
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
			if got := strings.Join(c.cluster.ended, " "); c.err == "" && got != c.ended {
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
