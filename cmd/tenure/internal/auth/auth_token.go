package auth

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// adminPolicy is the built-in policy that allows everything.
	adminPolicy = "admin"
	// ownToken stands for the caller's own token where a parent is named.
	ownToken = "self"
)

// newAuthTokenCommand returns `tenure auth token`.
func newAuthTokenCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("token", "Create, list, show, rotate and revoke tokens", `  tenure auth token create --name web --policy web > web.token
  tenure auth token list
  tenure auth token revoke 6f2c1a4e-0b1d-4c3e-9a57-1f2e3d4c5b6a`,
		newAuthTokenCreateCommand(env), newAuthTokenListCommand(env), newAuthTokenInfoCommand(env),
		newAuthTokenRotateCommand(env), newAuthTokenRevokeCommand(env))
}

// newAuthTokenCreateCommand returns `tenure auth token create`.
func newAuthTokenCreateCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.CreateTokenRequest{}
	var ttl string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token and print its text",
		Long: `Create a token with the rights of its policies. Its text is printed alone on standard output, once: the cluster
keeps only a hash. Send it as "authorization: Bearer TEXT", or let the commands and libraries read it from
TENURE_TOKEN or from the file that TENURE_TOKEN_FILE names.

With --parent the token is a child of another one: it may do what both its own policies and its parent allow, at every
moment, and ends with its parent. Its policies are those of the parent unless you give some. A child of your own token
(--parent self) takes no further right, if you give it no policies but your own.`,
		Example: `  tenure auth token create --name web --policy web > web.token
  tenure auth token create --name ci --policy deploy --policy ro --ttl 1h -o json
  tenure auth token create --name job --parent self --ttl 1h > job.token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setLife(request, ttl); err != nil {
				return err
			}
			if request.GetParent() == ownToken {
				own, err := ownAccessor(cmd.Context(), env)
				if err != nil {
					return err
				}
				request.Parent = own
			}
			return createToken(cmd.Context(), env, request)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Name, "name", "", "name of the token, for people")
	flags.StringArrayVar(&request.Policies, "policy", nil, "policy of the token; may be repeated")
	flags.StringVar(&request.Node, "node", "", "machine that rules for \"session node self\" mean; default: that of the parent")
	flags.StringVar(&ttl, "ttl", "", "how long the token lasts, at least 1m, such as 24h; none: until it is revoked; default 90 days")
	flags.StringVar(&request.Parent, "parent", "", "accessor of the token with which this one ends and that limits its rights; self: your own")
	return cmd
}

// ownAccessor returns the accessor of the caller's token.
func ownAccessor(ctx context.Context, e *cli.Environment) (accessor string, err error) {
	err = callAuth(ctx, e, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) error {
		own, failed := auth.GetToken(ctx, &tenurev1.GetTokenRequest{})
		accessor = own.GetToken().GetAccessor()
		return failed
	})
	return accessor, err
}

// setLife sets how long a token lasts.
func setLife(request *tenurev1.CreateTokenRequest, ttl string) error {
	switch ttl {
	case "":
		return nil
	case "none":
		request.NoExpiry = true
		return nil
	}
	d, err := time.ParseDuration(ttl)
	if err != nil || d <= 0 {
		return cli.UsageError("--ttl is %s; it must be a duration such as 30m or 24h, or none", cli.Quoted(ttl))
	}
	request.Ttl = durationpb.New(d)
	return nil
}

// createToken creates a token and prints its text.
func createToken(ctx context.Context, e *cli.Environment, request *tenurev1.CreateTokenRequest) error {
	var answer *tenurev1.CreateTokenResponse
	err := callAuth(ctx, e, cli.OnlyOnce, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
		answer, err = auth.CreateToken(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	return printSecret(e, answer, answer.GetText(), answer.GetToken())
}

// printSecret prints the text of a token alone, and notes what it is of.
func printSecret(e *cli.Environment, answer proto.Message, text string, token *tenurev1.Token) error {
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	ends := "does not end"
	if token.GetExpireTime() != nil {
		ends = "ends " + cli.Moment(token.GetExpireTime())
	}
	e.Notef("The token %s %s. Its text is not shown again.", token.GetAccessor(), ends)
	return e.Printf("%s\n", text)
}

// newAuthTokenListCommand returns `tenure auth token list`.
func newAuthTokenListCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List tokens",
		Long:    "List tokens: accessor, name, policies, when they were made, when they end, on which day (UTC) they were last used, and of which token they are children. Their texts are never listed.",
		Example: "  tenure auth token list\n  tenure auth token list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := listTokens(cmd.Context(), env)
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(all)
			}
			rows := [][]string{{"ACCESSOR", "NAME", "POLICIES", "MADE", "ENDS", "LAST USED", "PARENT"}}
			for _, t := range all.GetTokens() {
				rows = append(rows, []string{
					t.GetAccessor(), dashed(t.GetName()), dashed(strings.Join(t.GetPolicies(), " ")), cli.Moment(t.GetCreateTime()), tokenEnd(t),
					lastUsed(t), dashed(t.GetParent()),
				})
			}
			return env.PrintTable(rows)
		},
	}
}

// listTokens returns all tokens.
func listTokens(ctx context.Context, e *cli.Environment) (*tenurev1.ListTokensResponse, error) {
	all := &tenurev1.ListTokensResponse{}
	err := authPages(ctx, e, func(ctx context.Context, auth tenurev1.AuthServiceClient, token string) (string, error) {
		page, err := auth.ListTokens(ctx, &tenurev1.ListTokensRequest{PageToken: token})
		if err != nil {
			return "", err
		}
		all.Header, all.Tokens = page.GetHeader(), append(all.Tokens, page.GetTokens()...)
		return page.GetNextPageToken(), nil
	})
	return all, err
}

// lastAdmin reports whether, of all tokens, none with the policy admin that has not ended is left without one and those that descend from it.
func lastAdmin(all *tenurev1.ListTokensResponse, accessor string) bool {
	known := map[string]*tenurev1.Token{}
	for _, t := range all.GetTokens() {
		known[t.GetAccessor()] = t
	}
	with, without := 0, 0
	for _, t := range all.GetTokens() {
		end := t.GetExpireTime()
		switch admin, below := lineOf(known, t, accessor); {
		case !admin || end != nil && !end.AsTime().After(time.Now()):
		case below:
			with++
		default:
			without++
		}
	}
	return with > 0 && without == 0
}

// lineOf reports whether a token and all from which it descends have the policy admin, and whether one of them is that with an accessor.
func lineOf(known map[string]*tenurev1.Token, t *tenurev1.Token, accessor string) (admin, below bool) {
	admin = true
	for ; t != nil; t = known[t.GetParent()] {
		admin = admin && slices.Contains(t.GetPolicies(), adminPolicy)
		below = below || t.GetAccessor() == accessor
	}
	return admin, below
}

// dashed returns a text for a table, where an empty one is a dash.
func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return cli.Printable(text)
}

// tokenEnd returns when a token ends.
func tokenEnd(t *tenurev1.Token) string {
	if t.GetExpireTime() == nil {
		return "never"
	}
	return cli.Moment(t.GetExpireTime())
}

// lastUsed returns the day on which a token was last used, or a dash.
func lastUsed(t *tenurev1.Token) string {
	if t.GetLastUsedTime() == nil {
		return "-"
	}
	return t.GetLastUsedTime().AsTime().Format(time.DateOnly)
}

// newAuthTokenInfoCommand returns `tenure auth token info`.
func newAuthTokenInfoCommand(env *cli.Environment) *cobra.Command {
	var self bool
	cmd := &cobra.Command{
		Use:     "info ACCESSOR|--self",
		Short:   "Show a token",
		Long:    "Show what is known of a token, or of your own with --self. Its text is not known.",
		Example: "  tenure auth token info --self\n  tenure auth token info 6f2c1a4e-0b1d-4c3e-9a57-1f2e3d4c5b6a",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			accessor, err := accessorOf(args, self)
			if err != nil {
				return err
			}
			var answer *tenurev1.GetTokenResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.GetToken(ctx, &tenurev1.GetTokenRequest{Accessor: accessor})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			t := answer.GetToken()
			return env.PrintTable([][]string{
				{"accessor", t.GetAccessor()},
				{"name", dashed(t.GetName())},
				{"policies", dashed(strings.Join(t.GetPolicies(), " "))},
				{"node", dashed(t.GetNode())},
				{"ends", tokenEnd(t)},
				{"last used", lastUsed(t)},
				{"parent", dashed(t.GetParent())},
				{"made by", dashed(t.GetCreatedBy())},
				{"made at", cli.Moment(t.GetCreateTime())},
			})
		},
	}
	addSelf(cmd, &self)
	return cmd
}

// addSelf adds the flag for one's own token.
func addSelf(cmd *cobra.Command, self *bool) {
	cmd.Flags().BoolVar(self, "self", false, "the token that this command uses")
}

// accessorOf returns the accessor of a command's arguments; empty for one's own token.
func accessorOf(args []string, self bool) (string, error) {
	switch {
	case self && len(args) > 0:
		return "", cli.UsageError("give an accessor or --self, not both")
	case self:
		return "", nil
	case len(args) == 0 || args[0] == "":
		return "", cli.UsageError("give the accessor of a token, or --self for your own")
	default:
		return args[0], nil
	}
}

// newAuthTokenRotateCommand returns `tenure auth token rotate`.
func newAuthTokenRotateCommand(env *cli.Environment) *cobra.Command {
	var self bool
	cmd := &cobra.Command{
		Use:   "rotate ACCESSOR|--self",
		Short: "Give a token a new text and print it",
		Long: `Give a token a new text, which is printed alone on standard output, once. The old text is refused from then on, and so
