package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/seen"
	"github.com/tenure-io/tenure/server/selection"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// watchMessageBytes is how large a message of events may become; a larger revision goes in parts.
const watchMessageBytes = 1 << 20

var (
	// errWatchOver ends a watch whose time is up.
	errWatchOver = errors.New("time of the watch is up")
	// errWatchLimit ends a watch that has seen as many events as it wanted.
	errWatchLimit = errors.New("limit of the watch is reached")
)

// watchStream is one Watch call.
type watchStream struct {
	api     *Watches
	request *tenurev1.WatchRequest
	stream  grpc.ServerStreamingServer[tenurev1.WatchResponse]
	resumer selection.Resumer
	taken   time.Time      // when the request came, or a little later
	reached watch.Position // everything up to it was sent, or is not shown to the caller
	left    int            // events until the limit; negative: no limit
	events  *seen.Events   // what the caller sees of events; nil: all that it watches
	partial bool           // the initial state was not sent whole
}

// Watch serves WatchService.
func (a *Watches) Watch(r *tenurev1.WatchRequest, stream grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	plan, err := a.watchPlanOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := plan.timed(stream.Context(), !r.GetInitial())
	defer cancel()
	w := &watchStream{
		taken:   time.Now(),
		api:     a,
		request: r,
		stream:  stream,
		resumer: selection.NewResumer(a.History(), plan.selectors),
		left:    -1,
	}
	if r.GetLimit() > 0 {
		w.left = int(r.GetLimit())
	}
	if err := w.start(ctx, plan); err != nil {
		return w.ended(err)
	}
	// The initial state takes none of the time: a stream that ended cleanly within it would look as if there were no more.
	ctx, over := plan.timed(ctx, r.GetInitial())
	defer over()
	request := watch.Request{
		Selectors: plan.selectors,
		After:     plan.after,
		Progress:  plan.progress,
		Prove:     a.currency.prove,
		Taker:     takerOf(w),
	}
	if w.events != nil {
		request.View = w.view
	}
	return w.ended(a.hub.Watch(ctx, request, w.send))
}

// timed returns a context that ends when the time of the watch is up, if it begins now.
func (p *watchPlan) timed(ctx context.Context, now bool) (context.Context, context.CancelFunc) {
	if p.wait == 0 || !now {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, p.wait, errWatchOver)
}

// watchTaker takes batches for a stream that may say when it can send.
type watchTaker struct {
	watch *watchStream
	to    call.Paced
}

// takerOf returns what takes batches for a watch; nil if its stream never says when it can send.
func takerOf(w *watchStream) watch.Taker {
	if stream, ok := w.stream.(*grpc.GenericServerStream[tenurev1.WatchRequest, tenurev1.WatchResponse]); ok {
		if to, ok := stream.ServerStream.(call.Paced); ok && to.Paced() {
			return &watchTaker{watch: w, to: to}
		}
	}
	return nil
}

// Ready reports whether a message may be sent now.
func (t *watchTaker) Ready() bool { return t.to.Ready() }

// Await waits until a message may be sent.
func (t *watchTaker) Await(context.Context) error { return t.to.Await() }

// Offer sends a batch that others get, too, if it is one message.
func (t *watchTaker) Offer(b watch.Batch) (sent bool) {
	w := t.watch
	if w.left >= 0 || w.events != nil || b.Shared == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			sent = false // The watch meets it on its own goroutine, where the gate sees it.
		}
	}()
	messages, err := w.messages(b)
	if err != nil || len(messages) != 1 || !t.to.Offer(messages[0]) {
		return false
	}
	w.reached = messages[0].reached
	return true
}

// Flush has what was offered sent.
func (t *watchTaker) Flush() { t.to.Flush() }

// start sends the first message, and the initial state if it is wanted.
func (w *watchStream) start(ctx context.Context, plan *watchPlan) error {
	if w.request.GetInitial() {
		return w.sendInitial(ctx, plan)
	}
	if err := w.api.settleStart(ctx, plan); err != nil {
		return err
	}
	if w.request.GetVisibleOnly() {
		s, err := w.api.LocalSnapshot()
		if err != nil {
			return err
		}
		err = w.fix(ctx, plan, s)
		w.api.CloseSnapshot(s)
		if err != nil {
			return err
		}
	}
	return w.stream.Send(w.started(plan.after))
}

// fix decides by a snapshot what a watch shows that shows no more than its caller sees.
func (w *watchStream) fix(ctx context.Context, plan *watchPlan, s *call.Snapshot) error {
	if err := s.Fix(ctx, w.request.GetKeysOnly()); err != nil {
		return err
	}
	if s.Sight != nil {
		w.events = &seen.Events{Sight: s.Sight, Selectors: plan.selectors, Store: w.api.Node.Store}
	}
	return nil
}

