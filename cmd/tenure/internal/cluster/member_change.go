package cluster

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// forceUsage says what --force of a change of members means.
const forceUsage = "change the members even if the cluster may lose its quorum"

// newMemberPromoteCommand returns `tenure member promote`.
func newMemberPromoteCommand(env *cli.Environment) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:     "promote MEMBER",
		Short:   "Make a learner a voter",
		Long:    "Make a learner a voter. MEMBER is a name or an id. A learner that has not caught up is refused.",
		Example: "  tenure member promote reader",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onMember(cmd.Context(), env, args[0], func(ctx context.Context, m *cli.Members, member *tenurev1.Member) error {
				var answer *tenurev1.PromoteMemberResponse
				err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().PromoteMember(ctx, &tenurev1.PromoteMemberRequest{MemberId: member.GetId(), Force: force})
					return err
				})
				return changed(env, answer, err, "Success! Member %s is now a voter.", memberText(member))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "promote the learner even if it has not caught up")
	return cmd
}

// newMemberRemoveCommand returns `tenure member remove`.
func newMemberRemoveCommand(env *cli.Environment) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove MEMBER",
		Short: "Remove a member permanently",
		Long: `Remove a member permanently. MEMBER is a name or an id. The member stops automatically. Its id is never
used again: to add it again, empty its data directory, run "tenure member add" for its name, and start
it with --join and the token that this prints.`,
		Example: "  tenure member remove tenure-2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onMember(cmd.Context(), env, args[0], func(ctx context.Context, m *cli.Members, member *tenurev1.Member) error {
				var answer *tenurev1.RemoveMemberResponse
				err := m.Call(ctx, cli.OnlyOnce, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: member.GetId(), Force: force})
					return err
				})
				return changed(env, answer, err, "Success! Removed member %s; its data directory cannot be used again.", memberText(member))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, forceUsage)
	return cmd
}

// newMemberTransferCommand returns `tenure member transfer-leader`.
func newMemberTransferCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "transfer-leader [MEMBER]",
		Short: "Move leadership to another member",
		Long: `Move leadership to a member, by name or id, or to the member with the longest log. Sessions survive:
their TTLs start again under the new leader.`,
		Example: `  tenure member transfer-leader
  tenure member transfer-leader tenure-3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				request := &tenurev1.TransferLeadershipRequest{}
				if len(args) == 1 {
					heir, err := findMember(ctx, m, args[0])
					if err != nil {
						return err
					}
					request.MemberId = heir.GetId()
				}
				var answer *tenurev1.TransferLeadershipResponse
				err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().TransferLeadership(ctx, request)
					return err
				})
				return changed(env, answer, err, "Success! The leader is now %s.", cli.Printable(answer.GetLeader()))
			})
		},
	}
}

// onMember does something with the member that an argument names.
func onMember(
	ctx context.Context, e *cli.Environment, argument string, work func(ctx context.Context, m *cli.Members, member *tenurev1.Member) error,
) error {
	return e.WithMembers(ctx, func(ctx context.Context, m *cli.Members) error {
		member, err := findMember(ctx, m, argument)
		if err != nil {
			return err
		}
		return work(ctx, m, member)
	})
}

// changed prints how a change of members ended.
func changed(e *cli.Environment, answer proto.Message, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	return e.Printf(format+"\n", args...)
}
