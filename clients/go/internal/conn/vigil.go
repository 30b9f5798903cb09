package conn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Times of a vigil.
const (
	// silenceLook is how long nothing at all may come from a member that owes answers before it is asked for a sign of life.
	silenceLook = 250 * time.Millisecond
	// silenceProof is how long that may take.
	silenceProof = 750 * time.Millisecond
	// silenceRest is how long a member that gave one is not asked again.
	silenceRest = time.Second
	// doubtsMax is how many links may be in doubt at once; others are looked at again later.
	doubtsMax = 4
)

// vigil finds out that a member has fallen silent, as one that was stopped or cut off, long before the patience of its calls ends. A member that is
// merely slow still gives signs of life.
type vigil struct {
	owed  atomic.Int64 // Answers that are being waited for.
	armed atomic.Bool  // Whether a look is due, or under way.
}

// Owe notes that an answer is being waited for, until Settle.
func (l *Link) Owe() {
	l.vigil.owed.Add(1)
	l.arm()
}

// Settle ends what Owe began.
func (l *Link) Settle() { l.vigil.owed.Add(-1) }

// arm makes the link looked at, unless it is already.
func (l *Link) arm() {
	if !l.vigil.armed.Load() && l.vigil.armed.CompareAndSwap(false, true) {
		l.lookIn(silenceLook)
	}
}

// lookIn looks at the link in a while.
func (l *Link) lookIn(d time.Duration) {
	heard := l.Heard()
	time.AfterFunc(d, func() { l.look(heard) })
}

// look doubts that the member is alive if it owes answers and nothing has come from it. Heard is how often something had come a while ago.
func (l *Link) look(heard uint64) {
	switch {
	case broken(l.failed) || broken(l.Broken()):
		return // It stays armed, so that it is not looked at again.
	case l.vigil.owed.Load() == 0:
		l.vigil.armed.Store(false)
		if l.vigil.owed.Load() > 0 {
			l.arm()
		}
		return
	case l.Heard() == heard:
		select {
		case l.pool.doubts <- l:
			return
		default:
		}
	}
	l.lookIn(silenceLook)
}

// keepVigil asks members in doubt for signs of life, until ctx ends.
func (p *Pool) keepVigil(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-p.doubts:
			asking.Go(func() { l.ask(ctx) })
		}
	}
}

// ask asks the member for a sign of life, and gives the link up if none comes. Any answer is one, also a refusal, and so is whatever else comes.
func (l *Link) ask(ctx context.Context) {
	heard, began := l.Heard(), time.Now()
	asking, cancel := context.WithTimeout(ctx, silenceProof)
	l.Ping(asking)
	silent := asking.Err() != nil && l.Heard() == heard
	cancel()
	stalled := time.Since(began) > silenceProof+silenceLook // This process stood still: what has come may not have been read yet.
	if silent && !stalled && ctx.Err() == nil {
		l.Fail()
		return
	}
	l.lookIn(silenceRest)
}
