package lock

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// observeElection prints who leads, and each change, until Ctrl-C.
func observeElection(ctx context.Context, e *cli.Environment, key string) error {
	c, err := e.Client(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	ctx, first := cli.AwaitFirst(ctx, e, c)
	defer first.End()
	told := "" // What was printed last, without revision.
	for o, err := range c.Observe(ctx, key, tenure.OnBreak(e.NoteBreak("The observation was interrupted", "The observation has resumed."))) {
		if err != nil {
			return first.Ended(ctx, err)
		}
		first.Came()
		text := leaderText(o)
		if text == told {
			continue
		}
		told = text
		if err := printLeader(e, o, text); err != nil {
			return err
		}
	}
	return nil
}

// leaderText returns who leads.
func leaderText(o *tenure.Observation) string {
	if o.Leader == nil {
		return "none\t\t"
	}
	return fmt.Sprintf("%d\t%s\t%s", o.Leader.Token, cli.Printable(string(o.Leader.Value)), cli.WhoText(o.Leader.SessionName, o.Leader.SessionID))
}

// printLeader prints who leads as a line.
func printLeader(e *cli.Environment, o *tenure.Observation, text string) error {
	if e.JSON() {
		answer := proto.CloneOf(o.Message)
		answer.Gap = o.Gap
		return e.PrintLine(answer)
	}
	if o.Gap {
		text += "\tgap"
	}
	return e.Printf("%d\t%s\n", o.Revision, text)
}