// view leaves out of a batch what the caller does not see. The watch has come on where nothing is left of one.
func (w *watchStream) view(b watch.Batch) (watch.Batch, error) {
	shown, err := w.events.Show(b.Events)
	if err == nil && len(shown) == 0 {
		w.reached = watch.Position{Revision: b.Through, Index: watch.Whole}
	}
	return watch.Batch{Events: shown, Through: b.Through}, err
}

// started returns the first message, and notes where the watch begins.
func (w *watchStream) started(after watch.Position) *tenurev1.WatchResponse {
	w.reached = after
	return &tenurev1.WatchResponse{
		Header:      w.header(after.Revision),
		ResumeToken: w.resumer.Token(after),
		Message:     &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{AfterRevision: after.Revision}},
	}
}

// sendInitial sends the state of one snapshot; the watch goes on behind it. A client that does not read is given up, for the
// sake of the snapshot.
func (w *watchStream) sendInitial(ctx context.Context, plan *watchPlan) error {
	s, err := w.api.Reader(ctx, nil)
	if err != nil {
		return err
	}
	defer w.api.CloseSnapshot(s)
	if w.request.GetVisibleOnly() {
		if err = w.fix(ctx, plan, s); err != nil {
			return err
		}
		w.partial = true
	}
	plan.after = watch.Position{Revision: s.At.Revision, Index: watch.Whole}
	sender := call.NewHeldSender(w.stream.Send, w.api.PatienceWithClients())
	defer sender.Close()
	if err := sender.Send(ctx, w.started(plan.after)); err != nil {
		return err
	}
	send := func(part *tenurev1.WatchInitial) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		response := &tenurev1.WatchResponse{
			Header:  w.header(plan.after.Revision),
			Message: &tenurev1.WatchResponse_Initial{Initial: part},
		}
		if part.GetComplete() {
			response.ResumeToken = w.resumer.Token(plan.after)
		}
		return sender.Send(ctx, response)
	}
	state := &seen.State{
		Caller: w.api.Caller, At: s, Selectors: plan.selectors, Sight: s.Sight, KeysOnly: w.request.GetKeysOnly(), Send: send,
	}
	if err := state.SendAll(ctx); err != nil {
		return err
	}
	w.partial = false
	return nil
}

// header returns the header of a message; its revision is the one that the watch has reached.
func (w *watchStream) header(revision uint64) *tenurev1.ResponseHeader {
	h := w.api.Header(w.api.Node.Store().Applied())
	h.Revision, h.Filtered = revision, w.events != nil
	return h
}

// ended returns the error that a watch ends with; none for one that had what it wanted.
func (w *watchStream) ended(err error) error {
	if ctx := w.stream.Context(); w.request.GetVisibleOnly() && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx) // A message that could not be sent says only that the stream has ended.
	}
	switch {
	case errors.Is(err, errWatchOver), errors.Is(err, errWatchLimit):
		return nil
	case errors.Is(err, watch.ErrStopped):
		return reason.ErrStopping
	case errors.Is(err, watch.ErrTooMany):
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "this member has reached its limit of watches").
			With("limit", "watches_max")
	case errors.Is(err, watch.ErrCompacted):
		at := w.api.Node.Store().Applied()
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW,
			"the watch was at revision %d, but history starts after %d; start again from the current state",
			w.reached.Revision, at.CompactedRevision).
			With("resume_token", w.resumer.Token(w.reached)).
			With("compacted_revision", strconv.FormatUint(at.CompactedRevision, 10))
	default:
		if e, ok := errors.AsType[*reason.Error](err); ok && ended(e.Reason) && w.resumes(e.Reason) {
			_ = e.With("resume_token", w.resumer.Token(w.reached))
		}
		return err
	}
}

// resumes reports whether a watch that ended because its caller's rights changed may go on where it was. Behind an initial state of which parts are missing,
// nothing does. One that shows a part may have left out events that the caller is allowed to see by now.
func (w *watchStream) resumes(why tenurev1.ErrorReason) bool {
	othersSeen := why == tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED && w.request.GetVisibleOnly()
	return !w.partial && !othersSeen && w.events == nil
}

// ended reports whether a watch ends with a reason because its caller's rights changed.
func ended(why tenurev1.ErrorReason) bool {
	switch why {
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED,
		tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED:
		return true
	default:
		return false
	}
}

// send sends a batch. What all who watch the same get is encoded once.
func (w *watchStream) send(b watch.Batch) error {
	if len(b.Events) == 0 {
		return w.sendSign(b)
	}
	over := false
	if w.left >= 0 {
		b, over = w.cut(b)
		w.left -= len(b.Events)
	}
	messages, err := w.messages(b)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := w.stream.SendMsg(m); err != nil {
			return err
		}
		w.reached = m.reached
	}
	if over {
		return errWatchLimit
	}
	return nil
}

