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
)

// newAuthProviderCommand returns `tenure auth provider`.
func newAuthProviderCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("provider", "Accept JSON Web Tokens of others", `  tenure auth provider put k8s --issuer https://kubernetes.default.svc --audience tenure --jwks keys.json
  tenure auth binding put web --principal jwt:k8s/system:serviceaccount:web: --policy web
  tenure auth provider list`,
		newAuthProviderPutCommand(env), newAuthProviderListCommand(env), newAuthProviderDeleteCommand(env))
}

// newAuthProviderPutCommand returns `tenure auth provider put`.
func newAuthProviderPutCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.PutProviderRequest{}
	var keys, ca string
	cmd := &cobra.Command{
		Use:   "put NAME",
		Short: "Write a provider",
		Long: `Write a provider of JSON Web Tokens, or replace it. A caller that sends one of its tokens as "authorization: Bearer
TEXT" is jwt:NAME/SUBJECT, and has the policies of the bindings that are about that principal; none, at first.

Members fetch the keys of the provider from --jwks-url, or from where the issuer says, every 10 minutes. With --jwks the
keys are part of the provider, and nothing is fetched.`,
		Example: `  tenure auth provider put ci --issuer https://ci.example.org --audience tenure
  tenure auth provider put k8s --issuer https://kubernetes.default.svc --audience tenure \
    --jwks-url https://10.0.0.1:6443/openid/v1/jwks --jwks-ca-file k8s.crt
  kubectl get --raw /openid/v1/jwks | tenure auth provider put k8s --issuer https://kubernetes.default.svc --audience tenure --jwks -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			request.Name = args[0]
			if request.Jwks, err = providerFile(cmd.Context(), env, "--jwks", keys); err != nil {
				return err
			}
			if request.CaCertificates, err = providerFile(cmd.Context(), env, "--jwks-ca-file", ca); err != nil {
				return err
			}
			var answer *tenurev1.PutProviderResponse
			err = callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.PutProvider(ctx, request)
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			return env.Printf("Success! The provider %s is written.\n", cli.Printable(args[0]))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Issuer, "issuer", "", "what the tokens have as \"iss\"")
	flags.StringArrayVar(&request.Audiences, "audience", nil, "what the tokens have in \"aud\"; may be repeated: one of them")
	flags.StringVar(&keys, "jwks", "", "file with the keys, a JSON Web Key Set; - is standard input")
	flags.StringVar(&request.JwksUrl, "jwks-url", "", "URL of the keys; default: where the issuer says")
	flags.StringVar(&ca, "jwks-ca-file", "", "CA certificates that the server with the keys is verified with; default: the system's")
	flags.StringArrayVar(&request.Algorithms, "algorithm", nil,
		"algorithm of signatures: RS256, ES256, ES384 or EdDSA; may be repeated; default: RS256 and ES256")
	return cmd
}

// providerFileBytesMax bounds what a file of a provider may have; members accept less.
const providerFileBytesMax = 256 << 10

// providerFile returns what is in a file that a flag names; nothing if it names none.
func providerFile(ctx context.Context, e *cli.Environment, flag, path string) (string, error) {
	var from io.Reader
	switch path {
	case "":
		return "", nil
	case "-":
		from = e.Input(ctx)
	default:
		f, err := os.Open(path)
		if err != nil {
			return "", cli.UsageError("%s: %w", flag, err)
		}
		defer func() { _ = f.Close() }() // It was only read.
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, providerFileBytesMax+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", flag, err)
	case len(data) > providerFileBytesMax:
		return "", cli.UsageError("%s: longer than %d bytes", flag, providerFileBytesMax)
	case len(data) == 0:
		return "", cli.UsageError("%s: %s is empty", flag, cli.Printable(path))
	}
	return string(data), nil
}

// newAuthProviderListCommand returns `tenure auth provider list`.
func newAuthProviderListCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List providers",
		Long: `List providers: name, issuer, audiences, and what the member that responds knows of their keys. Each member
fetches the keys itself.`,
		Example: "  tenure auth provider list\n  tenure auth provider list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var answer *tenurev1.ListProvidersResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.ListProviders(ctx, &tenurev1.ListProvidersRequest{})
				return err
			})
			if err != nil {
				return err
			}
			if env.JSON() {
				return env.PrintDocument(answer)
			}
			known := map[string]*tenurev1.ProviderKeys{}
			for _, k := range answer.GetKeys() {
				known[k.GetProvider()] = k
			}
			rows := [][]string{{"NAME", "ISSUER", "AUDIENCES", "KEYS"}}
			for _, p := range answer.GetProviders() {
				rows = append(rows, []string{
					cli.Printable(p.GetName()), cli.Printable(p.GetIssuer()), cli.Printable(strings.Join(p.GetAudiences(), " ")), keysText(known[p.GetName()]),
				})
			}
			return env.PrintTable(rows)
		},
	}
}

// keysText returns what is known of the keys of a provider.
func keysText(k *tenurev1.ProviderKeys) string {
	text := cli.Counted(k.GetKeys(), "key")
	if k.GetFetchTime() != nil {
		text += ", fetched " + cli.Moment(k.GetFetchTime())
	}
	if k.GetFailure() != "" {
		text += ", last attempt failed: " + cli.Printable(k.GetFailure())
	}
	return text
}

// newAuthProviderDeleteCommand returns `tenure auth provider delete`.
func newAuthProviderDeleteCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a provider",
		Long:    "Delete a provider. Callers with its tokens are refused immediately.",
		Example: "  tenure auth provider delete ci",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer *tenurev1.DeleteProviderResponse
			err := callAuth(cmd.Context(), env, cli.MayRepeat, func(ctx context.Context, auth tenurev1.AuthServiceClient) (err error) {
				answer, err = auth.DeleteProvider(ctx, &tenurev1.DeleteProviderRequest{Name: args[0]})
				return err
			})
			return deleted(env, err, answer, answer.GetDeleted(), "provider", args[0])
		},
	}
}
