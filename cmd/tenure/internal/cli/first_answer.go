package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// errNothingCame ends what is followed if nothing ever came.
var errNothingCame = errors.New("nothing came")

// FirstAnswer bounds how long something that is followed may say nothing from its beginning. Once anything came, breaks are mended for as long as
// they last.
type FirstAnswer struct {
	client   *tenure.Client
	patience time.Duration
	timer    *time.Timer
	cancel   context.CancelCauseFunc
}

// AwaitFirst returns a context for following something through a client: it ends if nothing comes for --timeout, and for FirstAnswerMin at
// least. Call end after.
func AwaitFirst(ctx context.Context, e *Environment, c *tenure.Client) (context.Context, *FirstAnswer) {
	least := e.FirstAnswerMin
	if least == 0 {
		least = TimeoutDefault
	}
	ctx, cancel := context.WithCancelCause(ctx)
	f := &FirstAnswer{client: c, patience: max(e.Timeout, least), cancel: cancel}
	f.timer = time.AfterFunc(f.patience, func() { cancel(errNothingCame) })
	return ctx, f
}

// Came notes that something came.
func (f *FirstAnswer) Came() { f.timer.Stop() }

// End frees what belongs to the context.
func (f *FirstAnswer) End() {
	f.timer.Stop()
	f.cancel(nil)
}

// Ended returns what a command that followed something ends with: nothing after Ctrl-C.
func (f *FirstAnswer) Ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errNothingCame):
		return &ExitError{Code: ExitUnavailable, Err: fmt.Errorf("no answer within %v: try `tenure status`, or a longer --timeout", f.patience)}
	case errors.Is(err, context.Canceled):
		return nil
	}
	return SaidBy(f.client, err)
}

// SilenceOr returns ErrFellSilent if that is why ctx ended, and with it what err tells of.
func SilenceOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrFellSilent) {
		return ErrFellSilent
	}
	return err
}

// readingFailed is how gRPC begins what it says of a connection that broke under a stream.
const readingFailed = "error reading from server"

// NoteBreak returns a function that tells people of a break, with its cause, and of its end.
func (e *Environment) NoteBreak(broken, mended string) func(cause error) {
	return func(cause error) {
		if cause == nil {
			e.Notef("%s", mended)
			return
		}
		text := cause.Error()
		if told, ok := errors.AsType[*tenure.Error](cause); ok {
			text = told.Message // Its kind says no more than broken.
		}
		if strings.HasPrefix(text, readingFailed) {
			text = "the connection broke"
		}
		e.Notef("%s (%s); trying again.", broken, Printable(text))
	}
}
