package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewMemberCommand returns `tenure member`.
func NewMemberCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("member", "List, add, promote and remove the members that keep the data",
		`  tenure member list
  tenure member add tenure-4 > token
  tenure member replace tenure-2 tenure-5 > token
  tenure member transfer-leader`,
		newMemberListCommand(env),
		newMemberAddCommand(env),
		newMemberPromoteCommand(env),
		newMemberRemoveCommand(env),
		newMemberReplaceCommand(env),
		newMemberTransferCommand(env),
	)
}

// newMemberListCommand returns `tenure member list`.
func newMemberListCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List members: role, addresses, reachability, lag",
		Long: `List the members. LAG is the number of log entries that a member lacks; only the leader knows it.
REACHED shows whether the member that answers is connected to it.`,
		Example: `  tenure member list
  tenure member list -o json | jq -r '.members[] | select(.leader) | .name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				answer, err := ListMembers(ctx, m)
				if err != nil {
					return err
				}
				if env.JSON() {
					return env.PrintDocument(answer)
				}
				return env.PrintTable(memberRows(answer.GetMembers()))
			})
		},
	}
}

// ListMembers asks for the members.
func ListMembers(ctx context.Context, m *cli.Members) (answer *tenurev1.ListMembersResponse, err error) {
	err = m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
		answer, err = l.Cluster().ListMembers(ctx, &tenurev1.ListMembersRequest{})
		return err
	})
	return answer, err
}

// findMember returns the member that an argument names, by name or id.
func findMember(ctx context.Context, m *cli.Members, argument string) (*tenurev1.Member, error) {
	answer, err := ListMembers(ctx, m)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range answer.GetMembers() {
		if member.GetName() == argument || strconv.FormatUint(member.GetId(), 10) == argument {
			return member, nil
		}
		names = append(names, cli.Printable(member.GetName()))
	}
	return nil, cli.RefusedError("there is no member %s; there are %s", cli.Quoted(argument), strings.Join(names, ", "))
}

// memberRows returns the table of members.
func memberRows(members []*tenurev1.Member) [][]string {
	rows := [][]string{{"MEMBER", "ID", "ROLE", "REACHED", "LAG", "GRPC", "HTTP", "PEERS", "ZONE", "VERSION"}}
	for _, m := range members {
		role := "follower"
		switch {
		case m.GetLeader():
			role = "leader"
		case m.GetLearner():
			role = "learner"
		}
		reached, lag := "-", "-"
		if m.Reachable != nil {
			reached = map[bool]string{true: "yes", false: "no"}[m.GetReachable()]
		}
		if m.Lag != nil {
			lag = strconv.FormatUint(m.GetLag(), 10)
		}
		rows = append(rows, []string{
			cli.OrDash(m.GetName()), strconv.FormatUint(m.GetId(), 10), role, reached, lag, cli.OrDash(m.GetClientAddress()),
			cli.OrDash(m.GetHttpAddress()), cli.OrDash(m.GetPeerAddress()), cli.OrDash(m.GetZone()), cli.OrDash(m.GetVersion()),
		})
	}
	return rows
}

// memberText names a member for people.
func memberText(m *tenurev1.Member) string {
	return fmt.Sprintf("%s (id %d)", cli.Printable(m.GetName()), m.GetId())
}
