package auth

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// NewCommand returns `tenure auth`.
func NewCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("auth", "Manage tokens, policies, bindings, providers and the mode", `  tenure auth bootstrap --out admin.token
  export TENURE_TOKEN_FILE=admin.token
  echo 'key "service/web/"* rw' | tenure auth policy put web -
  tenure auth token create --name web --policy web > web.token
  tenure auth mode enforce`,
		newAuthBootstrapCommand(env),
		newAuthResetCommand(env),
		newAuthModeCommand(env),
		newAuthStatusCommand(env),
		newAuthWhoAmICommand(env),
		newAuthCanCommand(env),
		newAuthPolicyCommand(env),
		newAuthTokenCommand(env),
		newAuthBindingCommand(env),
		newAuthProviderCommand(env),
	)
}

// callAuth makes a call to AuthService of a member.
func callAuth(
	ctx context.Context, e *cli.Environment, again cli.Repeatable, f func(ctx context.Context, auth tenurev1.AuthServiceClient) error,
) error {
	return e.WithMembers(ctx, func(ctx context.Context, m *cli.Members) error {
		return m.Call(ctx, again, func(ctx context.Context, l *cli.Link) error { return f(ctx, tenurev1.NewAuthServiceClient(l)) })
	})
}

// modeWord returns a mode in a word.
func modeWord(m tenurev1.AuthMode) string { return cli.Words(m.String(), "AUTH_MODE_") }

// modeOf reads a mode.
func modeOf(text string) (tenurev1.AuthMode, error) {
	switch text {
	case "off":
		return tenurev1.AuthMode_AUTH_MODE_OFF, nil
	case "warn":
		return tenurev1.AuthMode_AUTH_MODE_WARN, nil
	case "enforce":
		return tenurev1.AuthMode_AUTH_MODE_ENFORCE, nil
	default:
		return 0, cli.UsageError("the mode is %s; it must be off, warn or enforce", cli.Quoted(text))
	}
}

// newAuthModeCommand returns `tenure auth mode`.
func newAuthModeCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "mode [off|warn|enforce]",
		Short: "Show or set how strictly rights are asked for",
		Long: `Show the mode, or set it. With off, members do not look at credentials. With warn, all calls are served, and what
enforce would deny is counted and audited. With enforce, what no rule allows is denied. Tokens, policies, bindings
and the mode itself are guarded in every mode.`,
		Example: "  tenure auth mode\n  tenure auth mode enforce",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showMode(cmd.Context(), env)
			}
			mode, err := modeOf(args[0])
			if err != nil {
				return err
			}
			var answer *tenurev1.SetAuthModeResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.SetAuthMode(ctx, &tenurev1.SetAuthModeRequest{Mode: mode})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.Printf("Success! The mode is %s.\n", modeWord(mode))
		},
	}
}

// authStatus asks for the mode and the counts.
func authStatus(ctx context.Context, e *cli.Environment) (*tenurev1.GetAuthStatusResponse, error) {
	var answer *tenurev1.GetAuthStatusResponse
	err := callAuth(ctx, e, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
		answer, err = auth.GetAuthStatus(ctx, &tenurev1.GetAuthStatusRequest{})
		return err
	})
	return answer, err
}

// showMode prints the mode alone.
func showMode(ctx context.Context, e *cli.Environment) error {
	answer, err := authStatus(ctx, e)
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf("%s\n", modeWord(answer.GetMode()))
}

// newAuthStatusCommand returns `tenure auth status`.
func newAuthStatusCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show the mode, and how many tokens, policies and bindings there are",
		Example: "  tenure auth status\n  tenure auth status -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			answer, err := authStatus(cmd.Context(), env)
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.PrintTable([][]string{
				{"mode", modeWord(answer.GetMode())},
				{"bootstrapped", strconv.FormatBool(answer.GetBootstrapped())},
				{"tokens", strconv.FormatUint(answer.GetTokens(), 10)},
				{"policies", strconv.FormatUint(answer.GetPolicies(), 10)},
				{"bindings", strconv.FormatUint(answer.GetBindings(), 10)},
				{"providers", strconv.FormatUint(answer.GetProviders(), 10)},
			})
		},
	}
}

// newAuthWhoAmICommand returns `tenure auth whoami`.
func newAuthWhoAmICommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "whoami",
		Short:   "Show who the cluster takes you for, and your policies",
		Example: "  tenure auth whoami\n  TENURE_TOKEN_FILE=web.token tenure auth whoami",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var answer *tenurev1.WhoAmIResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.PrintTable(identityRows(answer))
		},
	}
}

// identityRows are the rows of a table about a caller.
func identityRows(answer *tenurev1.WhoAmIResponse) [][]string {
	principal := answer.GetPrincipal()
	if principal == "" {
		principal = "anonymous"
	}
	rows := [][]string{{"principal", cli.Printable(principal)}, {"credential", answer.GetCredential()}}
	if cause := answer.GetCause(); cause != "" {
		rows = append(rows, []string{"refused because", cli.Printable(cause)})
	}
	rows = append(rows, []string{"policies", cli.Printable(strings.Join(answer.GetPolicies(), " "))})
	if end := answer.GetExpireTime(); end != nil {
		rows = append(rows, []string{"ends", cli.Moment(end)})
	}
	if parent := answer.GetParent(); parent != "" {
		rows = append(rows, []string{"parent", cli.Printable(parent)})
	}
	return append(rows, []string{"mode", modeWord(answer.GetMode())})
}

// newAuthCanCommand returns `tenure auth can`.
func newAuthCanCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "can RULE",
		Short: "Report whether you have a right",
		Long: `Report whether your policies give a right, written as a rule. Prints yes or no; the exit code is 0 for yes and 1 for
no. The mode does not matter.`,
		Example: `  tenure auth can 'key "service/web/config" write'
  TENURE_TOKEN_FILE=web.token tenure auth can 'session "web-"* write'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy, err := authz.ParsePolicy(args[0])
			if err != nil || len(policy.Rules) != 1 {
				return cli.UsageError("%s is not one rule, such as: key \"service/\"* write%s", cli.Quoted(args[0]), because(err))
			}
			var answer *tenurev1.CheckAccessResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.CheckAccess(ctx, &tenurev1.CheckAccessRequest{Rule: args[0]})
				return err
			})
			if err != nil {
				return err
			}
			text := "no"
			if answer.GetAllowed() {
				text = "yes"
			}
			if env.JSON() {
				err = env.PrintDocument(answer)
			} else {
				err = env.Printf("%s\n", text)
			}
			if err == nil && !answer.GetAllowed() {
				return cli.SilentExit(cli.ExitRefused)
			}
			return err
		},
	}
}

// because returns an error as the end of a sentence.
func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
