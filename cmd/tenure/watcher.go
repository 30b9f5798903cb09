package main

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A watch that says nothing for as long as silenceMax is taken for dead: a member says something every progressEvery.
const (
	progressEvery = 5 * time.Second
	silenceMax    = 10 * time.Second
)

// watcher follows a watch from member to member: after a break it goes on where it was, and gives each event once.
type watcher struct {
	members *members
	request *tenurev1.WatchRequest
	// patient tells to go on trying also if no member ever answered.
	patient bool
	// note, if set, tells people about a break, and that it is over: once each, however many attempts lie between.
	note func(format string, args ...any)
	// initial, if set, takes the present state once, whole; the request must ask for it.
	initial func(kvs []*tenurev1.KeyValue) error

	connected bool
	broken    bool // A break was told, and not yet its end.
	state     []*tenurev1.KeyValue
}

// handlerError is what a handler returned; it ends the watch.
type handlerError struct{ err error }

// Error returns the handler's text.
func (e *handlerError) Error() string { return e.err.Error() }

// Unwrap returns the handler's error.
func (e *handlerError) Unwrap() error { return e.err }

// run gives events to handle, in order and one at a time, until ctx ends, handle fails, or the watch is refused. While
// handle runs nothing more is read.
func (w *watcher) run(ctx context.Context, handle func(*tenurev1.Event) error) error {
	w.request = proto.CloneOf(w.request)
	w.request.ProgressInterval = durationpb.New(progressEvery)
	pause := backoff{}
	for {
		l, err := w.members.link(ctx)
		if err == nil {
			err = w.follow(ctx, l, handle, pause.reset)
		}
		var failed *handlerError
		switch {
		case errors.As(err, &failed):
			return failed.err
		case ctx.Err() != nil:
			return ctx.Err()
		case !transient(err), !w.connected && !w.patient:
			return err
		}
		w.members.drop(l)
		if w.note != nil && !w.broken {
			w.broken = true
			w.note("The watch was interrupted (%s); trying again.", printable(errorText(err)))
		}
		if !pause.wait(ctx) {
			return ctx.Err()
		}
	}
}

// follow reads one stream until it breaks. A stream that could be read calls well.
func (w *watcher) follow(ctx context.Context, l *link, handle func(*tenurev1.Event) error, well func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silenceMax, func() { cancel(errNoAnswer) })
	defer silence.Stop()
	w.state = nil
	stream, err := l.watches().Watch(ctx, w.request)
	if err != nil {
		return err
	}
	for {
		message, err := w.receive(ctx, stream)
		if err != nil {
			return err
		}
		w.connected = true
		// A member that has no leader begins a watch, and then knows nothing new.
		if w.broken && message.GetStarted() == nil {
			w.broken = false
			w.note("The watch goes on; nothing was missed.")
		}
		well()
		silence.Stop() // Handlers may take their time.
		if err := w.take(message, handle); err != nil {
			return &handlerError{err: err}
		}
		silence.Reset(silenceMax)
	}
}

// receive returns the next message of a stream.
func (w *watcher) receive(
	ctx context.Context, stream grpc.ServerStreamingClient[tenurev1.WatchResponse],
) (*tenurev1.WatchResponse, error) {
	message, err := stream.Recv()
	switch {
	case err == nil:
		return message, nil
	case errors.Is(err, io.EOF):
		return nil, errStreamEnded
	case status.Code(err) == codes.Canceled && context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	}
	return nil, err
}

// take handles a message, and remembers where the next stream goes on.
func (w *watcher) take(message *tenurev1.WatchResponse, handle func(*tenurev1.Event) error) error {
	if part := message.GetInitial(); part != nil {
		w.state = append(w.state, part.GetKvs()...)
		if part.GetComplete() && w.initial != nil {
			if err := w.initial(w.state); err != nil {
				return err
			}
		}
	}
	for _, event := range message.GetEvents().GetEvents() {
		if err := handle(event); err != nil {
			return err
		}
	}
	if token := message.GetResumeToken(); token != "" && (!w.request.GetInitial() || message.GetStarted() == nil) {
		w.request.ResumeToken = token
		w.request.AfterRevision, w.request.HistoryId, w.request.Initial = 0, "", false
		w.state = nil
	}
	return nil
}
