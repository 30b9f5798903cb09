package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// runbooks is where the runbook of each problem stands, under its name.
const runbooks = "https://github.com/tenure-io/tenure/blob/main/docs/operations.md#"

// The problems that the status tells of, worst first; each is the heading of a runbook.
const (
	problemNoLeader          = "no-leader"
	problemStoreFull         = "store-full"
	problemQuorumAtRisk      = "quorum-at-risk"
	problemMemberUnreachable = "member-unreachable"
	problemMemberBehind      = "member-behind"
	problemFrozen            = "grants-frozen"
)

// entriesBehindMax is how many entries a member may lack before the status tells of it.
const entriesBehindMax = 10_000

// problem returns a problem with its runbook.
func problem(name, format string, args ...any) *tenurev1.StatusProblem {
	return &tenurev1.StatusProblem{Name: name, Message: fmt.Sprintf(format, args...), Runbook: runbooks + name}
}

// problems returns what an operator should look at, worst first.
func (a *Service) problems(ctx context.Context, status raftnode.Status, usage storage.Usage, members []*tenurev1.Member) ([]*tenurev1.StatusProblem, error) {
	var found []*tenurev1.StatusProblem
	if status.Leader == 0 {
		found = append(found, problem(problemNoLeader,
			"This member knows no leader: writes and linearizable reads fail until a majority of members can reach each other."))
	}
	if usage.Full {
		found = append(found, problem(problemStoreFull,
			"The state has %d bytes; from %d on, changes that make it grow are refused. Delete keys, end sessions, or raise the "+
				"limit storeBytesMax.", usage.Bytes, usage.GrowthBytesMax))
	}
	for _, alarm := range slices.Concat(a.Node.Alarms(), a.self.Alarms()) {
		found = append(found, problem(alarm.Name, "%s", alarm.Message))
	}
	found = append(found, memberProblems(status, members)...)
	if behind := status.Commit - min(status.Applied, status.Commit); behind > entriesBehindMax {
		found = append(found, problem(problemMemberBehind,
			"This member still has to apply %d log entries: reads from it wait, and its stale reads are old.", behind))
	}
	s, err := a.LocalReader(ctx)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	left, frozen, exact, err := a.freezeLeft(s)
	if frozen {
		most := ""
		if !exact {
			most = "at most " // The leader knows how long.
		}
		found = append(found, problem(problemFrozen,
			"The cluster was restored or recovered: no lock is granted for %sanother %v, unless an operator runs \"tenure unfreeze\".",
			most, left.Round(time.Second)))
	}
	return found, err
}

// memberProblems returns what is wrong with members, and what it means for the quorum.
func memberProblems(status raftnode.Status, members []*tenurev1.Member) []*tenurev1.StatusProblem {
	var away, behind []string
	voters, reached := 0, 0
	for _, m := range members {
		name := m.GetName()
		if name == "" {
			name = fmt.Sprint(m.GetId())
		}
		gone := m.Reachable != nil && !m.GetReachable()
		switch {
		case gone:
			away = append(away, name)
		case m.GetLag() > entriesBehindMax:
			behind = append(behind, fmt.Sprintf("%s (%d)", name, m.GetLag()))
		}
		if !m.GetLearner() {
			voters++
			if !gone {
				reached++
			}
		}
	}
	var found []*tenurev1.StatusProblem
	if quorum := voters/2 + 1; len(away) > 0 && voters > 2 && reached <= quorum && status.Leader != 0 {
		found = append(found, problem(problemQuorumAtRisk,
			"%d of %d voting members can be reached, and %d are needed: if one more fails, writes stop.", reached, voters, quorum))
	}
	if len(away) > 0 {
		found = append(found, problem(problemMemberUnreachable,
			"%s cannot be reached: stopped, disconnected, or advertising an address that others cannot connect to.", strings.Join(away, ", ")))
	}
	if len(behind) > 0 {
		found = append(found, problem(problemMemberBehind, "These members lag behind the log (entries): %s.", strings.Join(behind, ", ")))
	}
	return found
}
