package main

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
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// askStatus makes a call of those that run the cluster itself.
func askStatus(ctx context.Context, m *members, again repeatable) error {
	return m.call(ctx, again, func(ctx context.Context, l *link) error {
		_, err := l.cluster().GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err
	})
}

func TestCallRepeatsOnlyWhatMayBeRepeated(t *testing.T) {
	lost := status.Error(codes.Unavailable, "connection reset")
	for name, test := range map[string]struct {
		first error
		again repeatable
		calls int
		want  error
	}{
		"a read whose answer was lost is read again":     {lost, mayRepeat, 2, nil},
		"a change whose answer was lost is not repeated": {lost, onlyOnce, 1, errOutcomeUnknown},
		"a change of which nothing was applied is repeated": {
			refusal(codes.Unavailable, "NO_LEADER", "no"), onlyOnce, 2, nil,
		},
		"a change that was perhaps applied is not repeated": {
			refusal(codes.Unavailable, "OUTCOME_UNKNOWN", "unknown"), onlyOnce, 1, errOutcomeUnknown,
		},
		"a call that the member cancelled itself is not repeated": {
			refusal(codes.Canceled, "CANCELLED", "unknown"), mayRepeat, 1, refusal(codes.Canceled, "CANCELLED", "unknown"),
		},
		"a refusal is an answer": {
			refusal(codes.FailedPrecondition, "COMPARE_FAILED", "no"), mayRepeat, 1,
			refusal(codes.FailedPrecondition, "COMPARE_FAILED", "no"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			member := &fakeMember{status: func() (*tenurev1.GetStatusResponse, error) {
				calls++
				if calls == 1 {
					return nil, test.first
				}
				return &tenurev1.GetStatusResponse{}, nil
			}}
			err := askStatus(t.Context(), membersAt(t, member.serve(t)), test.again)
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
	well := &fakeMember{status: func() (*tenurev1.GetStatusResponse, error) { return &tenurev1.GetStatusResponse{}, nil }}
	stopping := &fakeMember{status: func() (*tenurev1.GetStatusResponse, error) {
		return nil, refusal(codes.Unavailable, "STOPPING", "no")
	}}
	answers := well.serve(t)
	m := membersAt(t, closedEndpoint(t), stopping.serve(t), answers)
	if err := askStatus(t.Context(), m, mayRepeat); err != nil {
		t.Fatal(err)
	}
	l, err := m.link(t.Context())
	if err != nil || l.endpoint != answers {
		t.Errorf("got %v, %v; want the member that answered", l, err)
	}
}

// Whoever runs out of time while there is no leader is told so, not only that time ran out.
func TestTimeOverTellsWhatWasSaidBefore(t *testing.T) {
	asked := false
	member := &fakeMember{status: func() (*tenurev1.GetStatusResponse, error) {
		if asked {
			return nil, status.Error(codes.DeadlineExceeded, "late")
		}
		asked = true
		return nil, refusal(codes.Unavailable, "NO_LEADER", "no")
	}}
	ctx, cancel := context.WithCancel(t.Context())
	m := membersAt(t, member.serve(t))
	err := m.call(ctx, onlyOnce, func(ctx context.Context, l *link) error {
		if asked {
			cancel()
			return context.DeadlineExceeded
		}
		_, err := l.cluster().GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err
	})
	var exit *exitError
	if !errors.As(explain(time.Second, err), &exit) || exit.code != exitUnavailable {
		t.Fatalf("got %v, want exit code %d", err, exitUnavailable)
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
	member := &fakeMember{get: func(*tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
		if asked++; asked == 2 {
			close(ctx.over)
		}
		return nil, refusal(codes.Unavailable, "NO_LEADER", "no")
	}}
	c := clientAt(t, member.serve(t))
	_, err := c.KV().Get(ctx, "k")
	var exit *exitError
	if !errors.As(explain(time.Second, saidBy(c, err)), &exit) || exit.code != exitUnavailable {
		t.Fatalf("got %v, want exit code %d", err, exitUnavailable)
	}
	if want := "no answer within 1s; before that: refused: try `tenure status`, or a longer --timeout"; exit.Error() != want {
		t.Errorf("got %q, want %q", exit, want)
	}
}

func TestNobodyThere(t *testing.T) {
	env, _ := environmentAt(closedEndpoint(t), closedEndpoint(t))
	for name, work := range map[string]func() error{
		"over the client": func() error {
			return env.withClient(t.Context(), func(context.Context, *tenure.Client) error { return errors.New("connected") })
		},
		"of the cluster itself": func() error {
			return env.withMembers(t.Context(), func(context.Context, *members) error { return errors.New("connected") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := work()
			var exit *exitError
			if !errors.As(explain(time.Second, err), &exit) || exit.code != exitUnavailable {
				t.Fatalf("got %v, want exit code %d", err, exitUnavailable)
			}
			for _, want := range append(env.endpoints, "connection refused", "is `tenure serve` running? --endpoints takes") {
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
			refusal(codes.PermissionDenied, "SESSION_SECRET_WRONG", "no"), exitRefused, "TENURE_SESSION_SECRET",
		},
		"a reason may have the enum's prefix": {
			refusal(codes.NotFound, "ERROR_REASON_SESSION_NOT_FOUND", "no"), exitRefused, "tenure session list",
		},
		"a reason of a later version is no harm": {refusal(codes.Aborted, "NEWS", "no"), exitRefused, "refused"},
		"no leader is unavailable":               {refusal(codes.Unavailable, "NO_LEADER", "no"), exitUnavailable, "tenure status"},
		"time over is unavailable":               {context.DeadlineExceeded, exitUnavailable, "--timeout"},
		"a member that says so, too":             {status.Error(codes.DeadlineExceeded, "x"), exitUnavailable, "--timeout"},
		"an unknown outcome is unavailable":      {errors.Join(errOutcomeUnknown, errors.New("x")), exitUnavailable, "check whether it was made before"},
		"an ended session is refused":            {&sessionEndedError{id: "i", cause: "c"}, exitRefused, "tenure session info i"},
		"Ctrl-C says nothing":                    {context.Canceled, exitInterrupted, ""},
		"text from the network is escaped":       {status.Error(codes.Aborted, "\x1b[2J"), exitRefused, `\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			var exit *exitError
			if !errors.As(explain(time.Second, test.err), &exit) {
				t.Fatalf("got %v, want an exit code", explain(time.Second, test.err))
			}
			if exit.code != test.code {
				t.Errorf("got exit code %d, want %d", exit.code, test.code)
			}
			if test.says == "" && exit.err != nil || !strings.Contains(exit.Error(), test.says) {
				t.Errorf("got %q, want it to say %q", exit.Error(), test.says)
			}
		})
	}
}

func TestSecretIsReadInEverySpelling(t *testing.T) {
	secret := slices.Repeat([]byte{0xfb, 0xff}, 16)
	for name, text := range map[string]string{
		"as printed":       secretText(secret),
		"without padding":  strings.TrimRight(secretText(secret), "="),
		"for URLs":         strings.NewReplacer("+", "-", "/", "_").Replace(secretText(secret)),
		"with white space": secretText(secret) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			env := &environment{getenv: func(string) (string, bool) { return text, true }}
			if got, err := (&secretFlag{}).secret(env); err != nil || !bytes.Equal(got, secret) {
				t.Errorf("got %x, %v; want %x", got, err, secret)
			}
		})
	}
}

// membersAt returns members at endpoints, closed at the test's end.
func membersAt(t *testing.T, endpoints ...string) *members {
	t.Helper()
	m, err := newMembers(endpoints, insecure.NewCredentials(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}
