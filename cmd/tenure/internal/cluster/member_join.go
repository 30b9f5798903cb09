package cluster

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// joinTTLDefault is how long a join token can be used.
const joinTTLDefault = time.Hour

// joinTTLUsage says what --ttl of a join token means.
const joinTTLUsage = "time for which the token is valid, 1s to 720h"

// newMemberAddCommand returns `tenure member add`.
func newMemberAddCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.AddMemberRequest{}
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Print a join token for a new member",
		Long: `Print the join token for a new member. Start the member on an empty directory with --name NAME, with
--join and the peer address of any member, and with the token in a file (--join-token-file) or in the
variable TENURE_JOIN_TOKEN. The member copies the state as a learner, without a vote, and becomes a voter
once it has caught up, unless --stay-learner is given.

The token is for one member of this name. The first member that uses it can use it again; every other
is refused. Anyone who has it can join, so protect it like a password. It cannot be shown again: run the
command again to get a new token, which invalidates the first.`,
		Example: `  tenure member add tenure-4
  tenure member add reader --stay-learner
  tenure member add tenure-4 --ttl 10m > token && \
    scp token tenure-4:/etc/tenure/join-token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Name, request.Ttl = args[0], durationpb.New(ttl)
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				var answer *tenurev1.AddMemberResponse
				err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().AddMember(ctx, request)
					return err
				})
				return printInvitation(env, request.GetName(), answer, err)
			})
		},
	}
	cmd.Flags().BoolVar(&request.StayLearner, "stay-learner", false, "do not make the member a voter automatically")
	cmd.Flags().DurationVar(&ttl, "ttl", joinTTLDefault, joinTTLUsage)
	return cmd
}

// newMemberReplaceCommand returns `tenure member replace`.
func newMemberReplaceCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ReplaceMemberRequest{}
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "replace MEMBER NAME",
		Short: "Print a join token for a member that replaces another",
		Long: `Print the join token for a new member that takes the place of an old one, for example one with a lost
disk. MEMBER is the old member's name or id, and NAME is the new member's, which must be different.
Start the new member as "tenure member add --help" says. Once it has caught up, a single change moves
the vote from the old member to the new one, so the number of votes never drops. The old member is
removed permanently.`,
		Example: `  tenure member replace tenure-2 tenure-5
  tenure member replace tenure-2 tenure-5 --ttl 10m > token`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Name, request.Ttl = args[1], durationpb.New(ttl)
			return onMember(cmd.Context(), env, args[0], func(ctx context.Context, m *cli.Members, member *tenurev1.Member) error {
				request.MemberId = member.GetId()
				var answer *tenurev1.ReplaceMemberResponse
				err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().ReplaceMember(ctx, request)
					return err
				})
				return printInvitation(env, request.GetName(), answer, err)
			})
		},
	}
	cmd.Flags().BoolVar(&request.Force, "force", false, forceUsage)
	cmd.Flags().DurationVar(&ttl, "ttl", joinTTLDefault, joinTTLUsage)
	return cmd
}

// invitation is an answer with a join token.
type invitation interface {
	proto.Message
	GetJoinToken() string
	GetTtl() *durationpb.Duration
	GetReplacedToken() bool
}

// printInvitation prints a join token: alone on stdout, so that it can go to a file, and what to do with it on stderr.
func printInvitation(e *cli.Environment, name string, answer invitation, err error) error {
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	if err := e.Printf("%s\n", answer.GetJoinToken()); err != nil {
		return err
	}
	if answer.GetReplacedToken() {
		e.Notef("The earlier token, which was unused, is no longer valid.")
	}
	e.Notef("Start %s within %v with --join, and with this token in --join-token-file or TENURE_JOIN_TOKEN. "+
		"`tenure member list` shows its progress.", cli.Printable(name), answer.GetTtl().AsDuration())
	return nil
}
