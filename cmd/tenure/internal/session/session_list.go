package session

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionListCommand returns `tenure session list`.
func newSessionListCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ListSessionsRequest{}
	var olderThan time.Duration
	var host string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List live sessions",
		Long: `List the live sessions: name, node, TTL, remaining time of the TTL, and the number of objects, which
are holds, places in queues and ephemeral keys; "objects" of -o json is one more, for the session itself.
With several filters, list the sessions that match all. With --principal, list those that one of these principals
opened; to list sessions that others opened, you also need the right "admin read".
Sessions without TTL live until they are destroyed: check now and then whether they are still needed.`,
		Example: `  tenure session list
  tenure session list --no-ttl --older-than 24h
  tenure session list --host "$(hostname)" --name 'tenure lock'
  tenure session list --principal token:6f2c1a4e-0b1d-4c3e-9a57-1f2e3d4c5b6a
  tenure session list -o json | jq '.sessions[] | {sessionId, name}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("older-than") {
				if olderThan < 0 {
					return cli.UsageError("--older-than is %v; it must not be negative", olderThan)
				}
				request.OlderThan = durationpb.New(olderThan)
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listSessions(ctx, env, c, request, host)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&request.NoTtl, "no-ttl", false, "only sessions without TTL")
	flags.StringVar(&request.NamePrefix, "name", "", "only sessions whose name has this prefix")
	flags.StringArrayVar(&request.Principals, "principal", nil, "only sessions that this principal opened, such as token:ACCESSOR; may be repeated")
	flags.StringVar(&host, "host", "", "only sessions from this host")
	flags.DurationVar(&olderThan, "older-than", 0, "only sessions older than this")
	cli.VisibleOnlyFlag(flags, &request.VisibleOnly)
	return cmd
}

// EachSession gives all sessions of a list to take, page by page, and returns the header of the last page.
func EachSession(
	ctx context.Context, c *tenure.Client, request *tenurev1.ListSessionsRequest, take func(*tenurev1.Session),
) (*tenurev1.ResponseHeader, error) {
	var header *tenurev1.ResponseHeader
	err := cli.EachPage(ctx, c, tenurev1.NewSessionServiceClient, tenurev1.SessionServiceClient.ListSessions, request, &request.PageToken, func(page *tenurev1.ListSessionsResponse) {
		for _, session := range page.GetSessions() {
			take(session)
		}
		header = page.GetHeader()
	})
	return header, err
}

// listSessions prints all pages of a list. A host is where a session says that its process runs.
func listSessions(
	ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListSessionsRequest, host string,
) error {
	all := &tenurev1.ListSessionsResponse{}
	header, err := EachSession(ctx, c, request, func(s *tenurev1.Session) {
		if host == "" || s.GetNode() == host || s.GetMetadata()["host"] == host {
			all.Sessions = append(all.Sessions, s)
		}
	})
	if err != nil {
		return err
	}
	all.Header = header
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"ID", "NAME", "NODE", "TTL", "LEFT", "OBJECTS", "CREATED"}}
	for _, s := range all.GetSessions() {
		left := "-"
		if s.GetTtlLeft() != nil {
			left = cli.Length(s.GetTtlLeft())
		}
		objects := "-" // Not known.
		if n := s.GetObjects(); n > 0 {
			objects = strconv.Itoa(int(n) - 1)
		}
		rows = append(rows, []string{
			s.GetSessionId(), cli.OrDash(s.GetName()), cli.OrDash(cmp.Or(s.GetNode(), s.GetMetadata()["host"])),
			cli.LengthOrNone(s.GetTtl()), left, objects, cli.Moment(s.GetCreateTime()),
		})
	}
	return e.PrintTable(rows)
}
