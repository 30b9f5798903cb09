package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A break is told by what happened: there is no outcome of a watch that could be unknown.
func TestABreakOfAWatchIsToldByWhatHappened(t *testing.T) {
	watches := 0
	member := &fake.Member{OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		if watches++; watches == 1 {
			return nil
		}
		return s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{
			Events: []*tenurev1.Event{{Type: tenurev1.EventType_EVENT_TYPE_DELETED, Revision: 7, Key: "k"}},
		}}})
	}}
	env, out := fake.EnvironmentAt()
	code := execute(t.Context(), env, []string{"watch", "k", "--once", "--endpoints", member.Serve(t)})
	want := "The watch was interrupted (the member ended the stream); trying again.\n" +
		"The watch has resumed; nothing was missed.\n7\tdeleted\tk\t\n"
	if code != cli.ExitOK || out.String() != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, out, cli.ExitOK, want)
	}
}

// Where there is no present state, a command that is to run once runs for the first change.
func TestACommandThatRunsOnceWaitsForAChange(t *testing.T) {
	member := &fake.Member{OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		empty := &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Initial{Initial: &tenurev1.WatchInitial{Complete: true}}}
		if err := s.Send(empty); err != nil {
			return err
		}
		return s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{
			Events: []*tenurev1.Event{{Type: tenurev1.EventType_EVENT_TYPE_DELETED, Revision: 7, Key: "k"}},
		}}})
	}}
	env, out := fake.EnvironmentAt()
	code := execute(t.Context(), env, []string{
		"watch", "k", "--once", "--endpoints", member.Serve(t), "--", "sh", "-c", `echo "$TENURE_WATCH_REVISION $TENURE_WATCH_PRESENT"`,
	})
	if want := "7 false\n"; code != cli.ExitOK || out.String() != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, out, cli.ExitOK, want)
	}
}

// Who follows something ends it with Ctrl-C, also when there is nothing to follow yet.
func TestAnInterruptEndsWhatIsFollowedWellWhileItConnects(t *testing.T) {
	for _, command := range []string{"watch k", "elect k --observe"} {
		t.Run(command, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			connecting := make(chan error, 1)
			go func() {
				conn, err := listener.Accept()
				interrupt()
				if err == nil {
					_, err = io.Copy(io.Discard, conn) // Until it is given up.
					_ = conn.Close()
				}
				connecting <- err
			}()
			env, out := fake.EnvironmentAt()
			code := execute(ctx, env, append(strings.Fields(command), "--endpoints", listener.Addr().String()))
			if code != cli.ExitOK || out.Len() > 0 {
				t.Errorf("got exit code %d and %q, want %d and nothing", code, out, cli.ExitOK)
			}
			_ = listener.Close()
			if err := <-connecting; ctx.Err() == nil {
				t.Errorf("nobody connected: %v", err)
			}
		})
	}
}

// The environment of a command cannot have a NUL, which a key may. Nor does the command get the key of another watch, under whose command this one runs.
func TestAWatchRunsItsCommandForAKeyWithANUL(t *testing.T) {
	t.Setenv("TENURE_WATCH_KEY", "outer")
	member := &fake.Member{OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		return s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{
			Events: []*tenurev1.Event{{Type: tenurev1.EventType_EVENT_TYPE_DELETED, Revision: 7, Key: "a\x00b"}},
		}}})
	}}
	env, out := fake.EnvironmentAt()
	code := execute(t.Context(), env, []string{
		"watch", "--prefix", "a", "--once", "--endpoints", member.Serve(t), "--", "sh", "-c", `echo "$TENURE_WATCH_REVISION ${TENURE_WATCH_KEY-none}"; cat`,
	})
	if got := out.String(); code != cli.ExitOK || !strings.HasPrefix(got, "7 none\n") || !strings.Contains(got, `"key":"a\u0000b"`) {
		t.Errorf("got exit code %d and %q, want %d, no key in the environment, and the key in the JSON", code, got, cli.ExitOK)
	}
}
