package lock

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Whoever gives up while the session is being opened is not made to wait.
func TestASignalEndsTheOpeningOfALocksSession(t *testing.T) {
	signals := make(chan os.Signal, 1)
	var asked atomic.Int32
	member := &fake.Member{OnCreate: func(ctx context.Context, _ *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
		if asked.Add(1) > 1 { // Then it is asked whether there is anything to undo.
			return nil, fake.Refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
		}
		signals <- syscall.SIGTERM
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	env, out := fake.EnvironmentAt(member.Serve(t))
	_, err := openInTime(t.Context(), env, &lockFlags{ttl: session.TTLDefault}, "job", []string{"true"}, signals)
	if got := cli.ExitCode(env, err); got != process.SignalExitCode(syscall.SIGTERM) || out.Len() > 0 {
		t.Errorf("got %v, exit code %d, and %q; want %d and nothing said", err, got, out, process.SignalExitCode(syscall.SIGTERM))
	}
}
