package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A new cluster cannot keep tokens before its leader has raised the cluster version: the command that makes the first one waits for that.
func TestTheFirstTokenWaitsForTheClusterVersion(t *testing.T) {
	asked := []string{}
	endpoint := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(
		func(_ context.Context, request any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			bootstrap, ok := request.(*tenurev1.BootstrapAuthRequest)
			if !ok {
				return nil, fake.Refusal(codes.Unimplemented, "", "no")
			}
			asked = append(asked, bootstrap.GetToken())
			if len(asked) < 3 {
				return nil, fake.Refusal(codes.FailedPrecondition, "FEATURE_NOT_ENABLED", "no")
			}
			return &tenurev1.BootstrapAuthResponse{Accessor: "a1", Mode: tenurev1.AuthMode_AUTH_MODE_WARN}, nil
		}))
	env, out := fake.EnvironmentAt()
	args := []string{"auth", "bootstrap", "--out", filepath.Join(t.TempDir(), "admin.token"), "--endpoints", endpoint}
	if code := execute(t.Context(), env, args); code != cli.ExitOK || !strings.Contains(out.String(), "its accessor is a1") {
		t.Errorf("got exit code %d and %q", code, out)
	}
	if len(asked) != 3 || asked[0] == "" || asked[0] != asked[1] || asked[1] != asked[2] {
		t.Errorf("asked with %q, want one text three times", asked)
	}
}
