package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
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
	m := membersAt(t, closedEndpoint(t), stopping.serve(t), well.serve(t))
	if err := askStatus(t.Context(), m, mayRepeat); err != nil {
		t.Fatal(err)
	}
	l, err := m.link(t.Context())
	if err != nil || l.endpoint != m.endpoints[2] {
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
	_, err := getKey(ctx, c, "k", false)
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
			return env.withMembers(t.Context(), func(ctx context.Context, m *members) error { return printStatus(ctx, env, m) })
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

func TestListFollowsPages(t *testing.T) {
	member := &fakeMember{list: func(r *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
		pages := map[string]string{"": "b", "b": "c", "c": ""}
		next, known := pages[r.GetPageToken()]
		if !known || r.GetPrefix() != "p" || !r.GetKeysOnly() {
			return nil, fmt.Errorf("unexpected %v", r)
		}
		return &tenurev1.ListResponse{
			Kvs:           []*tenurev1.KeyValue{{Key: "p1" + r.GetPageToken()}, {Key: "p2" + r.GetPageToken()}},
			NextPageToken: next,
		}, nil
	}}
	for output, want := range map[string]int{outputText: 0, outputJSON: 1} {
		t.Run(output, func(t *testing.T) {
			var out bytes.Buffer
			env := &environment{stdout: &out, output: output}
			err := listKeys(t.Context(), env, clientAt(t, member.serve(t)), &keyListing{request: &tenurev1.ListRequest{Prefix: "p", KeysOnly: true}})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"p1", "p2", "p1b", "p2b", "p1c", "p2c"} {
				if !strings.Contains(out.String(), key) {
					t.Errorf("key %s is missing in %s", key, out.String())
				}
			}
			if got := strings.Count(out.String(), "nextPageToken"); got != want {
				t.Errorf("got %d documents, want %d", got, want)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain text stays":                {"service/leader é 世", "service/leader é 世"},
		"a line break is escaped":         {"a\nb", `a\nb`},
		"a terminal sequence is escaped":  {"\x1b[31m", `\x1b[31m`},
		"a bell and a zero are escaped":   {"\a\x00", `\a\x00`},
		"a backslash is not taken for it": {`a\nb`, `a\\nb`},
		"bytes that are no text":          {"\xff\xfe", `\xff\xfe`},
		"text that runs backwards":        {"\u202eabc", `\u202eabc`},
		"invisible characters":            {"a\u200bb", `a\u200bb`},
		"a real replacement character":    {"\ufffd", "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printable(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
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

func TestClipKeepsCharactersWhole(t *testing.T) {
	long := strings.Repeat("é", 200)
	if got := clip("x" + long); len(got) != 255 || !strings.HasSuffix(got, "é") {
		t.Errorf("got %d bytes, ending in %q; want 255, ending in é", len(got), got[len(got)-2:])
	}
	if got := clip("short"); got != "short" {
		t.Errorf("got %q, want it whole", got)
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
