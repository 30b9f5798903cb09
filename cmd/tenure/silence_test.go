package main

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// silent is a member that takes watches and says nothing.
func silent() *fakeMember {
	return &fakeMember{watch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		<-s.Context().Done()
		return nil
	}}
}

// saysNoAnswer tests that a command ended because nobody answered, and says so and no more than that.
func saysNoAnswer(t *testing.T, env *environment, code int, said string) {
	t.Helper()
	if want := "Error! no answer within " + env.timeout.String() + ": try `tenure status`, or a longer --timeout\n"; code != exitUnavailable || said != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, said, exitUnavailable, want)
	}
}

func TestAnExportFromASilentMemberSaysThatItDidNotAnswer(t *testing.T) {
	begun := &fakeMember{watch: func(_ *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		err := s.Send(&tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Initial{
			Initial: &tenurev1.WatchInitial{Kvs: []*tenurev1.KeyValue{{Key: "k"}}},
		}})
		<-s.Context().Done()
		return err
	}}
	for name, endpoint := range map[string]string{
		"from the beginning":            silent().serve(t),
		"after a part":                  begun.serve(t),
		"before it took the connection": deafEndpoint(t),
	} {
		t.Run(name, func(t *testing.T) {
			env, out := environmentAt()
			code := execute(t.Context(), env, []string{"kv", "export", "--timeout", "300ms", "--endpoints", endpoint})
			saysNoAnswer(t, env, code, out.String())
		})
	}
}

// An interrupt is no silence, and nothing is said of it.
func TestAnExportThatIsInterruptedSaysNothing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	member := silent()
	watch := member.watch
	member.watch = func(r *tenurev1.WatchRequest, s grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
		interrupt()
		return watch(r, s)
	}
	env, out := environmentAt()
	code := execute(ctx, env, []string{"kv", "export", "--endpoints", member.serve(t)})
	if code != exitInterrupted || out.Len() > 0 {
		t.Errorf("got exit code %d and %q, want %d and nothing", code, out, exitInterrupted)
	}
}
