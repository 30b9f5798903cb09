package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
)

// lockQueue waits for a lock in its queue, and tells people about it.
type lockQueue struct {
	session *session.Own
	key     string
	// lock returns what is wanted: the lock, how to share it and the value to write.
	lock func(options ...tenure.LockOption) *tenure.Lock
	// what is waited for, for people.
	what string
	// try names the flag that says not to wait at all; empty: it waits.
	try string
	// deadline ends the wait; zero is never.
	deadline time.Time
	note     func(format string, args ...any)
	// outer is the session of the lock under which this program runs; empty if there is none.
	outer string
	// timeout bounds a single call.
	timeout time.Duration

	nested sync.Once // For noteNested.

	mu   sync.Mutex // Guards why and said.
	why  string     // What the wait is for.
	said string     // What people were told of that last.
}

// errNotHad says that the wait was over before the lock was had.
var errNotHad = errors.New("the lock was not acquired in time")

// take returns the hold once it is had. It ends early by a signal that ends programs, by the loss of the session, and at
// the deadline. Whoever ends the session then gives up the place, too.
func (q *lockQueue) take(ctx context.Context, signals <-chan os.Signal, losses <-chan error) (*tenure.Held, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		hold *tenure.Held
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		hold, err := q.wait(ctx)
		done <- outcome{hold, err}
	}()
	// abandon waits for the call under way, so that none is made after the session's end.
	abandon := func(err error) (*tenure.Held, error) {
		cancel()
		<-done
		return nil, err
	}
	for {
		select {
		case o := <-done:
			if errors.Is(o.err, errNotHad) {
				return nil, &cli.ExitError{Code: process.ExitNotHad, Err: q.notHad()}
			}
			return o.hold, o.err
		case s := <-signals:
			if process.Ends(s) {
				if q.try == "" {
					q.note("Interrupted: leaving the queue for %s.", q.what)
				}
				return abandon(signalled(s))
			}
		case err := <-losses:
			if err != nil {
				return abandon(err)
			}
		}
	}
}

// notHad says why the lock was not acquired.
func (q *lockQueue) notHad() error {
	if q.try != "" {
		return fmt.Errorf("%s was not acquired: %s; %s does not wait", q.what, q.reason(), q.try)
	}
	return fmt.Errorf("%s was not acquired in time: %s", q.what, q.reason())
}

// wait asks, and follows what is answered, until the lock is had or the time is over.
func (q *lockQueue) wait(ctx context.Context) (*tenure.Held, error) {
	if q.try != "" {
		return q.tryOnce(ctx)
	}
	return q.persist(ctx, func(options ...tenure.LockOption) (*tenure.Held, error) {
		p := &place{queue: q}
		defer p.leave()
		told := func(now tenure.Queued) { p.tell(ctx, now) }
		return q.lock(append(options, tenure.WithOwner(""), tenure.WithQueuedFunc(told))...).Acquire(ctx)
	})
}

// noteNested tells people once if the lock is held for the command that waits for it.
func (q *lockQueue) noteNested(lock *tenure.LockInfo) {
	if lock != nil && q.waitsForItself(lock) {
		q.nested.Do(func() {
			q.note("Note: the program under which this one runs holds %s, and keeps it until this one ends.", q.what)
		})
	}
}

// waitsForItself reports whether the lock is held for the command that waits for it.
func (q *lockQueue) waitsForItself(lock *tenure.LockInfo) bool {
	return q.outer != "" && slices.ContainsFunc(lock.Holds, func(h tenure.HoldInfo) bool { return h.SessionID == q.outer })
}

// persist acquires, and again when nobody answers, until the lock is had or the time is over.
func (q *lockQueue) persist(
	ctx context.Context, acquire func(options ...tenure.LockOption) (*tenure.Held, error),
) (*tenure.Held, error) {
	pauses := cli.Backoff{}
	for {
		var options []tenure.LockOption
		if !q.deadline.IsZero() {
			options = append(options, tenure.WithWait(max(0, time.Until(q.deadline))))
		}
		held, err := acquire(options...)
		switch {
		case err == nil:
			return held, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case q.over(), errors.Is(err, tenure.ErrWaitTimedOut):
			return nil, errNotHad
		case q.session.Err() != nil:
			return nil, q.session.Ended()
		case errors.Is(err, tenure.ErrUnavailable), errors.Is(err, tenure.ErrOutcomeUnknown), errors.Is(err, tenure.ErrLockLost):
			// Nothing is left of the wait; while the session lives another one may begin.
			q.say(q.trouble())
			// A session in jeopardy may refuse at once.
			pause := pauses.Next()
			if !q.deadline.IsZero() {
				pause = min(pause, time.Until(q.deadline))
			}
			if !cli.PauseFor(ctx, pause) {
				return nil, ctx.Err()
			}
			continue
		}
		return nil, q.refused(err)
	}
}

// trouble returns why the wait has to begin again.
func (q *lockQueue) trouble() string {
	if refusal := q.session.Refusal(); refusal != nil {
		return fmt.Sprintf("renewals of the session are refused (%s); still trying", cli.Printable(refusal.Error()))
	}
	return "the cluster does not answer; still trying"
}

// tryOnce takes the lock if it is free.
func (q *lockQueue) tryOnce(ctx context.Context) (*tenure.Held, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	held, info, err := q.lock(tenure.WithOwner("")).TryAcquire(ctx)
	switch {
	case err != nil:
		return nil, q.refused(err)
	case held == nil:
		q.know(cli.WhyNotAcquired(info.Message, q.holders(ctx)...))
		return nil, errNotHad
	}
	return held, nil
}

// refused returns the error for a wait that the cluster refused, or ended.
func (q *lockQueue) refused(err error) error {
	ended, ok := errors.AsType[*tenure.Error](err)
	switch {
	case ok && errors.Is(ended.Kind, tenure.ErrWaitEnded):
		return cli.RefusedError("an operator ended the wait for %s: %s", q.what, cli.Printable(ended.Message))
	case errors.Is(err, tenure.ErrSessionExpired), errors.Is(err, tenure.ErrSessionSuperseded):
		return session.End(q.session.ID(), err)
	}
	return cli.PlainError(err)
}

// over tells whether the wait has lasted as long as it may.
func (q *lockQueue) over() bool {
	return !q.deadline.IsZero() && !time.Now().Before(q.deadline)
}

// say tells people what the wait is for, when that has changed.
func (q *lockQueue) say(why string) {
	q.mu.Lock()
	changed := why != q.said
	q.why, q.said = why, why
	q.mu.Unlock()
	if changed && !q.over() {
		q.note("Waiting for %s: %s", q.what, why)
	}
}

// know remembers what the wait is for, which people are not told yet.
func (q *lockQueue) know(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.why = why
}

// reason returns what the wait was for at last.
func (q *lockQueue) reason() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.why
}
