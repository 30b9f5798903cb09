package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
)

// openInput is a standard input that somebody has begun to fill, and that stays open. The program is interrupted while it waits for the rest.
type openInput struct {
	t         *testing.T
	begin     io.Reader
	interrupt context.CancelFunc
	over      <-chan struct{} // closed when the test ends
}

// Read returns what was filled in, and then waits.
func (i *openInput) Read(p []byte) (int, error) {
	if n, err := i.begin.Read(p); err == nil {
		return n, nil
	}
	i.interrupt()
	select {
	case <-i.over:
	case <-time.After(fake.Patience):
		i.t.Error("the command still waits")
	}
	return 0, io.EOF
}

// Nothing is done with the part that came, and nothing is said of it.
func TestAnInterruptEndsACommandThatWaitsForItsInput(t *testing.T) {
	endpoint := (&fake.Member{}).Serve(t)
	for command, begin := range map[string]string{
		"kv put k -":          "hal",
		"kv import":           `{"key": "k", "val`,
		"kv import -":         "",
		"txn -":               `{"then": [], "options": {"idempotencyKey": "MDEyMzQ1Njc4OWFiY2RlZg=="}}`,
		"consul import -":     `[{"key": "k", "val`,
		"auth policy put p -": "operator read\n",
		"auth policy check -": "operator read\n",
		"auth provider put p --issuer https://ci --audience a --jwks -": "{",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			over := make(chan struct{})
			defer close(over)
			env, out := fake.EnvironmentAt()
			env.Stdin = &openInput{t, strings.NewReader(begin), interrupt, over}
			code := execute(ctx, env, append(strings.Fields(command), "--endpoints", endpoint))
			if code != cli.ExitInterrupted || out.Len() > 0 {
				t.Errorf("got exit code %d and %q, want %d and nothing", code, out, cli.ExitInterrupted)
			}
		})
	}
}
