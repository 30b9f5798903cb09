package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newMemberCommand returns `tenure member`.
func newMemberCommand(env *environment) *cobra.Command {
	return groupCommand("member", "List, add, promote and remove the members that keep the data",
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
func newMemberListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List members: role, addresses, reachability, lag",
		Long: `List the members. LAG is the number of log entries that a member lacks; only the leader knows it.
REACHED shows whether the member that answers is connected to it.`,
		Example: `  tenure member list
  tenure member list -o json | jq -r '.members[] | select(.leader) | .name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withMembers(cmd.Context(), func(ctx context.Context, m *members) error {
				answer, err := listMembers(ctx, m)
				if err != nil {
					return err
				}
				if env.json() {
					return env.printDocument(answer)
				}
				return env.printTable(memberRows(answer.GetMembers()))
			})
		},
	}
}

// listMembers asks for the members.
func listMembers(ctx context.Context, m *members) (answer *tenurev1.ListMembersResponse, err error) {
	err = m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
		answer, err = l.cluster().ListMembers(ctx, &tenurev1.ListMembersRequest{})
		return err
	})
	return answer, err
}

// findMember returns the member that an argument names, by name or id.
func findMember(ctx context.Context, m *members, argument string) (*tenurev1.Member, error) {
	answer, err := listMembers(ctx, m)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, member := range answer.GetMembers() {
		if member.GetName() == argument || strconv.FormatUint(member.GetId(), 10) == argument {
			return member, nil
		}
		names = append(names, printable(member.GetName()))
	}
	return nil, refusedError("there is no member %s; there are %s", quoted(argument), strings.Join(names, ", "))
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
			orDash(m.GetName()), strconv.FormatUint(m.GetId(), 10), role, reached, lag, orDash(m.GetClientAddress()),
			orDash(m.GetHttpAddress()), orDash(m.GetPeerAddress()), orDash(m.GetZone()), orDash(m.GetVersion()),
		})
	}
	return rows
}

// memberText names a member for people.
func memberText(m *tenurev1.Member) string {
	return fmt.Sprintf("%s (id %d)", printable(m.GetName()), m.GetId())
}
