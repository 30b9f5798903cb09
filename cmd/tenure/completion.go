package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cluster"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// completionTimeout bounds the search for completions: somebody waits at the keyboard.
	completionTimeout = 2 * time.Second
	// completionsMax is how many completions a shell is offered; who wants another types more letters.
	completionsMax = 100
)

// finder returns what an argument that starts with some text may be.
type finder func(ctx context.Context, e *cli.Environment, text string) ([]cobra.Completion, error)

// offerArguments has shells complete the first argument of a command, and of those below it, with what the cluster has. The command's
// usage line says what the argument is.
func offerArguments(env *cli.Environment, cmd *cobra.Command) {
	if words := strings.Fields(cmd.Use); len(words) > 1 && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = completion(env, strings.Trim(words[1], "[]"))
	}
	for _, child := range cmd.Commands() {
		offerArguments(env, child)
	}
}

// finderOf returns what finds the completions of an argument; nil leaves it to the shell, which knows files.
func finderOf(cmd *cobra.Command, argument string) finder {
	switch argument {
	case "KEY", "PREFIX":
		if strings.HasPrefix(cmd.CommandPath(), "tenure lock") {
			return findLocks
		}
		return findKeys
	case "ID":
		return findSessions
	case "MEMBER":
		return findMembers
	default:
		return nil
	}
}

// completion returns what completes the first argument of a command, which its usage line calls so. Where no member answers in time
// there are no completions.
func completion(e *cli.Environment, argument string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		find := finderOf(cmd, argument)
		if find == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if len(args) > 0 || cli.ApplySettings(e, cmd) != nil || e.Validate() != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		e.Timeout = min(e.Timeout, completionTimeout)
		ctx, cancel := context.WithTimeout(cmd.Context(), e.Timeout)
		defer cancel()
		found, err := find(ctx, e, text)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// findKeys finds keys. A key that a terminal would obey is left out.
func findKeys(ctx context.Context, e *cli.Environment, text string) (found []cobra.Completion, err error) {
	err = e.WithClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		return c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) error {
			request := &tenurev1.ListRequest{Prefix: text, KeysOnly: true, PageSize: completionsMax}
			page, failed := tenurev1.NewKVServiceClient(member).List(ctx, request)
			found = nil
			for _, kv := range page.GetKvs() {
				found = offer(found, text, kv.GetKey(), "")
			}
			return failed
		})
	})
	return found, err
}

// findLocks finds locks that are held, waited for or delayed.
func findLocks(ctx context.Context, e *cli.Environment, text string) (found []cobra.Completion, err error) {
	err = e.WithClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		return c.Read(ctx, func(ctx context.Context, member grpc.ClientConnInterface) error {
			request := &tenurev1.ListLocksRequest{Prefix: text, PageSize: completionsMax}
			page, failed := tenurev1.NewLockServiceClient(member).ListLocks(ctx, request)
			found = nil
			for _, lock := range page.GetLocks() {
				found = offer(found, text, lock.GetKey(), "")
			}
			return failed
		})
	})
	return found, err
}

// findSessions finds live sessions by the beginning of their ids, and describes them by their names.
func findSessions(ctx context.Context, e *cli.Environment, text string) (found []cobra.Completion, err error) {
	err = e.WithClient(ctx, func(ctx context.Context, c *tenure.Client) error {
		_, failed := session.EachSession(ctx, c, &tenurev1.ListSessionsRequest{}, func(s *tenurev1.Session) {
			found = offer(found, text, s.GetSessionId(), s.GetName())
		})
		return failed
	})
	return found, err
}

// findMembers finds members by the beginning of their names.
func findMembers(ctx context.Context, e *cli.Environment, text string) (found []cobra.Completion, err error) {
	err = e.WithMembers(ctx, func(ctx context.Context, m *cli.Members) error {
		answer, failed := cluster.ListMembers(ctx, m)
		for _, member := range answer.GetMembers() {
			found = offer(found, text, member.GetName(), member.GetClientAddress())
		}
		return failed
	})
	return found, err
}

// offer adds a completion of some text, with a description, unless it has another beginning, a terminal would obey it, or there are enough.
func offer(found []cobra.Completion, text, word, description string) []cobra.Completion {
	if len(found) == completionsMax || !strings.HasPrefix(word, text) || cli.Printable(word) != word {
		return found
	}
	return append(found, cobra.CompletionWithDesc(word, cli.Printable(description)))
}
