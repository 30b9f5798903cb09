package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A break of very many holds takes several calls. It says that the lock is broken only when nobody of them holds it any more.
func TestABreakSaysHowManyHoldsRemain(t *testing.T) {
	some := []*tenurev1.BreakLockResponse{
		{Holds: 3, Places: 1, Remaining: 3, BreakToken: "a"}, {Holds: 2, Remaining: 1, BreakToken: "b"}, {Holds: 1},
	}
	for name, test := range map[string]struct {
		answers []*tenurev1.BreakLockResponse
		flags   []string
		code    int
		says    string
	}{
		"in three calls":                {answers: some, code: cli.ExitOK, says: "Success! Lock broken: k (6 holds, 1 place in the queue)\n"},
		"in three calls, as a document": {answers: some, flags: []string{"-o", "json"}, code: cli.ExitOK, says: `"holds": 6`},
		"the third never comes":         {answers: some[:2], code: cli.ExitRefused, says: "5 holds and 1 place in the queue were taken away, and 1 remain"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var tokens []string
			member := func(_ context.Context, request any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				r, ok := request.(*tenurev1.BreakLockRequest)
				if !ok {
					return nil, status.Error(codes.Unimplemented, "not of this test")
				}
				tokens = append(tokens, r.GetBreakToken())
				if len(tokens) > len(test.answers) {
					cancel() // As --timeout does.
					<-ctx.Done()
					return nil, status.Error(codes.Unavailable, "late")
				}
				return test.answers[len(tokens)-1], nil
			}
			endpoint := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(member))
			env, out := fake.EnvironmentAt()
			code := execute(ctx, env, append([]string{"lock", "break", "k", "--reason", "r", "--endpoints", endpoint}, test.flags...))
			if code != test.code || !strings.Contains(out.String(), test.says) {
				t.Errorf("got exit code %d and %q, want %d and %q", code, out, test.code, test.says)
			}
			if code != cli.ExitOK && strings.Contains(out.String(), "Success") {
				t.Errorf("got %q, want no success", out)
			}
			if got := fmt.Sprint(tokens); got != "[ a b]" {
				t.Errorf("got tokens %s, want those of the answers", got)
			}
		})
	}
}
