package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSessionInfoCommand returns `tenure session info`.
func newSessionInfoCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "info ID",
		Short: "Show a session, even one that ended recently",
		Long: `Show everything about a session: its owner, its TTL, and what it holds. For a session that has ended,
show when, why, who ended it, and what it held.`,
		Example: `  tenure session info "$ID"
  tenure session info "$ID" -o json | jq .session.end`,
		Args: cli.SessionIDArgument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				answer, err := getSession(ctx, c, args[0])
				if err != nil {
					return err
				}
				if env.JSON() {
					return env.PrintDocument(answer)
				}
				return env.PrintTable(sessionRows(answer))
			})
		},
	}
}

// sessionRows returns all about a session.
func sessionRows(answer *tenurev1.GetSessionResponse) [][]string {
	s := answer.GetSession()
	rows := [][]string{
		{"Session", s.GetSessionId()},
		{"Name", cli.OrDash(s.GetName())},
		{"Node", cli.OrDash(s.GetNode())},
		{"Address", cli.OrDash(s.GetPeerAddress())},
		{"TTL", cli.LengthOrNone(s.GetTtl())},
		{"Lock-delay", cli.LengthOrNone(s.GetLockDelay())},
		{"Behavior", cli.Words(s.GetBehavior().String(), "SESSION_BEHAVIOR_")},
		{"Created", fmt.Sprintf("%s (revision %d)", cli.Moment(s.GetCreateTime()), s.GetCreateRevision())},
	}
	if s.GetEnd() == nil { // Of one that has ended, nobody knows.
		rows = slices.Insert(rows, len(rows)-1, []string{"Secret", yesNo(s.GetHasSecret())})
	}
	if s.GetNodeId() != "" {
		bound := append(slices.Clone(s.GetChecks().GetNodeChecks()), s.GetChecks().GetServiceChecks()...)
		text := "the node, no check"
		if len(bound) > 0 {
			text = "the node and its checks " + cli.Printable(strings.Join(bound, ", "))
		}
		rows = append(rows, []string{"Bound to", text})
	}
	for _, name := range slices.Sorted(maps.Keys(s.GetMetadata())) {
		rows = append(rows, []string{"Metadata", cli.Printable(name) + "=" + cli.Printable(s.GetMetadata()[name])})
	}
	if end := s.GetEnd(); end != nil {
		return append(rows, endRows(end)...)
	}
	rows = append(rows, []string{"State", "live"})
	if s.GetTtlLeft() != nil {
		rows = append(rows, []string{"TTL left", cli.Length(s.GetTtlLeft())})
	}
	if s.GetLastRenewalTime() != nil {
		rows = append(rows, []string{"Last renewal", cli.Moment(s.GetLastRenewalTime())})
	}
	for _, h := range answer.GetHolds() {
		rows = append(rows, []string{"Holds", fmt.Sprintf("%s (token %d, since %s)",
			cli.Printable(h.GetSequencer().GetKey()), h.GetSequencer().GetFencingToken(), cli.Moment(h.GetGrantTime()))})
	}
	for _, p := range answer.GetPlaces() {
		rows = append(rows, []string{"Waits for", fmt.Sprintf("%s (%d before it, since %s)",
			cli.Printable(p.GetKey()), p.GetPosition(), cli.Moment(p.GetQueueTime()))})
	}
	return rows
}

// endRows returns how a session ended.
func endRows(end *tenurev1.SessionEnd) [][]string {
	by := "the cluster"
	if end.GetBy() != "" {
		by = cli.Printable(end.GetBy())
	}
	rows := [][]string{
		{"State", "ended"},
		{"Ended", fmt.Sprintf("%s (revision %d)", cli.Moment(end.GetTime()), end.GetRevision())},
		{"Cause", cli.Words(end.GetCause().String(), "SESSION_END_CAUSE_")},
		{"Reason", cli.OrDash(end.GetReason())},
		{"By", by},
		{"Clean", yesNo(end.GetClean())},
	}
	held := "-"
	if n := end.GetHolds(); n > 0 {
		keys := make([]string, 0, len(end.GetHeldKeys()))
		for _, key := range end.GetHeldKeys() {
			keys = append(keys, cli.Printable(key))
		}
		held = strings.Join(keys, ", ")
		if more := int(n) - len(keys); more > 0 {
			held += fmt.Sprintf(" and %d more", more)
		}
	}
	return append(rows, []string{"Held", held})
}

// yesNo returns a fact in a word.
func yesNo(fact bool) string {
	if fact {
		return "yes"
	}
	return "no"
}
