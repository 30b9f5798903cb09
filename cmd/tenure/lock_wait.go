package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// lockWait waits for a lock by trying, and watching what stands in the way from the very revision of the refusal: no
// wake-up is lost, and nothing is asked for in vain.
type lockWait struct {
	members *members
	session *ownSession
	key     string
	// value is written with the lock; nil leaves the key's value as it is.
	value []byte
	// deadline ends the wait; zero is never.
	deadline time.Time
	note     func(format string, args ...any)
	// timeout bounds one try.
	timeout time.Duration

	said string
}

// errNotHad says that the wait was over before the lock was had.
var errNotHad = errors.New("the lock was not had in time")

// take returns the hold once it is had. It ends early by a signal that ends programs, by the loss of the session, and at
// the deadline.
func (w *lockWait) take(ctx context.Context, signals <-chan os.Signal, losses <-chan error) (*tenurev1.Sequencer, error) {
	ctx, cancel := context.WithCancel(ctx)
	type outcome struct {
		hold *tenurev1.Sequencer
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		hold, err := w.tryAndWatch(ctx)
		done <- outcome{hold, err}
	}()
	// abandon waits for the try under way, so that none is made after the session's end.
	abandon := func(err error) (*tenurev1.Sequencer, error) {
		cancel()
		<-done
		return nil, err
	}
	for {
		select {
		case o := <-done:
			cancel()
			if errors.Is(o.err, errNotHad) {
				return nil, &exitError{code: exitNotHad, err: fmt.Errorf("the lock on %s was not had in time: %s", quoted(w.key), w.said)}
			}
			return o.hold, o.err
		case s := <-signals:
			if ends(s) {
				return abandon(signalled(s))
			}
		case err := <-losses:
			if err != nil {
				return abandon(err)
			}
		}
	}
}

// tryAndWatch tries until the lock is had.
func (w *lockWait) tryAndWatch(ctx context.Context) (*tenurev1.Sequencer, error) {
	pause := backoff{}
	for {
		answer, err := w.try(ctx)
		switch {
		case err == nil && answer.GetAcquired():
			return answer.GetSequencer(), nil
		case err == nil:
			w.say(whyNotAcquired(answer.GetLock()))
			pause.reset()
			err = w.awaitChange(ctx, answer.GetHeader())
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case w.over():
			return nil, errNotHad
		case err == nil:
			continue
		case !transient(err):
			return nil, err
		}
		w.say(fmt.Sprintf("cannot ask for it (%s)", printable(errorText(err))))
		if !pause.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// try asks for the lock once. Asked again by the same session it does the same.
func (w *lockWait) try(ctx context.Context) (*tenurev1.PutResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	request := &tenurev1.PutRequest{Key: w.key, Acquire: w.session.id, Options: w.session.options()}
	value := w.value
	if value == nil {
		// The verb always writes a value, so the present one is written again.
		kv, err := w.members.getKey(ctx, w.key)
		if err != nil && status.Code(err) != codes.NotFound {
			return nil, err
		}
		value, request.Flags = kv.GetKv().GetValue(), kv.GetKv().GetFlags()
	}
	request.Content = &tenurev1.PutRequest_Value{Value: value}
	return w.members.put(ctx, mayRepeat, request)
}

// awaitChange waits until something happened after a refusal that may have made the lock free.
func (w *lockWait) awaitChange(ctx context.Context, refused *tenurev1.ResponseHeader) error {
	if !w.deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.deadline)
		defer cancel()
	}
	watch := &watcher{members: w.members, request: lockWatch(w.key, refused.GetRevision(), refused.GetHistoryId())}
	errFree := errors.New("free")
	err := watch.run(ctx, func(e *tenurev1.Event) error {
		if mayFree(e) {
			return errFree
		}
		return nil
	})
	switch {
	case errors.Is(err, errFree), status.Code(err) == codes.OutOfRange:
		// If the history is forgotten, only trying tells.
		return nil
	default:
		return err
	}
}

// lockWatch asks for what happens to a lock after a revision.
func lockWatch(key string, after uint64, history string) *tenurev1.WatchRequest {
	return &tenurev1.WatchRequest{
		Keys:          []string{key},
		Locks:         []string{key},
		AfterRevision: after,
		HistoryId:     history,
		KeysOnly:      true,
		Filter:        &tenurev1.WatchFilter{NoPuts: true},
	}
}

// mayFree tells whether a lock may be free after an event.
func mayFree(e *tenurev1.Event) bool {
	switch e.GetType() {
	case tenurev1.EventType_EVENT_TYPE_HOLDER_RELEASED, tenurev1.EventType_EVENT_TYPE_HOLDER_LOST,
		tenurev1.EventType_EVENT_TYPE_DELETED, tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED,
		tenurev1.EventType_EVENT_TYPE_LOCK_LOST, tenurev1.EventType_EVENT_TYPE_LOCK_LEFT,
		tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN, tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_ENDED:
		return true
	default:
		return false
	}
}

// over tells whether the wait has lasted as long as it may.
func (w *lockWait) over() bool {
	return !w.deadline.IsZero() && !time.Now().Before(w.deadline)
}

// say tells people what the wait is for, when that has changed.
func (w *lockWait) say(why string) {
	if why != w.said && !w.over() {
		w.note("Waiting for the lock on %s: %s", quoted(w.key), why)
	}
	w.said = why
}

// transient tells whether an error may pass: while a session lives, waiting goes on.
func transient(err error) bool {
	var unreachable *unreachableError
	switch {
	case errors.As(err, &unreachable), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, errNoAnswer), errors.Is(err, errStreamEnded):
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Canceled:
		return true
	default:
		return false
	}
}

// watchHold waits until a hold is lost or given back, and says how; it returns nil when ctx ends, and when it cannot tell.
func watchHold(ctx context.Context, m *members, hold *tenurev1.Sequencer) error {
	watch := &watcher{
		members: m,
		patient: true,
		request: &tenurev1.WatchRequest{
			Locks:         []string{hold.GetKey()},
			AfterRevision: hold.GetFencingToken(),
			HistoryId:     hold.GetHistoryId(),
		},
	}
	err := watch.run(ctx, func(e *tenurev1.Event) error {
		if e.GetHold().GetSequencer().GetLockIndex() != hold.GetLockIndex() {
			return nil
		}
		switch e.GetType() {
		case tenurev1.EventType_EVENT_TYPE_LOCK_LOST, tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED:
			return &holdLostError{cause: e.GetHoldEndCause(), reason: e.GetReason()}
		default:
			return nil
		}
	})
	if lost, ok := errors.AsType[*holdLostError](err); ok {
		return lost
	}
	// Without the watch a loss shows later: by the session's next renewal, or by the lease.
	return nil
}
