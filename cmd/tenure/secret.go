package main

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/spf13/pflag"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	secretVariable = "TENURE_SESSION_SECRET"
	secretBytes    = 32
)

// secretFlag is the flag --session-secret.
type secretFlag struct {
	text string
}

// add adds the flag.
func (f *secretFlag) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.text, "session-secret", "", "secret of the session, if it has one; prefer "+secretVariable)
}

// secret returns the secret that flag or environment give; nothing if none does.
func (f *secretFlag) secret(env *environment) ([]byte, error) {
	text := f.text
	if text == "" {
		text, _ = env.getenv(secretVariable)
	}
	if text == "" {
		return nil, nil
	}
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimSpace(text)), "=")
	secret, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(secret) != secretBytes {
		return nil, usageError("%s or --session-secret is not %d bytes as base64", secretVariable, secretBytes)
	}
	return secret, nil
}

// options returns what a call under a session carries: nothing without secret.
func (f *secretFlag) options(ctx context.Context, env *environment, c *tenure.Client, id string) (*tenurev1.CallOptions, error) {
	secret, err := f.secret(env)
	if err != nil || len(secret) == 0 {
		return nil, err
	}
	session, err := c.LookUpSession(ctx, id)
	if err != nil {
		return nil, err
	}
	return &tenurev1.CallOptions{SessionSecret: secret, Epoch: session.Epoch}, nil
}

// actingAs adds to the options of a call what it needs to act as a session.
func actingAs(actor, options *tenurev1.CallOptions) *tenurev1.CallOptions {
	options.SessionSecret, options.Epoch = actor.GetSessionSecret(), actor.GetEpoch()
	return options
}

// secretText returns a secret as it is printed and passed on.
func secretText(secret []byte) string { return base64.StdEncoding.EncodeToString(secret) }
