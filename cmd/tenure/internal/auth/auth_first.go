package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/durable"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/identity"
)

// firstToken are the flags of the commands that make a token which may do everything.
type firstToken struct{ out, dataDir string }

// flags declares them.
func (f *firstToken) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.out, "out", "admin.token", "file for the text of the token")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "directory of the member in --endpoints, on this machine")
}

// newAuthBootstrapCommand returns `tenure auth bootstrap`.
func newAuthBootstrapCommand(env *cli.Environment) *cobra.Command {
	var mode string
	var first firstToken
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Make the first token, which may do everything",
		Long: `Make the first token of a cluster, with the built-in policy admin, and set the mode. The text of the token is
drawn here and written to --out, readable only by you, before any member is asked. If the answer is lost, run the
command again: it reads the file and gets the same answer. A cluster is bootstrapped once; another text is refused
from then on. The token does not end.

On the machine of a member, use a loopback address in --endpoints. Over another address, --data-dir must name the
directory of the member in --endpoints: the member writes a nonce there that proves that you may read it.

Right after its start, a new cluster cannot keep tokens yet: the command waits for that, at most 10 seconds.`,
		Example: `  tenure auth bootstrap --out admin.token
  tenure auth bootstrap --mode enforce --out admin.token -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := modeOf(mode)
			if err != nil {
				return err
			}
			if wanted == tenurev1.AuthMode_AUTH_MODE_OFF {
				return cli.UsageError("--mode is off; it must be warn or enforce")
			}
			return bootstrapAuth(cmd.Context(), env, wanted, first)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "warn", "mode from then on: warn or enforce")
	first.flags(cmd)
	return cmd
}

// bootstrapAuth makes the first token.
func bootstrapAuth(ctx context.Context, e *cli.Environment, mode tenurev1.AuthMode, first firstToken) error {
	return makeFirst(ctx, e, "first token", first, func(ctx context.Context, auth tenurev1.AuthServiceClient, text, nonce string) (tokenAnswer, error) {
		answer, err := auth.BootstrapAuth(ctx, &tenurev1.BootstrapAuthRequest{Token: text, Mode: mode, Nonce: nonce})
		if err == nil && answer.GetMode() != mode {
			word := modeWord(mode)
			e.Notef("The cluster had its first token before, and its mode stays %s: `tenure auth mode %s` changes it.", modeWord(answer.GetMode()), word)
		}
		return answer, err
	})
}

// newAuthResetCommand returns `tenure auth reset`.
func newAuthResetCommand(env *cli.Environment) *cobra.Command {
	var first firstToken
	cmd := &cobra.Command{
		Use:   "reset --data-dir DIR",
		Short: "Make another token that may do everything, if all are lost",
		Long: `Make another token with the built-in policy admin, when no such token is left. It takes no token, but access to the
directory of the member in --endpoints, on whose machine the command runs: the member writes a nonce there, which
is good for 10 minutes. Nothing else changes; lost tokens stay good until they are revoked.`,
		Example: `  tenure auth reset --data-dir /var/lib/tenure --out admin.token`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if first.dataDir == "" {
				return cli.UsageError("--data-dir is required: the directory of the member in --endpoints")
			}
			return resetAuth(cmd.Context(), env, first)
		},
	}
	first.flags(cmd)
	return cmd
}

// resetAuth makes another first token.
func resetAuth(ctx context.Context, e *cli.Environment, first firstToken) error {
	return makeFirst(ctx, e, "token", first, func(ctx context.Context, auth tenurev1.AuthServiceClient, text, nonce string) (tokenAnswer, error) {
		return auth.ResetAuth(ctx, &tenurev1.ResetAuthRequest{Token: text, Nonce: nonce})
	})
}

// tokenAnswer is the answer to a call that makes a token which may do everything.
type tokenAnswer interface {
	proto.Message
	GetAccessor() string
	GetMode() tenurev1.AuthMode
}

// makeFirst makes a token which may do everything, with the text in a file, and says so; what is how it is called.
func makeFirst(
	ctx context.Context, e *cli.Environment, what string, first firstToken,
	ask func(ctx context.Context, auth tenurev1.AuthServiceClient, text, nonce string) (tokenAnswer, error),
) error {
	if first.dataDir != "" && len(e.Endpoints) > 1 {
		return cli.UsageError("--endpoints names %d members; with --data-dir, it must name one: the member that has this directory", len(e.Endpoints))
	}
	if err := e.CheckClear(); err != nil { // The text is in the request.
		return err
	}
	// The other files are read before the text is drawn. The token's own may be the one that is made here.
	if err := e.CheckConnect(); err != nil {
		return err
	}
	text, drawn, err := drawnToken(first.out)
	if err != nil {
		return err
	}
	var answer tokenAnswer
	err = onceRaised(ctx, func() error {
		return withNonce(ctx, e, first.dataDir, func(ctx context.Context, auth tenurev1.AuthServiceClient, nonce string) (err error) {
			answer, err = ask(ctx, auth, text, nonce)
			return err
		})
	})
	if err != nil {
		if drawn {
			e.Notef("%s cannot be used until this command succeeds with it: it has a text that the cluster may not know.", cli.Printable(first.out))
		}
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! The %s is in %s, its accessor is %s, and the mode is %s.\n",
		what, cli.Printable(first.out), answer.GetAccessor(), modeWord(answer.GetMode()))
}

// raisedWithin is how long the commands here wait for a cluster to raise its version. The leader of a new one does so about a second after
// all members have started.
const raisedWithin = 10 * time.Second

// onceRaised makes a call, and makes it again while the cluster version is too low for it, for at most raisedWithin.
func onceRaised(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, raisedWithin)
	defer cancel()
	pause := cli.Backoff{}
	for {
		err := do()
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED || !pause.Wait(ctx) {
			return err
		}
	}
}

// withNonce makes a call, and, if the member asks for the nonce in its directory, again with it.
func withNonce(
	ctx context.Context, e *cli.Environment, dataDir string, do func(ctx context.Context, auth tenurev1.AuthServiceClient, nonce string) error,
) error {
	return callAuth(ctx, e, cli.MayRepeat, func(ctx context.Context, service tenurev1.AuthServiceClient) error {
		err := do(ctx, service, "")
		if errorinfo.Fact(err, "needs") != "nonce" || dataDir == "" {
			return err
		}
		text, failed := os.ReadFile(filepath.Join(dataDir, auth.NonceFile))
		if failed != nil {
			return cli.UsageError("--data-dir: %w; it must be the directory of the member in --endpoints", failed)
		}
		return do(ctx, service, strings.TrimSpace(string(text)))
	})
}

// drawnToken returns the text in a file; if there is no such file, it draws one and writes it there, and reports so.
func drawnToken(path string) (text string, drawn bool, err error) {
	text, err = cli.ReadToken(path)
	switch {
	case err == nil:
		if _, err = identity.ParseToken(text); err != nil {
			return "", false, cli.UsageError("--out: %s exists, and what is in it is %w", cli.Printable(path), err)
		}
		return text, false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, cli.UsageError("--out: %w", err)
	}
	text = identity.NewToken()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", false, cli.UsageError("--out: %w", err)
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close(), durable.SyncDir(filepath.Dir(path))); err != nil {
		return "", false, fmt.Errorf("write the token to %s: %w", cli.Printable(path), err)
	}
	return text, true, nil
}