are the token's children, which may have been made with it: they end, and the command names them first, as far as you may
list tokens. Sessions of the token stay, as it renews them with its new text. Those of its children stay, too, but with
mode enforce can no longer be renewed with these tokens: "tenure session list --principal token:ACCESSOR" shows them.
To change a token without a gap, create a second one, and revoke the first when nothing uses it.`,
		Example: "  tenure auth token rotate --self > new.token && mv new.token web.token",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			accessor, err := accessorOf(args, self)
			if err != nil {
				return err
			}
			noteChildren(cmd.Context(), env, accessor)
			var answer *tenurev1.RotateTokenResponse
			err = callAuth(cmd.Context(), env, cli.OnlyOnce, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.RotateToken(ctx, &tenurev1.RotateTokenRequest{Accessor: accessor})
				return err
			})
			if err != nil {
				return err
			}
			return printSecret(env, answer, answer.GetText(), answer.GetToken())
		},
	}
	addSelf(cmd, &self)
	return cmd
}

// noteChildren names the tokens that end when one is rotated, as far as the caller may know.
func noteChildren(ctx context.Context, e *cli.Environment, accessor string) {
	all, err := listTokens(ctx, e)
	if err != nil {
		return
	}
	if accessor == "" {
		if accessor, err = ownAccessor(ctx, e); err != nil {
			return
		}
	}
	if id, failed := uuid.Parse(accessor); failed == nil {
		accessor = id.String() // As tokens have it.
	}
	if family := familyOf(all, accessor); len(family) > 1 {
		e.Notef("The tokens that descend from it end: %s", strings.Join(family[1:], " "))
	}
}

// deleted prints the outcome of a deletion.
func deleted(e *cli.Environment, err error, answer proto.Message, deleted bool, thing, name string) error {
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	if !deleted {
		return e.Printf("Success! There is no %s %s.\n", thing, cli.Printable(name))
	}
	return e.Printf("Success! The %s %s is deleted.\n", thing, cli.Printable(name))
}
