package conn

import (
	"context"
	"time"
)

// Times of the link to the leader.
const (
	// leaderIdle is how long it may be unused before it is closed.
	leaderIdle = 30 * time.Second
	// leaderLook is how often it is looked at: whether calls on it get answers.
	leaderLook = 250 * time.Millisecond
	// leaderPauseMin and leaderPauseMax bound the pause after it broke, or could not be made.
	leaderPauseMin = time.Second
	leaderPauseMax = time.Minute
)

// Members is what a member says of all.
type Members struct {
	// Addresses are those of all that vote. Empty: not known.
	Addresses []string
	// Leader is the leader's. Empty: not known, or it is the member that was asked.
	Leader string
}

// leading is the way to the leader, if that is not the member of the current link.
type leading struct {
	pool   *Pool
	wanted chan struct{} // One slot: there is something to send to the leader.
	moved  chan struct{} // One slot: the address is another one.
	list   chan struct{} // One slot: the list of members should be asked for.

	address string // Guarded by the pool's mu, with what follows.
	link    *Link
	used    bool // Since the last look.
}

func newLeading(p *Pool) *leading {
	return &leading{pool: p, wanted: make(chan struct{}, 1), moved: make(chan struct{}, 1), list: make(chan struct{}, 1)}
}

// poke fills a slot.
func poke(slot chan struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}

// Leader returns a link to the leader, for a change; nil if the member of the current link leads, or the leader cannot be reached now: any member takes
// it there. It never waits. Release it. After a call on it failed, the next attempt is better made on the current link: see Direct.
func (p *Pool) Leader() *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.leader
	switch {
	case p.closed || l.address == "":
		return nil
	case l.link == nil:
		poke(l.wanted)
		return nil
	case broken(l.link.Broken()):
		return nil
	}
	l.used = true
	l.link.users++
	return l.link
}

// broken reports whether a channel is closed.
func broken(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Direct reports whether the link is one to the leader, beside the current link.
func (l *Link) Direct() bool { return l.direct }

// learn notes who leads.
func (l *leading) learn(address string) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	if l.pool.current != nil && l.pool.current.Address == address {
		address = ""
	}
	if l.address != address {
		l.address = address
		poke(l.moved)
	}
}

// leads returns the leader's address; empty if there is none to go to.
func (l *leading) leads() string {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.address
}

// lead makes a link to the leader when there is something to send, and keeps it as long as it is used, until ctx ends.
func (l *leading) lead(ctx context.Context) {
	pause := leaderPauseMin
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wanted:
		}
		address := l.leads()
		if address == "" {
			continue
		}
		link, err := l.pool.dial(ctx, address, 0)
		lost := err != nil
		if err == nil {
			link.direct = true
			if lost = !l.stay(ctx, link); link.Answers() > 0 {
				pause = leaderPauseMin
			}
		}
		if !lost {
			continue
		}
		poke(l.list) // Perhaps another one leads.
		if !l.rest(ctx, pause, address) {
			return
		}
		pause = min(2*pause, leaderPauseMax)
	}
}

// rest waits until a pause is over, or another one leads. It reports false if ctx ends.
func (l *leading) rest(ctx context.Context, pause time.Duration, address string) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for l.leads() == address {
		select {
		case <-timer.C:
			return true
		case <-l.moved:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// stay uses a link to the leader until it breaks, is not used any more, or another one leads. It reports false if it broke.
func (l *leading) stay(ctx context.Context, link *Link) bool {
	l.pool.mu.Lock()
	l.link = link
	l.pool.mu.Unlock()
	look := time.NewTicker(leaderLook)
	defer look.Stop()
	answers, unused := uint64(0), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			link.Fail()
			return true
		case <-link.Broken():
			link.Fail()
			return false
		case <-link.failed:
			return false
		case <-l.moved:
			if l.leads() != link.Address {
				l.leave(ctx, link)
				return true
			}
		case <-look.C:
			users, used := l.uses(link)
			if users > 0 && link.Answers() == answers {
				poke(l.list) // It may have fallen silent.
			}
			answers = link.Answers()
			if unused += leaderLook; used || users > 0 {
				unused = 0
			}
			if unused >= leaderIdle {
				l.leave(ctx, link)
				return true
			}
		}
	}
}

// uses returns how many calls are under way on a link, and whether there were any since the last look.
func (l *leading) uses(link *Link) (users int, used bool) {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	used, l.used = l.used, false
	return link.users, used
}

// leave takes a link to the leader out of use. What is under way on it may end as long as others get answers: a member that has lost the lead may not answer.
func (l *leading) leave(ctx context.Context, link *Link) {
	l.pool.mu.Lock()
	if l.link == link {
		l.link = nil
	}
	if !link.gone { // Else it failed just now.
		l.pool.retire(link)
	}
	l.pool.mu.Unlock()
	look := time.NewTicker(leaderLook)
	defer look.Stop()
	for answers := link.Answers(); ; answers = link.Answers() {
		select {
		case <-ctx.Done():
			link.Fail()
			return
		case <-link.Broken():
			return
		case <-link.failed:
			return
		case <-look.C:
			users, _ := l.uses(link)
			if users == 0 {
				return
			}
			if link.Answers() == answers {
				link.Fail()
				return
			}
		}
	}
}
