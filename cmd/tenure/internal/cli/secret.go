package cli

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/spf13/pflag"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Where a session's secret is read from, and how long it is.
const (
	SecretVariable = "TENURE_SESSION_SECRET"
	SecretBytes    = 32
)

// SecretFlag is the flag --session-secret.
type SecretFlag struct {
	text string
}

// Add adds the flag.
func (f *SecretFlag) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.text, "session-secret", "", "secret of the session, if it has one; prefer "+SecretVariable)
}

// Secret returns the secret that flag or environment give; nothing if none does.
func (f *SecretFlag) Secret(env *Environment) ([]byte, error) {
	text := f.text
	if text == "" {
		text, _ = env.Getenv(SecretVariable)
	}
	if text == "" {
		return nil, nil
	}
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimSpace(text)), "=")
	secret, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(secret) != SecretBytes {
		return nil, UsageError("%s or --session-secret is not %d bytes as base64", SecretVariable, SecretBytes)
	}
	return secret, nil
}

// Options returns what a call under a session carries: nothing without secret.
func (f *SecretFlag) Options(ctx context.Context, env *Environment, c *tenure.Client, id string) (*tenurev1.CallOptions, error) {
	secret, err := f.Secret(env)
	if err != nil || len(secret) == 0 {
		return nil, err
	}
	session, err := c.LookUpSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return &tenurev1.CallOptions{SessionSecret: secret, Epoch: session.Epoch}, nil
}

// ActingAs adds to the options of a call what it needs to act as a session.
func ActingAs(actor, options *tenurev1.CallOptions) *tenurev1.CallOptions {
	options.SessionSecret, options.Epoch = actor.GetSessionSecret(), actor.GetEpoch()
	return options
}

// SecretText returns a secret as it is printed and passed on.
func SecretText(secret []byte) string { return base64.StdEncoding.EncodeToString(secret) }

// SecretWrongError refuses a caller that gave another secret than its session has, or none.
func SecretWrongError(given bool) error {
	text := "none was given"
	if given {
		text = "the given one is wrong"
	}
	return RefusedError("the session has a secret, and %s: %s", text, adviceFor(tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG, ""))
}
