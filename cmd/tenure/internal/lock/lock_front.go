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

// place is one wait in the queue, to its end. It tells people about the wait, in order, and nothing when it is over, though the library may still
// be telling.
type place struct {
	queue *lockQueue

	mu      sync.Mutex // Guards left and cancel, and is held while people are told. The queue's comes after it.
	left    bool
	cancel  context.CancelFunc // Ends the look at the lock; nil: nobody looks.
	looking sync.WaitGroup
}

// tell tells people what the library tells. Only the first in the queue looks at the lock itself, so that a long queue costs the cluster no more
// than a short one. The look is not waited for: the library reads nothing on, and no grant, before tell returns.
func (p *place) tell(ctx context.Context, now tenure.Queued) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left || ctx.Err() != nil {
		return
	}
	p.queue.noteNested(now.Lock)
	var lock *tenurev1.Lock
	if now.Lock != nil {
		lock = now.Lock.Message
	}
	if p.cancel != nil && (lock != nil || now.Position > 0) {
		p.cancel() // The place is another one.
		p.cancel = nil
	}
	switch {
	case now.Position > 0:
		p.queue.say(placeText(uint32(now.Position), lock))
	case p.cancel == nil:
		if lock != nil {
			p.queue.know(placeText(0, lock))
		}
		ctx, p.cancel = context.WithCancel(ctx)
		p.looking.Go(func() { p.look(ctx, lock) })
	}
}

// leave ends the place, and waits until nobody looks.
func (p *place) leave() {
	p.mu.Lock()
	p.left = true
	if p.cancel != nil {
		p.cancel()
	}
	p.mu.Unlock()
	p.looking.Wait()
}

// say tells people who stands in the way, unless ctx, that of a look, has ended.
func (p *place) say(ctx context.Context, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil {
		p.queue.say(why)
	}
}

// look tells who stands in the way of the first, now and whenever that may have changed, until ctx ends. known is the lock as the wait began, if
// it did so here; it is told if nobody answers soon. All of it is for people only: if it fails, the wait goes on.
func (p *place) look(ctx context.Context, known *tenurev1.Lock) {
	q := p.queue
	if known != nil && !p.tellHolder(ctx, min(q.timeout, holderMax)) {
		p.say(ctx, placeText(0, known))
	}
	// The watch begins before the next look, so that nothing between is missed.
	start := tenure.OnStart(func(uint64) { p.tellHolder(ctx, q.timeout) })
	for event, err := range q.session.Client.Watch(ctx, tenure.OnLocks(q.key), start) {
		if err != nil {
			return
		}
		switch event.Type {
		case tenure.EventLockGranted, tenure.EventLockReleased, tenure.EventLockLost, tenure.EventLockDelayEnded:
			p.tellHolder(ctx, q.timeout)
		default:
			// Who else waits is no news to the first.
		}
	}
}

// tellHolder tells who stands in the way now, and reports whether that was answered in time.
func (p *place) tellHolder(ctx context.Context, patience time.Duration) bool {
	q := p.queue
	call, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := getLock(call, q.session.Client, q.key)
	if err != nil {
		return false
	}
	lock := answer.GetLock()
	for _, hold := range lock.GetHolds() {
		if hold.GetSequencer().GetSessionId() == q.session.ID() {
			return true
		}
	}
	if lock.GetHolders()+lock.GetDelayedHolds() > 0 || lock.GetFrozen() {
		p.say(ctx, placeText(0, lock, answer.GetSessions()...))
	}
	return true
}

// holderMax bounds how long people wait for where the holders run, before they are told the rest.
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
