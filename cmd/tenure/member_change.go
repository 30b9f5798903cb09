package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// forceUsage says what --force of a change of members means.
const forceUsage = "do it also where the cluster may lose its quorum by it"

// newMemberAddCommand returns `tenure member add`.
func newMemberAddCommand(env *environment) *cobra.Command {
	request := &tenurev1.AddMemberRequest{}
	cmd := &cobra.Command{
		Use:   "add NAME PEER-ADDRESS",
		Short: "Add a member that runs and waits to be added",
		Long: `Add a member. Start it first, on an empty directory, with --join and the peer address of any member: by itself it asks to be
added and needs no more. This command is for clusters where operators add members. The new member copies the state as a
learner, without a vote, and gets its vote once it has caught up, unless --stay-learner is given.`,
		Example: `  tenure member add tenure-4 10.0.0.4:7402
  tenure member add reader 10.0.0.9:7402 --stay-learner`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Name, request.PeerAddress = args[0], args[1]
			return env.withMembers(cmd.Context(), func(ctx context.Context, m *members) error {
				var answer *tenurev1.AddMemberResponse
				err := m.call(ctx, onlyOnce, func(ctx context.Context, l *link) (err error) {
					answer, err = l.cluster().AddMember(ctx, request)
					return err
				})
				return env.changed(answer, err, "Success! Member %s is a learner; `tenure member list` shows how far it is.",
					memberText(answer.GetMember()))
			})
		},
	}
	cmd.Flags().BoolVar(&request.StayLearner, "stay-learner", false, "never give it a vote by itself")
	cmd.Flags().BoolVar(&request.Force, "force", false, forceUsage)
	return cmd
}

// newMemberPromoteCommand returns `tenure member promote`.
func newMemberPromoteCommand(env *environment) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:     "promote MEMBER",
		Short:   "Give a learner its vote",
		Long:    "Give a learner its vote. MEMBER is a name or an id. One that has not caught up is refused.",
		Example: "  tenure member promote reader",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.onMember(cmd.Context(), args[0], func(ctx context.Context, m *members, member *tenurev1.Member) error {
				var answer *tenurev1.PromoteMemberResponse
				err := m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
					answer, err = l.cluster().PromoteMember(ctx, &tenurev1.PromoteMemberRequest{MemberId: member.GetId(), Force: force})
					return err
				})
				return env.changed(answer, err, "Success! Member %s votes.", memberText(member))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "do it also before it has caught up")
	return cmd
}

// newMemberRemoveCommand returns `tenure member remove`.
func newMemberRemoveCommand(env *environment) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove MEMBER",
		Short: "Remove a member for good",
		Long: `Remove a member for good. MEMBER is a name or an id. It stops by itself when it hears of it. Its id never comes back: to have
it again, empty its directory and start it with --join.`,
		Example: "  tenure member remove tenure-2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.onMember(cmd.Context(), args[0], func(ctx context.Context, m *members, member *tenurev1.Member) error {
				var answer *tenurev1.RemoveMemberResponse
				err := m.call(ctx, onlyOnce, func(ctx context.Context, l *link) (err error) {
					answer, err = l.cluster().RemoveMember(ctx, &tenurev1.RemoveMemberRequest{MemberId: member.GetId(), Force: force})
					return err
				})
				return env.changed(answer, err, "Success! Member %s is removed; its directory is of no use any more.", memberText(member))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, forceUsage)
	return cmd
}

// newMemberReplaceCommand returns `tenure member replace`.
func newMemberReplaceCommand(env *environment) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "replace MEMBER NAME PEER-ADDRESS",
		Short: "Replace a member by a new one in one change",
		Long: `Replace a member, such as one whose disk is lost, by a new one. MEMBER is a name or an id; NAME and PEER-ADDRESS are the
new one's, which runs on an empty directory and waits to be added. In one change the old one loses its vote and the new one gets
it, so the cluster never has a vote less.`,
		Example: "  tenure member replace tenure-2 tenure-5 10.0.0.5:7402",
		Args:    cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.onMember(cmd.Context(), args[0], func(ctx context.Context, m *members, member *tenurev1.Member) error {
				var answer *tenurev1.ReplaceMemberResponse
				err := m.call(ctx, onlyOnce, func(ctx context.Context, l *link) (err error) {
					answer, err = l.cluster().ReplaceMember(ctx, &tenurev1.ReplaceMemberRequest{
						MemberId: member.GetId(), Name: args[1], PeerAddress: args[2], Force: force,
					})
					return err
				})
				return env.changed(answer, err, "Success! Member %s is in the place of %s.", memberText(answer.GetMember()), memberText(member))
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, forceUsage)
	return cmd
}

// newMemberTransferCommand returns `tenure member transfer-leader`.
func newMemberTransferCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "transfer-leader [MEMBER]",
		Short: "Hand leadership to another member",
		Long: `Hand leadership to a member, named by name or id; without one, to the member that is furthest. Sessions live on: their TTLs begin
anew under the new leader.`,
		Example: `  tenure member transfer-leader
  tenure member transfer-leader tenure-3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withMembers(cmd.Context(), func(ctx context.Context, m *members) error {
				request := &tenurev1.TransferLeadershipRequest{}
				if len(args) == 1 {
					heir, err := findMember(ctx, m, args[0])
					if err != nil {
						return err
					}
					request.MemberId = heir.GetId()
				}
				var answer *tenurev1.TransferLeadershipResponse
				err := m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
					answer, err = l.cluster().TransferLeadership(ctx, request)
					return err
				})
				return env.changed(answer, err, "Success! %s leads.", printable(answer.GetLeader()))
			})
		},
	}
}

// onMember does something with the member that an argument names.
func (e *environment) onMember(
	ctx context.Context, argument string, work func(ctx context.Context, m *members, member *tenurev1.Member) error,
) error {
	return e.withMembers(ctx, func(ctx context.Context, m *members) error {
		member, err := findMember(ctx, m, argument)
		if err != nil {
			return err
		}
		return work(ctx, m, member)
	})
}

// changed prints how a change of members ended.
func (e *environment) changed(answer proto.Message, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	if e.json() {
		return e.printDocument(answer)
	}
	return e.printf(format+"\n", args...)
}
