package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// frontRow is what the first in a queue knows more than the others: who stands in the way, as that changes.
type frontRow struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// enter begins to tell who stands in the way. Called again it does nothing.
func (f *frontRow) enter(ctx context.Context, q *lockQueue) {
	if f.cancel != nil {
		return
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.running.Go(func() { q.tellHolders(ctx) })
}

// leave ends it, and waits for the end.
func (f *frontRow) leave() {
	if f.cancel != nil {
		f.cancel()
		f.running.Wait()
	}
}

// tellHolders tells who stands in the way, now and whenever that may have changed, until ctx ends. It is for people only:
// if it fails, the wait goes on.
func (q *lockQueue) tellHolders(ctx context.Context) {
	header := q.tellHolder(ctx)
	if header == nil {
		return
	}
	watch := &watcher{members: q.members, request: &tenurev1.WatchRequest{
		Locks:         []string{q.key},
		AfterRevision: header.GetRevision(),
		HistoryId:     header.GetHistoryId(),
	}}
	_ = watch.run(ctx, func(e *tenurev1.Event) error {
		switch e.GetType() {
		case tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED, tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED,
			tenurev1.EventType_EVENT_TYPE_LOCK_LOST, tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_ENDED:
			q.tellHolder(ctx)
		default:
			// Who else waits is no news to the first.
		}
		return nil
	})
}

// tellHolder tells who stands in the way now, and returns the answer's header; nil if there was none.
func (q *lockQueue) tellHolder(ctx context.Context) *tenurev1.ResponseHeader {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	answer, err := q.members.getLock(ctx, q.key)
	if err != nil {
		return nil
	}
	lock := answer.GetLock()
	for _, hold := range lock.GetHolds() {
		if hold.GetSequencer().GetSessionId() == q.session.ID() {
			return answer.GetHeader()
		}
	}
	if lock.GetHolders()+lock.GetDelayedHolds() > 0 || lock.GetFrozen() {
		q.say(placeText(0, lock))
	}
	return answer.GetHeader()
}

// getLock reads a lock.
func (m *members) getLock(ctx context.Context, key string) (answer *tenurev1.GetLockResponse, err error) {
	err = m.call(ctx, mayRepeat, func(ctx context.Context, l *link) (err error) {
		answer, err = l.locks().GetLock(ctx, &tenurev1.GetLockRequest{Key: key})
		return err
	})
	return answer, err
}

// placeText says what stands between a waiter and a lock, and where in the queue it is. Without lock only the place is
// known.
func placeText(before uint32, lock *tenurev1.Lock) string {
	var parts []string
	if holds := lock.GetHolds(); len(holds) > 0 {
		text := holderText(holds[0])
		if more := lock.GetHolders(); more > 1 {
			text += fmt.Sprintf(" and by %d more", more-1)
		}
		parts = append(parts, text)
	} else if delayed := lock.GetDelayed(); len(delayed) > 0 {
		parts = append(parts, delayText(delayed[0]))
	}
	if lock.GetFrozen() {
		parts = append(parts, frozenText)
	}
	place := fmt.Sprintf("position %d", before+1)
	if waiters := lock.GetWaiters(); waiters > 0 {
		place += fmt.Sprintf(" of %d", max(waiters, before+1))
	}
	return strings.Join(append(parts, place), ", ")
}
