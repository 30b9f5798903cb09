package auth

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// newAuthPolicyCommand returns `tenure auth policy`.
func newAuthPolicyCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("policy", "Write, list, show, delete and check policies", `  tenure auth policy check web.policy
  tenure auth policy put web web.policy
  tenure auth policy show web`,
		newAuthPolicyPutCommand(env), newAuthPolicyListCommand(env), newAuthPolicyShowCommand(env),
		newAuthPolicyDeleteCommand(env), newAuthPolicyCheckCommand(env))
}

// readPolicy returns a policy of a file, or of standard input for "-", once it can be read.
func readPolicy(ctx context.Context, e *cli.Environment, path string) (authz.Policy, string, error) {
	in := e.Input(ctx)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return authz.Policy{}, "", cli.UsageError("%w", err)
		}
		defer func() { _ = f.Close() }() // It was only read.
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, authz.PolicyBytesMax+1))
	if err != nil {
		return authz.Policy{}, "", fmt.Errorf("read the policy: %w", err)
	}
	policy, err := authz.ParsePolicy(string(text))
	if err != nil {
		return authz.Policy{}, "", cli.RefusedError("%s: %w", cli.Printable(path), err)
	}
	return policy, string(text), nil
}

// newAuthPolicyPutCommand returns `tenure auth policy put`.
func newAuthPolicyPutCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "put NAME FILE|-",
		Short: "Write a policy",
		Long: `Write a policy, or replace it, with the rules in a file; "-" reads standard input. Each rule is on one line:

  key "service/"* rw              keys with this prefix: ro, rw, or read list watch write lock break
  key "config" read               one key
  session "web-"* write           sessions by name: read write break
  session node "h1" read          sessions by node; also: session node self, session own
  node * read                     the catalog: node, service, query with read write
  operator read                   the cluster: read write backup
  admin write                     tokens, policies, bindings: read write

Rules only allow. Tokens and bindings with this policy have the new rights immediately.`,
		Example: `  tenure auth policy put web web.policy
  echo 'key "service/web/"* rw' | tenure auth policy put web -`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy, text, err := readPolicy(cmd.Context(), env, args[1])
			if err != nil {
				return err
			}
			var answer *tenurev1.PutPolicyResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: args[0], Rules: text})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.Printf("Success! The policy %s has %s.\n", cli.Printable(args[0]), cli.Counted(uint64(len(policy.Rules)), "rule"))
		},
	}
}

// newAuthPolicyListCommand returns `tenure auth policy list`.
func newAuthPolicyListCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List policies",
		Long:    "List policies by name, with the number of their rules. The built-in policy admin is not among them.",
		Example: "  tenure auth policy list\n  tenure auth policy list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := &tenurev1.ListPoliciesResponse{}
			err := authPages(cmd.Context(), env, func(ctx context.Context, auth tenurev1.AuthServiceClient, token string) (string, error) {
				page, err := auth.ListPolicies(ctx, &tenurev1.ListPoliciesRequest{PageToken: token})
				if err != nil {
					return "", err
				}
				all.Header, all.Policies = page.GetHeader(), append(all.Policies, page.GetPolicies()...)
				return page.GetNextPageToken(), nil
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(all)
			}
			rows := [][]string{{"NAME", "RULES"}}
			for _, p := range all.GetPolicies() {
				rules := 0
				if policy, err := authz.ParsePolicy(p.GetRules()); err == nil {
					rules = len(policy.Rules)
				}
				rows = append(rows, []string{cli.Printable(p.GetName()), cli.Counted(uint64(rules), "rule")})
			}
			return env.PrintTable(rows)
		},
	}
}

// authPages asks for all pages of a list.
func authPages(
	ctx context.Context, e *cli.Environment, page func(ctx context.Context, auth tenurev1.AuthServiceClient, token string) (next string, err error),
) error {
	return e.WithMembers(ctx, func(ctx context.Context, m *cli.Members) error {
		token := ""
		for {
			err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) error {
				next, err := page(ctx, tenurev1.NewAuthServiceClient(l), token)
				if err == nil {
					token = next
				}
				return err
			})
			if err != nil || token == "" {
				return err
			}
		}
	})
}

// newAuthPolicyShowCommand returns `tenure auth policy show`.
func newAuthPolicyShowCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show the rules of a policy",
		Example: "  tenure auth policy show web\n  tenure auth policy show web > web.policy",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer *tenurev1.GetPolicyResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.GetPolicy(ctx, &tenurev1.GetPolicyRequest{Name: args[0]})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.Printf("%s\n", strings.TrimSuffix(answer.GetPolicy().GetRules(), "\n"))
		},
	}
}

// newAuthPolicyDeleteCommand returns `tenure auth policy delete`.
func newAuthPolicyDeleteCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a policy",
		Long:    "Delete a policy. Tokens and bindings that name it lose its rights immediately.",
		Example: "  tenure auth policy delete web",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer *tenurev1.DeletePolicyResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.DeletePolicy(ctx, &tenurev1.DeletePolicyRequest{Name: args[0]})
				return err
			})
			return deleted(env, err, answer, answer.GetDeleted(), "policy", args[0])
		},
	}
}

// newAuthPolicyCheckCommand returns `tenure auth policy check`.
func newAuthPolicyCheckCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE|-",
		Short: "Check the rules in a file without writing them",
		Long: `Check the rules in a file; "-" reads standard input. Prints the rules as members understand them, or the line and
column of the first mistake. No member is asked.`,
		Example: "  tenure auth policy check web.policy",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			policy, _, err := readPolicy(cmd.Context(), env, args[0])
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(&tenurev1.Policy{Rules: policy.String()})
			}
			return env.Printf("%s", policy.String())
		},
	}
}
