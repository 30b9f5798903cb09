package process

import (
	"time"
)

// order is what to do to a command whose lease nears its end.
type order int

const (
	orderNone order = iota
	orderTerminate
	orderKill
)

// watchdog decides when a command that depends on a lease must end: it is told to terminate a while before the lease runs
// out, and is killed when it does. What was ordered once stays so, also if a renewal comes after. It has no clock of its
// own: each call says what time it is.
type watchdog struct {
	// grace is how long before the end of the lease the command is told.
	grace time.Duration
	// deadline is the moment up to which the lease is safe.
	deadline time.Duration
	// unlimited tells that the lease has no end of its own: a session without TTL.
	unlimited bool
	// given is the last order that step returned.
	given order
	// killAt is when the command is killed, once it was told to terminate. Once it was killed, it is the time of that.
	killAt time.Duration
	// lost tells that the lease is over, whatever the clock says.
	lost bool
}

// leased notes how long the lease lasts, from now on. It is less than was thought when the machine slept.
func (w *watchdog) leased(now, left time.Duration) { w.deadline = now + left }

// lose ends the lease at once: the cluster said so.
func (w *watchdog) lose() { w.lost = true }

// step returns what to do at a moment, and how long the next step may wait unless something happens before. Each order is
// returned once.
func (w *watchdog) step(now time.Duration) (order, time.Duration) {
	switch {
	case w.given == orderKill:
		return orderNone, stepMax
	case w.given == orderTerminate && (now >= w.killAt || !w.unlimited && now >= w.deadline):
		return w.kill(now)
	case w.given == orderTerminate:
		return orderNone, w.killAt - now
	case w.lost:
		w.given = orderTerminate
		w.killAt = now + w.grace
		if !w.unlimited {
			w.killAt = max(now, min(w.killAt, w.deadline))
		}
		return orderTerminate, w.killAt - now
	case w.unlimited:
		return orderNone, stepMax
	case now >= w.deadline:
		// The machine slept, or this program did: there is no time left to ask.
		return w.kill(now)
	case now >= w.deadline-w.grace:
		w.given = orderTerminate
		w.killAt = w.deadline
		return orderTerminate, w.killAt - now
	}
	return orderNone, min(stepMax, w.deadline-w.grace-now)
}

// kill gives the last order.
func (w *watchdog) kill(now time.Duration) (order, time.Duration) {
	w.given, w.killAt = orderKill, now
	return orderKill, 0
}

// killPatience is how long the end of what was killed is waited for. After that it runs no more, but may still be shown: nobody takes note of
// its end, or the system has not finished with it.
const killPatience = 5 * time.Second

// killed tells whether the command was killed so long ago that its end is no longer waited for.
func (w *watchdog) killed(now time.Duration) bool {
	return w.given == orderKill && now-w.killAt >= killPatience
}

// ended tells whether the lease is over for the command: it was told so.
func (w *watchdog) ended() bool { return w.given != orderNone }

// stepMax bounds the time between two steps, because timers stand still while the machine sleeps and the lease does not.
const stepMax = 100 * time.Millisecond
