package catalog

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// NewQueryCommand returns `tenure query`.
func NewQueryCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("query", "Store and run named searches of the catalog", `  tenure query create web --service web --passing --fallback zone=eu-2 --fallback service=web-static
  tenure query run web --limit 3
  tenure query list`,
		newQueryCreateCommand(env),
		newQueryUpdateCommand(env),
		newQueryRunCommand(env),
		newQueryShowCommand(env),
		newQueryExplainCommand(env),
		newQueryListCommand(env),
		newQueryDeleteCommand(env),
	)
}

// newQueryCreateCommand returns `tenure query create`.
func newQueryCreateCommand(env *cli.Environment) *cobra.Command {
	f := &queryFlags{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Store a query under a name",
		Long: `Store a query: which instances of a service a program gets when it runs the query by NAME. Critical instances
are always left out. With --session, the query is deleted when the session ends, in the same step.
With --prefix, every name that starts with NAME runs it; texts may then use ${name.full}, ${name.prefix},
${name.suffix} and, of what --regexp finds in the name, ${match(1)}.`,
		Example: `  tenure query create web --service web --tag v2 --passing --near _agent
  tenure query create geo- --prefix --service '${name.suffix}'
  tenure query create web --service web --fallback zone=eu-2 --fallback service=web-static`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := &tenurev1.Query{Name: args[0]}
			if err := f.apply(cmd, q); err != nil {
				return err
			}
			if q.GetService() == "" {
				return cli.UsageError("--service is missing: the service whose instances the query finds")
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return createQuery(ctx, env, c, f, q)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// createQuery stores a query and prints its id.
func createQuery(ctx context.Context, e *cli.Environment, c *tenure.Client, f *queryFlags, q *tenurev1.Query) error {
	actor, err := f.actor(ctx, e, c, q)
	if err != nil {
		return err
	}
	var answer *tenurev1.CreateQueryResponse
	err = c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(member).CreateQuery(ctx, &tenurev1.CreateQueryRequest{Query: q, Options: cli.ActingAs(actor, once)})
		return err
	})
	return toldChange(e, answer, err, "Query created: "+q.GetName()+" ("+answer.GetQueryId()+")")
}

// newQueryUpdateCommand returns `tenure query update`.
func newQueryUpdateCommand(env *cli.Environment) *cobra.Command {
	f := &queryFlags{}
	cmd := &cobra.Command{
		Use:   "update QUERY",
		Short: "Change a query",
		Long: `Change what flags say of a query, by its name or id; the rest stays. A flag that can be repeated replaces all
that was there, and with an empty value removes it. If the query changes at the same time, nothing is
written.`,
		Example: `  tenure query update web --tag v3
  tenure query update web --fallback ''`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return updateQuery(ctx, env, c, cmd, f, args[0])
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "another name for the query")
	return cmd
}

// updateQuery changes a query as it was read, unless it changed since.
func updateQuery(ctx context.Context, e *cli.Environment, c *tenure.Client, cmd *cobra.Command, f *queryFlags, which string) error {
	q, err := getQuery(ctx, c, which)
	if err != nil {
		return err
	}
	id, revision := q.GetQueryId(), q.GetModRevision()
	if err = f.apply(cmd, q); err != nil {
		return err
	}
	actor, err := f.actor(ctx, e, c, q)
	if err != nil {
		return err
	}
	var answer *tenurev1.UpdateQueryResponse
	err = c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(member).UpdateQuery(ctx, &tenurev1.UpdateQueryRequest{
			QueryId: id, Query: q, IfRevision: &revision, Options: cli.ActingAs(actor, once),
		})
		return err
	})
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED {
		return cli.RefusedError("the query %s changed at the same time; look at it with `tenure query show`, and try again", cli.Quoted(which))
	}
	return toldChange(e, answer, err, "Query updated: "+which)
}

// newQueryDeleteCommand returns `tenure query delete`.
func newQueryDeleteCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "delete QUERY",
		Short:   "Delete a query",
		Long:    "Delete a query, by its name or id.",
		Example: "  tenure query delete web",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				q, err := getQuery(ctx, c, args[0])
				if err != nil {
					return err
				}
				var answer *tenurev1.DeleteQueryResponse
				err = c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
					answer, err = tenurev1.NewQueryServiceClient(member).DeleteQuery(ctx, &tenurev1.DeleteQueryRequest{QueryId: q.GetQueryId(), Options: once})
					return err
				})
				return toldChange(env, answer, err, "Query deleted: "+args[0])
			})
		},
	}
}

// newQueryRunCommand returns `tenure query run`.
func newQueryRunCommand(env *cli.Environment) *cobra.Command {
	r := &tenurev1.ExecuteQueryRequest{}
	cmd := &cobra.Command{
		Use:   "run QUERY",
		Short: "Run a query and list the instances that it finds",
		Long: `Run a query, by a name or its id, and list the instances that it finds: node, id, service, address and port,
status and tags. Their order is random; with --near, or if the query has it, near ones come first. If nothing
is found the list is empty, and the command succeeds.`,
		Example: "  tenure query run web --limit 1\n  tenure query run web --near web1 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.NotZero(cmd.Flags(), "limit"); err != nil {
				return err
			}
			r.IdOrName = args[0]
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return runQuery(ctx, env, c, r)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Near, "near", "", "node near which instances are preferred, instead of the query's")
	flags.StringVar(&r.CallerNode, "caller-node", "", "node that _agent means")
	flags.Uint32Var(&r.Limit, "limit", 0, "maximum number of instances (default: 1000)")
	flags.BoolVar(&r.Passing, "passing", false, "also leave out instances in warning")
	return cmd
}

