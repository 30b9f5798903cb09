package auth

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newAuthBindingCommand returns `tenure auth binding`.
func newAuthBindingCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("binding", "Give policies to callers without a token of the cluster", `  tenure auth binding put web --principal cert:spiffe://tenure.internal/web --policy web
  tenure auth binding put everyone --anonymous --policy public
  tenure auth binding list`,
		newAuthBindingPutCommand(env), newAuthBindingListCommand(env), newAuthBindingDeleteCommand(env))
}

// newAuthBindingPutCommand returns `tenure auth binding put`.
func newAuthBindingPutCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.PutBindingRequest{}
	var anonymous bool
	var issuedAfter string
	cmd := &cobra.Command{
		Use:   "put NAME",
		Short: "Write a binding",
		Long: `Write a binding, or replace it. A binding gives policies to callers with a client certificate or a JSON Web Token, by
their principal, or with --anonymous to callers without any credential. A principal that ends in / or : matches all
principals with this prefix. A caller with a token of the cluster has only the policies of the token. Members look at
certificates of clients only with --client-ca-file.

With --issued-after, JSON Web Tokens issued before that time get nothing from the binding, so leaked ones no longer
work.`,
		Example: `  tenure auth binding put web --principal cert:spiffe://tenure.internal/web --policy web
  tenure auth binding put all-web --principal cert:spiffe://tenure.internal/web/ --policy web
  tenure auth binding put k8s-web --principal jwt:k8s/system:serviceaccount:web: --policy web --issued-after now
  tenure auth binding put everyone --anonymous --policy public`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Name = args[0]
			request.Kind = tenurev1.BindingKind_BINDING_KIND_CERTIFICATE
			switch {
			case anonymous:
				request.Kind = tenurev1.BindingKind_BINDING_KIND_ANONYMOUS
			case strings.HasPrefix(request.GetPrincipal(), "jwt:"):
				request.Kind = tenurev1.BindingKind_BINDING_KIND_JWT
			}
			var err error
			if request.IssuedAfter, err = instantOf(issuedAfter, time.Now()); err != nil {
				return err
			}
			if anonymous == (request.GetPrincipal() != "") {
				return cli.UsageError("give --principal or --anonymous: one of them")
			}
			var answer *tenurev1.PutBindingResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.PutBinding(ctx, request)
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.Printf("Success! The binding %s is written.\n", cli.Printable(args[0]))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Principal, "principal", "", "principal of the callers, as \"tenure auth whoami\" shows it")
	flags.BoolVar(&anonymous, "anonymous", false, "callers without any credential")
	flags.StringArrayVar(&request.Policies, "policy", nil, "policy of the callers; may be repeated")
	flags.StringVar(&request.Node, "node", "", "machine that rules for \"session node self\" mean")
	flags.StringVar(&issuedAfter, "issued-after", "", "only JSON Web Tokens that were issued from this time on, such as 2026-11-27T06:00:00Z, or now")
	return cmd
}

// instantOf reads a time, or now; nothing is none.
func instantOf(text string, now time.Time) (*timestamppb.Timestamp, error) {
	switch text {
	case "":
		return nil, nil
	case "now":
		return timestamppb.New(now.Truncate(time.Second)), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, cli.UsageError("--issued-after is %s; it must be a time such as 2026-11-27T06:00:00Z, or now", cli.Quoted(text))
	}
	return timestamppb.New(at), nil
}

// newAuthBindingListCommand returns `tenure auth binding list`.
func newAuthBindingListCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List bindings",
		Long:    "List bindings: name, principal and policies.",
		Example: "  tenure auth binding list\n  tenure auth binding list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := &tenurev1.ListBindingsResponse{}
			err := authPages(cmd.Context(), env, func(ctx context.Context, auth tenurev1.AuthServiceClient, token string) (string, error) {
				page, err := auth.ListBindings(ctx, &tenurev1.ListBindingsRequest{PageToken: token})
				if err != nil {
					return "", err
				}
				all.Header, all.Bindings = page.GetHeader(), append(all.Bindings, page.GetBindings()...)
				return page.GetNextPageToken(), nil
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(all)
			}
			rows := [][]string{{"NAME", "PRINCIPAL", "POLICIES"}}
			for _, b := range all.GetBindings() {
				principal := b.GetPrincipal()
				if b.GetKind() == tenurev1.BindingKind_BINDING_KIND_ANONYMOUS {
					principal = "anonymous"
				}
				rows = append(rows, []string{cli.Printable(b.GetName()), cli.Printable(principal), cli.Printable(strings.Join(b.GetPolicies(), " "))})
			}
			return env.PrintTable(rows)
		},
	}
}

// newAuthBindingDeleteCommand returns `tenure auth binding delete`.
func newAuthBindingDeleteCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a binding",
		Long:    "Delete a binding. Its callers lose its rights immediately.",
		Example: "  tenure auth binding delete everyone",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer *tenurev1.DeleteBindingResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.DeleteBinding(ctx, &tenurev1.DeleteBindingRequest{Name: args[0]})
				return err
			})
			return deleted(env, err, answer, answer.GetDeleted(), "binding", args[0])
		},
	}
}
