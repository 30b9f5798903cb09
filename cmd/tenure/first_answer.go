package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// errNothingCame ends what is followed if nothing ever came.
var errNothingCame = errors.New("nothing came")

// firstAnswer bounds how long something that is followed may say nothing from its beginning. Once anything came, breaks are mended for as long as
// they last.
type firstAnswer struct {
	client   *tenure.Client
	patience time.Duration
	timer    *time.Timer
	cancel   context.CancelCauseFunc
}

// awaitFirst returns a context for following something through a client: it ends if nothing comes for --timeout, and for firstAnswerMin at
// least. Call end after.
func awaitFirst(ctx context.Context, e *environment, c *tenure.Client) (context.Context, *firstAnswer) {
	least := e.firstAnswerMin
	if least == 0 {
		least = timeoutDefault
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f := &firstAnswer{client: c, patience: max(e.timeout, least), cancel: cancel}
	f.timer = time.AfterFunc(f.patience, func() { cancel(errNothingCame) })
	return ctx, f
}

// came notes that something came.
func (f *firstAnswer) came() { f.timer.Stop() }

// end frees what belongs to the context.
func (f *firstAnswer) end() {
	f.timer.Stop()
	f.cancel(nil)
}

// ended returns what a command that followed something ends with: nothing after Ctrl-C.
func (f *firstAnswer) ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errNothingCame):
		return &exitError{code: exitUnavailable, err: fmt.Errorf("no answer within %v: try `tenure status`, or a longer --timeout", f.patience)}
	case errors.Is(err, context.Canceled):
		return nil
	}
	return saidBy(f.client, err)
}

// silenceOr returns errFellSilent if that is why ctx ended, and with it what err tells of.
func silenceOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errFellSilent) {
		return errFellSilent
	}
	return err
}

// noteBreak returns a function that tells people of a break, with its cause, and of its end.
func (e *environment) noteBreak(broken, mended string) func(cause error) {
	return func(cause error) {
		if cause == nil {
			e.notef("%s", mended)
			return
		}
		text := cause.Error()
		if told, ok := errors.AsType[*tenure.Error](cause); ok {
			text = told.Message // Its kind says no more than broken.
		}
		e.notef("%s (%s); trying again.", broken, printable(text))
	}
}
