package cli_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// askStatus makes a call of those that run the cluster itself.
func askStatus(ctx context.Context, m *cli.Members, again cli.Repeatable) error {
	return m.Call(ctx, again, func(ctx context.Context, l *cli.Link) error {
		_, err := l.Cluster().GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err
	})
}

func TestCallRepeatsOnlyWhatMayBeRepeated(t *testing.T) {
	lost := status.Error(codes.Unavailable, "connection reset")
	for name, test := range map[string]struct {
		first error
		again cli.Repeatable
		calls int
		want  error
	}{
		"a read whose answer was lost is read again":     {lost, cli.MayRepeat, 2, nil},
		"a change whose answer was lost is not repeated": {lost, cli.OnlyOnce, 1, cli.ErrOutcomeUnknown},
		"a change of which nothing was applied is repeated": {
			fake.Refusal(codes.Unavailable, "NO_LEADER", "no"), cli.OnlyOnce, 2, nil,
		},
		"a change that was perhaps applied is not repeated": {
			fake.Refusal(codes.Unavailable, "OUTCOME_UNKNOWN", "unknown"), cli.OnlyOnce, 1, cli.ErrOutcomeUnknown,
		},
		"a call that the member cancelled itself is not repeated": {
			fake.Refusal(codes.Canceled, "CANCELLED", "unknown"), cli.MayRepeat, 1, fake.Refusal(codes.Canceled, "CANCELLED", "unknown"),
		},
		"a refusal is an answer": {
			fake.Refusal(codes.FailedPrecondition, "COMPARE_FAILED", "no"), cli.MayRepeat, 1,
			fake.Refusal(codes.FailedPrecondition, "COMPARE_FAILED", "no"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			member := &fake.Member{OnStatus: func() (*tenurev1.GetStatusResponse, error) {
				calls++
				if calls == 1 {
					return nil, test.first
				}
				return &tenurev1.GetStatusResponse{}, nil
			}}
			err := askStatus(t.Context(), membersAt(t, member.Serve(t)), test.again)
			if calls != test.calls {
				t.Errorf("got %d calls, want %d", calls, test.calls)
			}
			if !errors.Is(err, test.want) && status.Code(err) != status.Code(test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestCallGoesToTheNextMember(t *testing.T) {
	well := &fake.Member{OnStatus: func() (*tenurev1.GetStatusResponse, error) { return &tenurev1.GetStatusResponse{}, nil }}
	stopping := &fake.Member{OnStatus: func() (*tenurev1.GetStatusResponse, error) {
		return nil, fake.Refusal(codes.Unavailable, "STOPPING", "no")
	}}
	answers := well.Serve(t)
	m := membersAt(t, fake.ClosedEndpoint(t), stopping.Serve(t), answers)
	if err := askStatus(t.Context(), m, cli.MayRepeat); err != nil {
		t.Fatal(err)
	}
	l, err := m.Link(t.Context())
	if err != nil || l.Endpoint != answers {
		t.Errorf("got %v, %v; want the member that answered", l, err)
	}
}

// Whoever runs out of time while there is no leader is told so, not only that time ran out.
func TestTimeOverTellsWhatWasSaidBefore(t *testing.T) {
	asked := false
	member := &fake.Member{OnStatus: func() (*tenurev1.GetStatusResponse, error) {
		if asked {
			return nil, status.Error(codes.DeadlineExceeded, "late")
		}
		asked = true
		return nil, fake.Refusal(codes.Unavailable, "NO_LEADER", "no")
	}}
	ctx, cancel := context.WithCancel(t.Context())
	m := membersAt(t, member.Serve(t))
	err := m.Call(ctx, cli.OnlyOnce, func(ctx context.Context, l *cli.Link) error {
		if asked {
			cancel()
			return context.DeadlineExceeded
		}
		_, err := l.Cluster().GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err
	})
	var exit *cli.ExitError
	if !errors.As(cli.Explain(time.Second, err), &exit) || exit.Code != cli.ExitUnavailable {
		t.Fatalf("got %v, want exit code %d", err, cli.ExitUnavailable)
	}
	for _, want := range []string{"no answer within 1s", "before that: refused"} {
		if !strings.Contains(exit.Error(), want) {
			t.Errorf("got %q, want it to say %q", exit.Error(), want)
		}
	}
}

// timeOver is a context whose time is over when a test says so.
type timeOver struct {
	context.Context
	over chan struct{}
}

func (c timeOver) Done() <-chan struct{} { return c.over }

func (c timeOver) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The same of a call over the client. A read changes nothing, and that is not doubted.
func TestTimeOverOfAReadTellsWhatWasSaidBefore(t *testing.T) {
	ctx := timeOver{t.Context(), make(chan struct{})}
	asked := 0
	member := &fake.Member{OnGet: func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
		if asked++; asked == 2 {
			close(ctx.over)
		}
		return nil, fake.Refusal(codes.Unavailable, "NO_LEADER", "no")
	}}
	c := fake.ClientAt(t, member.Serve(t))
	_, err := c.KV().Get(ctx, "k")
	var exit *cli.ExitError
	if !errors.As(cli.Explain(time.Second, cli.SaidBy(c, err)), &exit) || exit.Code != cli.ExitUnavailable {
		t.Fatalf("got %v, want exit code %d", err, cli.ExitUnavailable)
	}
	if want := "no answer within 1s; before that: refused: try `tenure status`, or a longer --timeout"; exit.Error() != want {
		t.Errorf("got %q, want %q", exit, want)
	}
}

// What a member said of one attempt is not said of all, and the words of Go are said of none.
func TestTimeOverDoesNotContradictItself(t *testing.T) {
	noLeader := "the deadline passed before there was a leader to ask; nothing was changed"
	for want, failed := range map[string]*tenure.Error{
		"; before that: the deadline passed before there was a leader to ask; it is not known whether a change was made": {
			Kind: context.DeadlineExceeded, Applied: tenure.AppliedUnknown, Message: "context deadline exceeded; " + noLeader,
		},
		"; before that: " + noLeader: {
			Kind: context.DeadlineExceeded, Applied: tenure.AppliedNo, Message: "context deadline exceeded; " + noLeader,
		},
		"; it is not known whether a change was made": {
			Kind: context.DeadlineExceeded, Applied: tenure.AppliedUnknown, Message: "context deadline exceeded; context deadline exceeded",
		},
	} {
		want = "no answer within 1s" + want + ": try `tenure status`, or a longer --timeout"
		if got := cli.Explain(time.Second, failed); got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// One attempt, of which the member said it.
	if got := cli.Explain(time.Second, fake.Refusal(codes.DeadlineExceeded, "DEADLINE_EXCEEDED", "no")); strings.Contains(got.Error(), "not known") {
		t.Errorf("got %q, though nothing was changed", got)
	}
}

// A connection that breaks is told so, and not in the words of the library beneath.
func TestABreakIsToldInPlainWords(t *testing.T) {
	for message, want := range map[string]string{
		"error reading from server: EOF": "Broken (the connection broke); trying again.\n",
		"the member ended the stream":    "Broken (the member ended the stream); trying again.\n",
	} {
		env, out := fake.EnvironmentAt()
		env.NoteBreak("Broken", "Mended")(&tenure.Error{Kind: tenure.ErrUnavailable, Message: message})
		if out.String() != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	env, _ := fake.EnvironmentAt(fake.ClosedEndpoint(t), fake.ClosedEndpoint(t))
	for name, work := range map[string]func() error{
		"over the client": func() error {
			return env.WithClient(t.Context(), func(context.Context, *tenure.Client) error { return errors.New("connected") })
		},
		"of the cluster itself": func() error {
			return env.WithMembers(t.Context(), func(ctx context.Context, m *cli.Members) error { return askStatus(ctx, m, cli.MayRepeat) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := work()
			var exit *cli.ExitError
			if !errors.As(cli.Explain(time.Second, err), &exit) || exit.Code != cli.ExitUnavailable {
				t.Fatalf("got %v, want exit code %d", err, cli.ExitUnavailable)
			}
			for _, want := range append(env.Endpoints, "connection refused", "is `tenure serve` running? --endpoints takes") {
				if !strings.Contains(exit.Error(), want) {
					t.Errorf("got %q, want it to say %q", exit.Error(), want)
				}
			}
		})
	}
}

func TestExplainGivesExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		code int
		says string
	}{
		"a refusal says what to do": {
			fake.Refusal(codes.PermissionDenied, "SESSION_SECRET_WRONG", "no"), cli.ExitRefused, "TENURE_SESSION_SECRET",
		},
		"a reason may have the enum's prefix": {
			fake.Refusal(codes.NotFound, "ERROR_REASON_SESSION_NOT_FOUND", "no"), cli.ExitRefused, "tenure session list",
		},
		"a reason of a later version is no harm": {fake.Refusal(codes.Aborted, "NEWS", "no"), cli.ExitRefused, "refused"},
		"no leader is unavailable":               {fake.Refusal(codes.Unavailable, "NO_LEADER", "no"), cli.ExitUnavailable, "tenure status"},
		"time over is unavailable":               {context.DeadlineExceeded, cli.ExitUnavailable, "--timeout"},
		"a member that says so, too":             {status.Error(codes.DeadlineExceeded, "x"), cli.ExitUnavailable, "--timeout"},
		"an unknown outcome is unavailable":      {errors.Join(cli.ErrOutcomeUnknown, errors.New("x")), cli.ExitUnavailable, "check whether it was made before"},
		"an ended session is refused":            {&cli.SessionEndedError{ID: "i", Cause: "c"}, cli.ExitRefused, "tenure session info i"},
		"Ctrl-C says nothing":                    {context.Canceled, cli.ExitInterrupted, ""},
		"text from the network is escaped":       {status.Error(codes.Aborted, "\x1b[2J"), cli.ExitRefused, `\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			var exit *cli.ExitError
			if !errors.As(cli.Explain(time.Second, test.err), &exit) {
				t.Fatalf("got %v, want an exit code", cli.Explain(time.Second, test.err))
			}
			if exit.Code != test.code {
				t.Errorf("got exit code %d, want %d", exit.Code, test.code)
			}
			if test.says == "" && exit.Err != nil || !strings.Contains(exit.Error(), test.says) {
				t.Errorf("got %q, want it to say %q", exit.Error(), test.says)
			}
		})
	}
}

func TestSecretIsReadInEverySpelling(t *testing.T) {
	secret := slices.Repeat([]byte{0xfb, 0xff}, 16)
	for name, text := range map[string]string{
		"as printed":       cli.SecretText(secret),
		"without padding":  strings.TrimRight(cli.SecretText(secret), "="),
		"for URLs":         strings.NewReplacer("+", "-", "/", "_").Replace(cli.SecretText(secret)),
		"with white space": cli.SecretText(secret) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			env := &cli.Environment{Getenv: func(string) (string, bool) { return text, true }}
			if got, err := (&cli.SecretFlag{}).Secret(env); err != nil || !bytes.Equal(got, secret) {
				t.Errorf("got %x, %v; want %x", got, err, secret)
			}
		})
	}
}

// membersAt returns members at endpoints, closed at the test's end.
func membersAt(t *testing.T, endpoints ...string) *cli.Members {
	t.Helper()
	m, err := cli.NewMembers(endpoints, insecure.NewCredentials(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}
