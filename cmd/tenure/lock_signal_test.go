package main

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Whoever gives up while the session is being opened is not made to wait.
func TestASignalEndsTheOpeningOfALocksSession(t *testing.T) {
	signals := make(chan os.Signal, 1)
	var asked atomic.Int32
	member := &fakeMember{create: func(ctx context.Context, _ *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
		if asked.Add(1) > 1 { // Then it is asked whether there is anything to undo.
			return nil, refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
		}
		signals <- syscall.SIGTERM
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	env, out := environmentAt(member.serve(t))
	_, err := openInTime(t.Context(), env, &lockFlags{ttl: ttlDefault}, "job", []string{"true"}, signals)
	if got := exitCode(env, err); got != signalExitCode(syscall.SIGTERM) || out.Len() > 0 {
		t.Errorf("got %v, exit code %d, and %q; want %d and nothing said", err, got, out, signalExitCode(syscall.SIGTERM))
	}
}
