package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// observeElection prints who leads, and each change, until Ctrl-C.
func observeElection(ctx context.Context, e *environment, key string) error {
	c, err := e.client(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	ctx, first := awaitFirst(ctx, e, c)
	defer first.end()
	told := "" // What was printed last, without revision.
	for o, err := range c.Observe(ctx, key, tenure.OnBreak(e.noteBreak("The observation was interrupted", "The observation has resumed."))) {
		if err != nil {
			return first.ended(ctx, err)
		}
		first.came()
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
	return fmt.Sprintf("%d\t%s\t%s", o.Leader.Token, printable(string(o.Leader.Value)), whoText(o.Leader.SessionName, o.Leader.SessionID))
}

// printLeader prints who leads as a line.
func printLeader(e *environment, o *tenure.Observation, text string) error {
	if e.json() {
		answer := proto.CloneOf(o.Message)
		answer.Gap = o.Gap
		return e.printLine(answer)
	}
	if o.Gap {
		text += "\tgap"
	}
	return e.printf("%d\t%s\n", o.Revision, text)
}