// sendSign sends how far the watch came: what that proves, or that it goes on to look.
func (w *watchStream) sendSign(b watch.Batch) error {
	w.reached = watch.Position{Revision: b.Through, Index: watch.Whole}
	response := &tenurev1.WatchResponse{
		Header:      w.header(b.Through),
		ResumeToken: w.resumer.Token(w.reached),
	}
	if b.Behind {
		response.Message = &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{}}
	} else {
		after := max(0, b.Proved.Sub(w.taken))
		response.Message = &tenurev1.WatchResponse_Progress{
			Progress: &tenurev1.WatchProgress{ProvedAfter: durationpb.New(after.Truncate(time.Millisecond))},
		}
	}
	return w.stream.Send(response)
}

// cut shortens a batch to whole revisions that reach the limit, and reports whether it is reached.
func (w *watchStream) cut(b watch.Batch) (watch.Batch, bool) {
	if len(b.Events) < w.left {
		return b, false
	}
	for n := max(w.left, 1); n < len(b.Events); n++ {
		if b.Events[n].GetRevision() != b.Events[n-1].GetRevision() {
			return watch.Batch{Events: b.Events[:n], Through: b.Events[n-1].GetRevision()}, true
		}
	}
	return b, true
}

// encodedEvents is a response that the codec passes on as it is.
type encodedEvents struct {
	data    []byte
	reached watch.Position
}

// Encoded returns the response's bytes.
func (e *encodedEvents) Encoded() []byte { return e.data }

// Which of the values that watchers of the same share is meant.
const (
	variantKeysOnly = 1 << iota
	variantPrevious
)

// messages returns a batch as it is sent.
func (w *watchStream) messages(b watch.Batch) ([]*encodedEvents, error) {
	if b.Shared == nil {
		return w.encode(b)
	}
	variant := 0
	if w.request.GetKeysOnly() {
		variant |= variantKeysOnly
	}
	if w.request.GetPrevious() {
		variant |= variantPrevious
	}
	v, err := b.Shared.Value(variant, func() (any, error) { return w.encode(b) })
	if err != nil {
		return nil, err
	}
	messages, ok := v.([]*encodedEvents)
	if !ok {
		return nil, fmt.Errorf("shared value of a batch is a %T", v)
	}
	return messages, nil
}

// encode makes messages of a batch. They end between revisions where they can; where not, all but the last part of the
// revision are marked.
func (w *watchStream) encode(b watch.Batch) (messages []*encodedEvents, err error) {
	previous, closeReader := w.previousValues()
	defer func() { err = errors.Join(err, closeReader()) }()
	c := &eventConverter{history: w.resumer.History, keysOnly: w.request.GetKeysOnly(), previous: previous}
	var part []*tenurev1.Event
	bytes := 0
	for i, e := range b.Events {
		var event *tenurev1.Event
		if event, err = c.convert(e); err != nil {
			return nil, err
		}
		n := proto.Size(event)
		if len(part) > 0 && bytes+n > watchMessageBytes {
			var m *encodedEvents
			m, err = w.encodePart(part, position(b.Events[i-1], e), e.GetRevision() == b.Events[i-1].GetRevision())
			if err != nil {
				return nil, err
			}
			messages = append(messages, m)
			part, bytes = nil, 0
		}
		part = append(part, event)
		bytes += n
	}
	last, err := w.encodePart(part, watch.Position{Revision: b.Through, Index: watch.Whole}, false)
	if err != nil {
		return nil, err
	}
	return append(messages, last), nil
}

// position returns where a watch goes on between two events.
func position(last, next *storev1.Event) watch.Position {
	if last.GetRevision() == next.GetRevision() {
		return watch.Position{Revision: last.GetRevision(), Index: last.GetIndex()}
	}
	return watch.Position{Revision: last.GetRevision(), Index: watch.Whole}
}

// encodePart makes one message.
func (w *watchStream) encodePart(events []*tenurev1.Event, reached watch.Position, more bool) (*encodedEvents, error) {
	revision := reached.Revision
	if more {
		revision-- // This one is not whole yet.
	}
	data, err := proto.Marshal(&tenurev1.WatchResponse{
		Header:      w.header(revision),
		ResumeToken: w.resumer.Token(reached),
		Message:     &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{Events: events, More: more}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode events: %w", err)
	}
	return &encodedEvents{data: data, reached: reached}, nil
}

// previousValues returns where values before a change are found, if they are asked for, and what ends the search.
func (w *watchStream) previousValues() (previousValues, func() error) {
	if !w.request.GetPrevious() {
		return nil, func() error { return nil }
	}
	var r *storage.Reader
	find := func(p *storev1.PreviousValue) (*storev1.Event, bool, error) {
		if r == nil {
			r = w.api.Node.Store().NewReader()
		}
		return r.PreviousEvent(p)
	}
	return find, func() error {
		if r == nil {
			return nil
		}
		return r.Close()
	}
}
