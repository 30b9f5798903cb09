package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// silent is a member that takes what follows something, and says nothing.
func silent() *fake.Member {
	return &fake.Member{
		OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
			<-s.Context().Done()
			return nil
		},
		OnObserve: func(_ *tenurev1.ObserveRequest, s grpc.ServerStreamingServer[tenurev1.ObserveResponse]) error {
			<-s.Context().Done()
			return nil
		},
	}
}

// saysNoAnswer tests that a command ended because nobody answered, and says so and no more than that.
func saysNoAnswer(t *testing.T, env *cli.Environment, code int, said string) {
	t.Helper()
	if want := "Error! no answer within " + env.Timeout.String() + ": try `tenure status`, or a longer --timeout\n"; code != cli.ExitUnavailable || said != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, said, cli.ExitUnavailable, want)
	}
}

func TestAnExportFromASilentMemberSaysThatItDidNotAnswer(t *testing.T) {
	begun := &fake.Member{OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		err := s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Initial{
			Initial: &tenurev1.WatchInitial{Kvs: []*tenurev1.KeyValue{{Key: "k"}}},
		}})
		<-s.Context().Done()
		return err
	}}
	for name, endpoint := range map[string]string{
		"from the beginning":            silent().Serve(t),
		"after a part":                  begun.Serve(t),
		"before it took the connection": fake.DeafEndpoint(t),
	} {
		t.Run(name, func(t *testing.T) {
			env, out := fake.EnvironmentAt()
			code := execute(t.Context(), env, []string{"kv", "export", "--timeout", "300ms", "--endpoints", endpoint})
			saysNoAnswer(t, env, code, out.String())
		})
	}
}

// An interrupt is no silence, and nothing is said of it.
func TestAnExportThatIsInterruptedSaysNothing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	member := silent()
	watch := member.OnWatch
	member.OnWatch = func(r *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		interrupt()
		return watch(r, s)
	}
	env, out := fake.EnvironmentAt()
	code := execute(ctx, env, []string{"kv", "export", "--endpoints", member.Serve(t)})
	if code != cli.ExitInterrupted || out.Len() > 0 {
		t.Errorf("got exit code %d and %q, want %d and nothing", code, out, cli.ExitInterrupted)
	}
}

// What is followed goes on over breaks once anything came. Before that, nobody knows that there is anything to wait for.
func TestWhatIsFollowedEndsIfNothingEverCame(t *testing.T) {
	refusing := &fake.Member{OnWatch: func(*tenurev1.WatchRequest, grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		return fake.Refusal(codes.Unavailable, "NO_LEADER", "no")
	}}
	for name, test := range map[string]struct{ command, endpoint string }{
		"a watch of a member that says nothing":        {"watch k", silent().Serve(t)},
		"a watch of a member that refuses":             {"watch k", refusing.Serve(t)},
		"an observer of a member that does not answer": {"elect k --observe", silent().Serve(t)},
	} {
		t.Run(name, func(t *testing.T) {
			env, out := fake.EnvironmentAt()
			env.FirstAnswerMin = time.Millisecond
			code := execute(t.Context(), env, append(strings.Fields(test.command), "--timeout", "300ms", "--endpoints", test.endpoint))
			_, last, _ := strings.Cut("\n"+out.String(), "\nError!")
			saysNoAnswer(t, env, code, "Error!"+last)
		})
	}
}

// A watch that began goes on in silence, for longer than the first answer may take.
func TestAWatchThatBeganWaitsOn(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	over := time.AfterFunc(time.Hour, interrupt)
	defer over.Stop()
	member := &fake.Member{OnWatch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		err := s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{AfterRevision: 1}}})
		over.Reset(5500 * time.Millisecond)
		<-s.Context().Done()
		return err
	}}
	env, out := fake.EnvironmentAt()
	env.FirstAnswerMin = time.Millisecond
	code := execute(ctx, env, []string{"watch", "k", "--timeout", "5s", "--endpoints", member.Serve(t)})
	if code != cli.ExitOK || out.Len() > 0 {
		t.Errorf("got exit code %d and %q, want %d and nothing", code, out, cli.ExitOK)
	}
}
