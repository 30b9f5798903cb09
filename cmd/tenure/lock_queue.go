package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// waitBackstop is how much longer than this program the cluster waits: this program's own deadline comes first.
const waitBackstop = 2 * time.Second

// lockQueue waits for a lock in its queue, which is state of the cluster: after a break, and through another member, the
// same session finds its place again.
type lockQueue struct {
	members *members
	session *ownSession
	// want says what is wanted: the lock, how to share it and the value to write. Session, wait and options are filled in.
	want *tenurev1.AcquireLockRequest
	// campaign tells that the lock is an election's.
	campaign bool
	// what is waited for, for people.
	what string
	// try tells not to wait at all.
	try bool
	// deadline ends the wait; zero is never.
	deadline time.Time
	note     func(format string, args ...any)
	// timeout bounds a single call.
	timeout time.Duration

	mu   sync.Mutex // Guards said.
	said string
}

// errNotHad says that the wait was over before the lock was had.
var errNotHad = errors.New("the lock was not had in time")

// steps is what a member tells on the way to a lock.
type steps func() (*tenurev1.AcquireLockResponse, error)

// take returns the hold once it is had. It ends early by a signal that ends programs, by the loss of the session, and at
// the deadline. Whoever ends the session then gives up the place, too.
func (q *lockQueue) take(ctx context.Context, signals <-chan os.Signal, losses <-chan error) (*tenurev1.Sequencer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		hold *tenurev1.Sequencer
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		hold, err := q.wait(ctx)
		done <- outcome{hold, err}
	}()
	// abandon waits for the call under way, so that none is made after the session's end.
	abandon := func(err error) (*tenurev1.Sequencer, error) {
		cancel()
		<-done
		return nil, err
	}
	for {
		select {
		case o := <-done:
			if errors.Is(o.err, errNotHad) {
				return nil, &exitError{code: exitNotHad, err: fmt.Errorf("%s was not had in time: %s", q.what, q.reason())}
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

// wait asks, and follows what is answered, until the lock is had or the time is over.
func (q *lockQueue) wait(ctx context.Context) (*tenurev1.Sequencer, error) {
	q.want.SessionId, q.want.Options = q.session.id, q.session.options()
	if q.try {
		return q.tryOnce(ctx)
	}
	pause := backoff{}
	for {
		hold, err := q.queueOnce(ctx, pause.reset)
		switch {
		case err == nil:
			return hold.GetSequencer(), nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case q.over():
			return q.leave(ctx)
		case !transient(err):
			return nil, err
		}
		q.say(fmt.Sprintf("cannot ask for it (%s)", printable(errorText(err))))
		if !pause.wait(ctx) {
			return nil, ctx.Err()
		}
	}
}

// tryOnce takes the lock if it is free.
func (q *lockQueue) tryOnce(ctx context.Context) (*tenurev1.Sequencer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	request := &tenurev1.TryAcquireLockRequest{
		Key: q.want.GetKey(), SessionId: q.want.GetSessionId(), Mode: q.want.GetMode(), Permits: q.want.GetPermits(),
		Limit: q.want.GetLimit(), Value: q.want.Value, Options: q.want.GetOptions(), //nolint:protogetter // Unset differs from empty.
	}
	var answer *tenurev1.TryAcquireLockResponse
	// Asked again by the same session it does the same.
	err := q.members.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
		answer, err = l.locks().TryAcquireLock(ctx, request)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !answer.GetAcquired():
		q.keep(whyNotAcquired(answer.GetLock()))
		return nil, errNotHad
	}
	return answer.GetHold().GetSequencer(), nil
}

// queueOnce asks one member for the lock, and follows the place until the lock is had or something breaks. A stream that
// could be read calls well.
func (q *lockQueue) queueOnce(ctx context.Context, well func()) (*tenurev1.Hold, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !q.deadline.IsZero() {
		q.want.Wait = durationpb.New(max(0, time.Until(q.deadline)) + waitBackstop)
		timer := time.AfterFunc(time.Until(q.deadline), cancel)
		defer timer.Stop()
	}
	l, err := q.members.link(ctx)
	if err != nil {
		return nil, err
	}
	next, err := q.ask(ctx, l)
	if err != nil {
		return nil, q.broken(l, err)
	}
	// Only the first in the queue looks at the lock itself, so that a long queue costs the cluster no more than a short one.
	var front frontRow
	defer front.leave()
	for {
		step, err := next()
		if err != nil {
			return nil, q.broken(l, err)
		}
		well()
		var position uint32
		switch kind := step.GetStep().(type) {
		case *tenurev1.AcquireLockResponse_Granted:
			return kind.Granted, nil
		case *tenurev1.AcquireLockResponse_Rejected:
			return nil, q.rejected(kind.Rejected)
		case *tenurev1.AcquireLockResponse_Queued:
			position = kind.Queued.GetPlace().GetPosition()
			q.say(placeText(position, kind.Queued.GetLock()))
		case *tenurev1.AcquireLockResponse_Moved:
			if position = kind.Moved.GetPosition(); position > 0 {
				q.say(placeText(position, nil))
			}
		}
		if position == 0 {
			front.enter(ctx, q)
		}
	}
}

// ask opens the stream of steps.
func (q *lockQueue) ask(ctx context.Context, l *link) (steps, error) {
	if !q.campaign {
		stream, err := l.locks().AcquireLock(ctx, q.want)
		if err != nil {
			return nil, err
		}
		return stream.Recv, nil
	}
	request := &tenurev1.CampaignRequest{
		Key: q.want.GetKey(), SessionId: q.want.GetSessionId(), Wait: q.want.GetWait(), Options: q.want.GetOptions(),
		Content: &tenurev1.CampaignRequest_Value{Value: q.want.GetValue()},
	}
	stream, err := l.elections().Campaign(ctx, request)
	if err != nil {
		return nil, err
	}
	return campaignSteps(stream), nil
}

// campaignSteps returns the steps to leadership as those to a lock.
func campaignSteps(stream grpc.ServerStreamingClient[tenurev1.CampaignResponse]) steps {
	return func() (*tenurev1.AcquireLockResponse, error) {
		in, err := stream.Recv()
		out := &tenurev1.AcquireLockResponse{Header: in.GetHeader()}
		switch kind := in.GetStep().(type) {
		case *tenurev1.CampaignResponse_Queued:
			out.Step = &tenurev1.AcquireLockResponse_Queued{Queued: kind.Queued}
		case *tenurev1.CampaignResponse_Moved:
			out.Step = &tenurev1.AcquireLockResponse_Moved{Moved: kind.Moved}
		case *tenurev1.CampaignResponse_Elected:
			out.Step = &tenurev1.AcquireLockResponse_Granted{Granted: kind.Elected}
		case *tenurev1.CampaignResponse_Rejected:
			out.Step = &tenurev1.AcquireLockResponse_Rejected{Rejected: kind.Rejected}
		}
		return out, err
	}
}

// broken drops a connection over which a stream broke, unless the stream was refused or this program ended it.
func (q *lockQueue) broken(l *link, err error) error {
	if errors.Is(err, io.EOF) {
		err = errStreamEnded
	}
	if transient(err) && !q.over() {
		q.members.drop(l)
	}
	return err
}

// rejected returns the error for a wait that the cluster ended.
func (q *lockQueue) rejected(step *tenurev1.LockRejectedStep) error {
	switch step.GetCause() {
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_TIMED_OUT:
		return errNotHad
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_SESSION_ENDED:
		return &sessionEndedError{id: q.session.id, cause: "it ended while it waited"}
	case tenurev1.WaitEndCause_WAIT_END_CAUSE_BROKEN:
		return refusedError("an operator ended the wait for %s: %s", q.what, printable(step.GetReason()))
	default:
		// Its events are forgotten, or its user cancelled it, which is this program only.
		return fmt.Errorf("the place in the queue is lost: %w", errStreamEnded)
	}
}

// leave gives up the place at the deadline. If the grant came first, the lock is had after all.
func (q *lockQueue) leave(ctx context.Context) (*tenurev1.Sequencer, error) {
	ctx, cancel := context.WithTimeout(ctx, min(closeTimeout, q.timeout))
	defer cancel()
	var answer *tenurev1.CancelWaitResponse
	err := q.members.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
		answer, err = l.locks().CancelWait(ctx, &tenurev1.CancelWaitRequest{
			Key: q.want.GetKey(), SessionId: q.session.id, Options: q.session.options(),
		})
		return err
	})
	if err != nil || answer.GetHold() == nil {
		// If it failed the session's end gives up the place.
		return nil, errNotHad
	}
	return answer.GetHold().GetSequencer(), nil
}

// over tells whether the wait has lasted as long as it may.
func (q *lockQueue) over() bool {
	return !q.deadline.IsZero() && !time.Now().Before(q.deadline)
}

// say tells people what the wait is for, when that has changed.
func (q *lockQueue) say(why string) {
	if q.keep(why) && !q.over() {
		q.note("Waiting for %s: %s", q.what, why)
	}
}

// keep remembers what the wait is for, and tells whether that has changed.
func (q *lockQueue) keep(why string) (changed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	changed = why != q.said
	q.said = why
	return changed
}

// reason returns what the wait was for at last.
func (q *lockQueue) reason() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.said
}
