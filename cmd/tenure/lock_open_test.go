package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// heard is a stream that tells when something was written to it.
type heard struct {
	text string
	said chan struct{} // closed once text was written

	mu  sync.Mutex // Guards all.
	all bytes.Buffer
}

// Write keeps what is written.
func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := strings.Contains(h.all.String(), h.text)
	n, err := h.all.Write(p)
	if !before && strings.Contains(h.all.String(), h.text) {
		close(h.said)
	}
	return n, err
}

// A busy cluster may take longer to open the session than one call may last: that is a part of the wait for the lock. The member answers only
// when the program has said that it goes on.
func TestALockWaitsForItsSessionAsForItself(t *testing.T) {
	for name, wait := range map[string][]string{"without end": nil, "for a while": {"--wait", "1h"}} {
		t.Run(name, func(t *testing.T) {
			out := &heard{text: "still trying", said: make(chan struct{})}
			late := &fake.Member{OnCreate: func(ctx context.Context, _ *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
				select {
				case <-out.said:
					return nil, fake.Refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			env, _ := fake.EnvironmentAt()
			env.Stdout, env.Stderr = out, out
			args := append([]string{"lock", "job", "--timeout", "50ms", "--endpoints", late.Serve(t)}, wait...)
			if code := execute(t.Context(), env, append(args, "--", "true")); code != cli.ExitRefused {
				t.Errorf("got exit code %d and %q, want %d: what the member answered at last", code, out.all.String(), cli.ExitRefused)
			}
		})
	}
}

// A try does not wait, and so the session that it opens has the time of one call.
func TestATryDoesNotWaitForItsSession(t *testing.T) {
	never := &fake.Member{OnCreate: func(ctx context.Context, _ *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	env, out := fake.EnvironmentAt()
	code := execute(t.Context(), env, []string{"lock", "job", "--try", "--timeout", "300ms", "--endpoints", never.Serve(t), "--", "true"})
	if code != cli.ExitUnavailable {
		t.Errorf("got exit code %d and %q, want %d", code, out, cli.ExitUnavailable)
	}
}

// firstIsDeaf is a listener whose first connection nobody answers.
type firstIsDeaf struct {
	net.Listener

	mu    sync.Mutex // Guards first.
	first net.Conn
}

// Accept returns the second connection and those that follow.
func (l *firstIsDeaf) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || !l.keep(c) {
		return c, err
	}
	return l.Listener.Accept()
}

// keep keeps the first connection, and reports whether it was.
func (l *firstIsDeaf) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		return false
	}
	l.first = c
	return true
}

// Close closes the first connection as well.
func (l *firstIsDeaf) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first != nil {
		_ = l.first.Close() // Nobody listens to it.
	}
	return err
}

// One attempt to connect lasts seconds at most; a machine may be busy for longer.
func TestALockConnectsAgainWhenNobodyAnswered(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	member := &fake.Member{OnCreate: func(context.Context, *tenurev1.CreateSessionRequest) (*tenurev1.CreateSessionResponse, error) {
		return nil, fake.Refusal(codes.PermissionDenied, "PERMISSION_DENIED", "no")
	}}
	env, out := fake.EnvironmentAt(member.ServeOn(t, &firstIsDeaf{Listener: listener}))
	if code := execute(t.Context(), env, []string{"lock", "job", "--endpoints", env.Endpoints[0], "--", "true"}); code != cli.ExitRefused {
		t.Errorf("got exit code %d and %q, want %d: what the member answered", code, out, cli.ExitRefused)
	}
}

// Where nobody listens there is nobody to wait for.
func TestALockDoesNotWaitForAMemberThatIsNotThere(t *testing.T) {
	env, out := fake.EnvironmentAt()
	code := execute(t.Context(), env, []string{"lock", "job", "--endpoints", fake.ClosedEndpoint(t), "--", "true"})
	if code != cli.ExitUnavailable {
		t.Errorf("got exit code %d and %q, want %d", code, out, cli.ExitUnavailable)
	}
}