// runQuery prints what a query finds.
func runQuery(ctx context.Context, e *cli.Environment, c *tenure.Client, r *tenurev1.ExecuteQueryRequest) error {
	var answer *tenurev1.ExecuteQueryResponse
	err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(member).ExecuteQuery(ctx, r)
		return err
	})
	switch {
	case err != nil:
		return err
	case e.JSON():
		return e.PrintDocument(answer)
	}
	if n := answer.GetFallback(); n > 0 && len(answer.GetInstances()) > 0 {
		e.Notef("found by fallback %d, in service %s", n, cli.Quoted(answer.GetService()))
	}
	return e.PrintTable(instanceRows(answer.GetInstances()))
}

// newQueryShowCommand returns `tenure query show`.
func newQueryShowCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "show QUERY",
		Short:   "Show a query as it is stored",
		Long:    "Show a query as it is stored, by its name or id.",
		Example: "  tenure query show web\n  tenure query show web -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				q, err := getQuery(ctx, c, args[0])
				if err != nil {
					return err
				}
				return printQuery(env, q)
			})
		},
	}
}

// newQueryExplainCommand returns `tenure query explain`.
func newQueryExplainCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "explain NAME",
		Short:   "Show what a name would run",
		Long:    "Show the query that a name would run, with all texts filled in.",
		Example: "  tenure query explain geo-web",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				var answer *tenurev1.ExplainQueryResponse
				err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
					answer, err = tenurev1.NewQueryServiceClient(member).ExplainQuery(ctx, &tenurev1.ExplainQueryRequest{IdOrName: args[0]})
					return err
				})
				if err != nil {
					return err
				}
				return printQuery(env, answer.GetQuery())
			})
		},
	}
}

// newQueryListCommand returns `tenure query list`.
func newQueryListCommand(env *cli.Environment) *cobra.Command {
	r := &tenurev1.ListQueriesRequest{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List queries",
		Long:    "List queries: name, service, which names run them, session and id.",
		Example: "  tenure query list\n  tenure query list --name geo-",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listQueries(ctx, env, c, r)
			})
		},
	}
	cmd.Flags().StringVar(&r.NamePrefix, "name", "", "only queries whose name has this prefix")
	cli.VisibleOnlyFlag(cmd.Flags(), &r.VisibleOnly)
	cli.SessionIDFlag(cmd.Flags(), &r.SessionId, "session", "only queries of this session")
	return cmd
}

// listQueries prints all pages of a list.
func listQueries(ctx context.Context, e *cli.Environment, c *tenure.Client, r *tenurev1.ListQueriesRequest) error {
	all := &tenurev1.ListQueriesResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewQueryServiceClient, tenurev1.QueryServiceClient.ListQueries, r, &r.PageToken, func(page *tenurev1.ListQueriesResponse) {
		all.Header, all.Queries = page.GetHeader(), append(all.GetQueries(), page.GetQueries()...)
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"NAME", "SERVICE", "MATCH", "SESSION", "ID"}}
	for _, q := range all.GetQueries() {
		rows = append(rows, []string{
			cli.OrDash(q.GetName()), cli.Printable(q.GetService()), cli.Words(q.GetMatch().String(), "QUERY_MATCH_"), cli.OrDash(q.GetSessionId()), q.GetQueryId(),
		})
	}
	return e.PrintTable(rows)
}

// getQuery reads a query by its name or id.
func getQuery(ctx context.Context, c *tenure.Client, which string) (*tenurev1.Query, error) {
	var answer *tenurev1.GetQueryResponse
	err := c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) (err error) {
		answer, err = tenurev1.NewQueryServiceClient(member).GetQuery(ctx, &tenurev1.GetQueryRequest{IdOrName: which})
		return err
	})
	return answer.GetQuery(), err
}

// printQuery prints what a query has.
func printQuery(e *cli.Environment, q *tenurev1.Query) error {
	if e.JSON() {
		return e.PrintDocument(q)
	}
	rows := [][]string{
		{"ID", q.GetQueryId()},
		{"Name", cli.OrDash(q.GetName())},
		{"Run by", cli.Words(q.GetMatch().String(), "QUERY_MATCH_")},
		{"Service", cli.Printable(q.GetService())},
	}
	for _, row := range [][2]string{
		{"Regexp", q.GetRegexp()},
		{"Tags", strings.Join(q.GetTags(), ",")},
		{"Node facts", pairsText(q.GetNodeMeta())},
		{"Service facts", pairsText(q.GetServiceMeta())},
		{"Ignored checks", strings.Join(q.GetIgnoreChecks(), ",")},
		{"Near", q.GetNear()},
		{"Facts", pairsText(q.GetMeta())},
		{"Session", q.GetSessionId()},
	} {
		if row[1] != "" {
			rows = append(rows, []string{row[0], cli.Printable(row[1])})
		}
	}
	if q.GetOnlyPassing() {
		rows = append(rows, []string{"Instances", "only those that pass"})
	}
	for _, f := range q.GetFallbacks() {
		rows = append(rows, []string{"Fallback", cli.Printable(fallbackText(f))})
	}
	return e.PrintTable(rows)
}
