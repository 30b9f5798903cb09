package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Who observes may hear nothing for long, so the member is asked now and then whether what it tells is still true.
const (
	probeEvery    = 5 * time.Second
	probePatience = 5 * time.Second
)

// observer follows an election from member to member, and prints each change once.
type observer struct {
	env     *environment
	members *members
	key     string

	connected bool
	broken    bool   // A break was told, and not yet its end.
	told      string // What was printed last, without revision.
}

// observe prints who leads until Ctrl-C.
func (e *environment) observe(ctx context.Context, key string) error {
	m, err := e.connect()
	if err != nil {
		return err
	}
	defer m.close()
	o := &observer{env: e, members: m, key: key}
	err = o.run(ctx)
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

// run follows the election until ctx ends, or it is refused.
func (o *observer) run(ctx context.Context) error {
	pause := backoff{}
	for {
		l, err := o.members.link(ctx)
		if err == nil {
			err = o.follow(ctx, l, pause.reset)
		}
		var failed *handlerError
		switch {
		case errors.As(err, &failed):
			return failed.err
		case ctx.Err() != nil:
			return ctx.Err()
		case !transient(err), !o.connected:
			return err
		}
		o.members.drop(l)
		if !o.broken {
			o.broken = true
			o.env.notef("The election could not be followed (%s); trying again.", printable(errorText(err)))
		}
		if !pause.wait(ctx) {
			return ctx.Err()
		}
	}
}

// follow reads one stream until it breaks. A stream that could be read calls well.
func (o *observer) follow(ctx context.Context, l *link, well func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stream, err := l.elections().Observe(ctx, &tenurev1.ObserveRequest{Key: o.key})
	if err != nil {
		cancel(nil)
		return err
	}
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		cancel(o.probe(ctx, l))
	}()
	defer func() {
		cancel(nil)
		<-probed
	}()
	for first := true; ; first = false {
		answer, err := stream.Recv()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return errStreamEnded
		case errors.Is(context.Cause(ctx), errNoAnswer):
			return errNoAnswer
		default:
			return err
		}
		if o.broken {
			o.broken = false
			o.env.notef("The election is followed again.")
		}
		well()
		// What the first answer after a break tells may not be all that happened.
		answer.Gap = answer.GetGap() || first && o.connected
		o.connected = true
		if err := o.tell(answer); err != nil {
			return &handlerError{err: err}
		}
	}
}

// probe asks a member now and then for a linearizable answer, until ctx ends or there is none: a member without a leader
// is there, and knows nothing new.
func (o *observer) probe(ctx context.Context, l *link) error {
	for pauseFor(ctx, probeEvery) {
		asking, cancel := context.WithTimeout(ctx, probePatience)
		_, err := l.elections().GetLeader(asking, &tenurev1.GetLeaderRequest{Key: o.key})
		cancel()
		if err != nil && ctx.Err() == nil {
			return errNoAnswer
		}
	}
	return nil
}

// tell prints who leads, unless that is what was printed last.
func (o *observer) tell(answer *tenurev1.ObserveResponse) error {
	leader := answer.GetLeader()
	hold := leader.GetHold()
	text := "none\t\t"
	if leader != nil {
		text = fmt.Sprintf("%d\t%s\t%s", hold.GetSequencer().GetFencingToken(), printable(string(leader.GetValue())),
			whoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId()))
	}
	if text == o.told {
		return nil
	}
	o.told = text
	if o.env.json() {
		return o.env.printLine(answer)
	}
	if answer.GetGap() {
		text += "\tgap"
	}
	return o.env.printf("%d\t%s\n", answer.GetHeader().GetRevision(), text)
}
