package tenure

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/clients/go/internal/backoff"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// watcher follows a watch from member to member: after a break it goes on where it was.
type watcher struct {
	client  *Client
	request *tenurev1.WatchRequest
	// handle takes each message, whole. While it runs nothing more is read. Its error ends the watch.
	handle func(*tenurev1.WatchResponse) error
	// progress is how often the member says something; zero is progressEvery.
	progress time.Duration
	// breaks tells of them.
	breaks breaks
	// inParts hands parts of the initial state on as they come.
	inParts bool
	// streamAge is how old a stream becomes at most, if a member is there to begin another with; zero is no limit.
	streamAge time.Duration
	// sent is when the request of the stream was sent, by the client's clock. Only handle may read it.
	sent time.Duration

	parts []*tenurev1.WatchResponse // Of the initial state, until it is complete.
	begun bool                      // Whether a part was handed on, and the last was not.
}

// breaks tells of a break and of its end, once each.
type breaks struct {
	tell   func(cause error) // Nil tells nobody.
	broken bool
}

// begin notes that something broke.
func (b *breaks) begin(cause error) {
	if b.tell != nil && !b.broken {
		b.tell(broken(cause))
	}
	b.broken = true
}

// broken returns the error for a break: who reads changes nothing, so nothing is unknown.
func broken(cause error) error {
	e := &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: lastText(cause), cause: cause}
	if info := errorinfo.Of(cause); info != nil {
		e.Reason, e.Facts = info.GetReason(), info.GetMetadata()
	}
	return e
}

// mends tells whether another attempt may mend the break of a stream that is read.
func mends(err error) bool { return again(err) || isAny(err, errStreamEnded, errSilent) }

// end notes that it goes on.
func (b *breaks) end() {
	if b.tell != nil && b.broken {
		b.tell(nil)
	}
	b.broken = false
}

// handlerError is what a handler returned.
type handlerError struct{ error }

func (e *handlerError) Unwrap() error { return e.error }

// run follows the watch until ctx ends, the handler fails, or the watch is refused.
func (w *watcher) run(ctx context.Context) error {
	if err := sendable(w.request); err != nil {
		return err
	}
	w.request = proto.CloneOf(w.request)
	if w.progress == 0 {
		w.progress = progressEvery
	}
	w.request.ProgressInterval = durationpb.New(w.progress)
	pauses := &backoff.Backoff{}
	for {
		err := w.once(ctx, pauses.Reset)
		var failed *handlerError
		switch {
		case errors.As(err, &failed):
			return failed.error
		case ctx.Err() != nil:
			return interrupted(ctx, false, nil)
		case errors.Is(err, conn.ErrClosed):
			return errClientClosed()
		case w.begun:
			return &Error{Kind: ErrUnavailable, Applied: AppliedNo, Message: "the stream broke before the initial state was complete: " + lastText(err), cause: err}
		case errors.Is(err, errMoved), errors.Is(err, errOld):
			continue
		case !mends(err):
			return fromRPC(err)
		}
		w.breaks.begin(err)
		if !pauses.Wait(ctx) {
			return interrupted(ctx, false, err)
		}
	}
}

var (
	// errSilent says that a member said nothing for too long.
	errSilent = errors.New("the member stopped responding")
	// errOld ends a stream that is as old as it may be.
	errOld = errors.New("the stream is old")
)

// once reads one stream until it breaks. A message calls good.
func (w *watcher) once(ctx context.Context, good func()) error {
	l, err := w.client.link(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	line, err := l.Line(ctx)
	if err != nil {
		return err
	}
	defer line.Release()
	link := onLink
	if w.inParts && w.request.GetInitial() {
		link = whileLinked // It would have to begin anew elsewhere.
	}
	linked, end := link(ctx, l)
	defer end()
	reading, cancel := context.WithCancelCause(linked)
	defer cancel(nil)
	silence := time.AfterFunc(silenceMax, func() { cancel(errSilent) })
	defer silence.Stop()
	w.parts, w.sent = nil, w.client.clock()
	stream, err := tenurev1.NewWatchServiceClient(line).Watch(reading, w.request)
	for err == nil {
		var message *tenurev1.WatchResponse
		if message, err = stream.Recv(); err != nil {
			break
		}
		silence.Stop() // Handlers may take their time.
		l.Answered()
		good()
		if message.GetStarted() == nil {
			w.breaks.end() // A member that has no leader begins a watch, and then knows nothing new.
		}
		if failed := w.take(message); failed != nil {
			return &handlerError{failed}
		}
		if w.old(message) {
			return errOld
		}
		silence.Reset(silenceMax)
	}
	switch cause := context.Cause(reading); {
	case errors.Is(cause, errSilent):
		l.Fail()
		return errSilent
	case cause != nil:
		return cause
	case errors.Is(err, io.EOF):
		return errStreamEnded
	}
	return err
}

// old tells whether a stream whose member is well has become as old as it may.
func (w *watcher) old(message *tenurev1.WatchResponse) bool {
	return w.streamAge > 0 && message.GetProgress() != nil && w.client.clock()-w.sent >= w.streamAge
}

// take handles a message, and remembers where the next stream goes on. Parts of the initial state wait until it is complete: after
// a break it begins anew.
func (w *watcher) take(message *tenurev1.WatchResponse) error {
	if part := message.GetInitial(); part != nil {
		w.begun = w.inParts && !part.GetComplete()
		if !part.GetComplete() && !w.inParts {
			w.parts = append(w.parts, message)
			return nil
		}
	}
	for _, part := range w.parts {
		if err := w.handle(part); err != nil {
			return err
		}
	}
	w.parts = nil
	if err := w.handle(message); err != nil {
		return err
	}
	if token := message.GetResumeToken(); token != "" && (!w.request.GetInitial() || message.GetStarted() == nil) {
		w.request.ResumeToken = token
		w.request.AfterRevision, w.request.HistoryId, w.request.Initial = 0, "", false
	}
	return nil
}
