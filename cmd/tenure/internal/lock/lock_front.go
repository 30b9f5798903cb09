package lock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
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
	// The watch begins before the first look, so that nothing between is missed.
	start := tenure.OnStart(func(uint64) { q.tellHolder(ctx) })
	for event, err := range q.session.Client.Watch(ctx, tenure.OnLocks(q.key), start) {
		if err != nil {
			return
		}
		switch event.Type {
		case tenure.EventLockGranted, tenure.EventLockReleased, tenure.EventLockLost, tenure.EventLockDelayEnded:
			q.tellHolder(ctx)
		default:
			// Who else waits is no news to the first.
		}
	}
}

// tellHolder tells who stands in the way now.
func (q *lockQueue) tellHolder(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	answer, err := getLock(ctx, q.session.Client, q.key)
	if err != nil {
		return
	}
	lock := answer.GetLock()
	for _, hold := range lock.GetHolds() {
		if hold.GetSequencer().GetSessionId() == q.session.ID() {
			return
		}
	}
	if lock.GetHolders()+lock.GetDelayedHolds() > 0 || lock.GetFrozen() {
		q.say(placeText(0, lock, answer.GetSessions()...))
	}
}

// holderMax bounds how long a look for the holders may hold a wait up.
const holderMax = time.Second

// holders returns the sessions of the lock's holders, which say where these run; nothing if that cannot be known at once.
func (q *lockQueue) holders(ctx context.Context) []*tenurev1.Session {
	ctx, cancel := context.WithTimeout(ctx, min(q.timeout, holderMax))
	defer cancel()
	answer, err := getLock(ctx, q.session.Client, q.key)
	if err != nil {
		return nil // It is for people only, and they are told the rest.
	}
	return answer.GetSessions()
}

// placeText says what stands between a waiter and a lock, and where in the queue it is. Without lock only the place is
// known. Of holders whose session is among those given, it says where they run.
func placeText(before uint32, lock *tenurev1.Lock, sessions ...*tenurev1.Session) string {
	var parts []string
	if holds := lock.GetHolds(); len(holds) > 0 {
		text := cli.HolderText(holds[0], sessions...)
		if more := lock.GetHolders(); more > 1 {
			text += fmt.Sprintf(" and by %d more", more-1)
		}
		parts = append(parts, text)
	} else if delayed := lock.GetDelayed(); len(delayed) > 0 {
		parts = append(parts, cli.DelayText(delayed[0]))
	}
	if lock.GetFrozen() {
		parts = append(parts, cli.FrozenText)
	}
	place := fmt.Sprintf("position %d", before+1)
	if waiters := lock.GetWaiters(); waiters > 0 {
		place += fmt.Sprintf(" of %d", max(waiters, before+1))
	}
	return strings.Join(append(parts, place), ", ")
}
