package session

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
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A member that takes the request and says nothing holds up nobody who ends the program.
func TestASignalEndsTheOpeningOfACommandsSession(t *testing.T) {
	var asked atomic.Int32
	member := &fake.Member{OnCreate: func(ctx context.Context, _ *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
		if asked.Add(1) > 1 { // Then it is asked whether there is anything to undo.
			return nil, fake.Refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil { // The program takes signals before it opens the session.
			t.Error(err)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	env, out := fake.EnvironmentAt(member.Serve(t))
	err := runUnderSession(t.Context(), env, &tenurev1.CreateSessionRequest{}, []string{"true"})
	if got := cli.ExitCode(env, err); got != process.SignalExitCode(syscall.SIGTERM) || out.Len() > 0 {
		t.Errorf("got %v, exit code %d, and %q; want %d and nothing said", err, got, out, process.SignalExitCode(syscall.SIGTERM))
	}
}
