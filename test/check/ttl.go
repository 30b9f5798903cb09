package check

import "time"

// Missing is the reason of a renewal that was refused since its session is said to have ended, or never to have been.
const Missing = "missing"

// lifetime is what events say of a session.
type lifetime struct {
	begun int64 // zero: not known
	ttlMs int64
	end   *Event // nil: it did not end, or not at a known time
	mark  *Event // that ended it before the end was carried out; nil: none
}

// endsWithin is how long after its TTL a session may end where nothing is disturbed: docs/guarantees.md.
const endsWithin = int64(time.Second)

// ttl checks that no session ended before its time, or too late, that none was renewed after its end, and none said to have
// ended before it.
func ttl(h *History, o Options, c *checker) {
	lives := lifetimes(h)
	if o.CalmFrom != 0 {
		inTime(h, lives, o, c)
	}
	for _, op := range h.Ops {
		l := lives[op.Session]
		switch {
		case op.Kind == KindRenew && op.Outcome == Refused && op.Reason == Missing:
			c.count("renewals of sessions said to have ended", 1)
			if over := l.over(); l.begun != 0 && l.begun < op.Call && (over == nil || over.At-o.SlackMs*1e6 > op.Return) {
				c.fail("op %d by %s: session %s was said to have ended, and lived", op.ID, op.Client, op.Session)
			}
		case op.Outcome == OK && (op.Kind == KindRenew || op.Kind == KindCreate):
			c.count("renewals", 1)
			l.acknowledged(op, o, c)
		}
	}
	c.count("expired sessions", countExpired(h))
}

// over returns what made the session dead to all who ask; nil: nothing.
func (l lifetime) over() *Event {
	if l.mark != nil {
		return l.mark
	}
	return l.end
}

// acknowledged checks an acknowledged renewal, or creation, of a session.
func (l lifetime) acknowledged(op *Op, o Options, c *checker) {
	if over := l.over(); over != nil && over.At != 0 && op.Kind == KindRenew && op.Call > over.At {
		c.fail("op %d by %s: session %s ended at %d (revision %d), and was renewed by a call at %d",
			op.ID, op.Client, op.Session, over.At, over.Revision, op.Call)
	}
	e := l.end
	ttlNs := float64(max(l.ttlMs, op.TTLMs)) * 1e6
	if e == nil || ttlNs == 0 || e.Cause != "expired" {
		return
	}
	c.count("renewals of sessions that expired", 1)
	earliest := op.Call + int64(ttlNs*(1-o.DriftPercent/100)) - o.SlackMs*1e6
	if e.At < earliest {
		c.fail("op %d by %s: session %s expired at %d (revision %d), %d ms after a %s that was acknowledged; its TTL is %d ms",
			op.ID, op.Client, op.Session, e.At, e.Revision, (e.At-op.Call)/1e6, op.Kind, int64(ttlNs/1e6))
	}
}

// inTime demands that sessions end in time that were renewed last, or begun, when nothing was disturbed.
func inTime(h *History, lives map[string]lifetime, o Options, c *checker) {
	last := map[string]*Op{} // whose Return is the latest
	lost := map[string]bool{}
	for _, op := range h.Ops {
		switch {
		case op.Kind != KindCreate && op.Kind != KindRenew && op.Kind != KindTakeOver:
		case op.Outcome == Unknown:
			lost[op.Session] = lost[op.Session] || op.Call > o.CalmFrom // When it took effect is not known.
		case op.Outcome == OK && (last[op.Session] == nil || op.Return > last[op.Session].Return):
			last[op.Session] = op
		}
	}
	for _, e := range h.Events {
		l, op := lives[e.Session], last[e.Session]
		if e != l.end || e.Cause != "expired" || l.ttlMs == 0 || op == nil || op.Call < o.CalmFrom || lost[e.Session] {
			continue
		}
		c.count("sessions that had to expire in time", 1)
		latest := op.Return + int64(float64(l.ttlMs)*1e6*(1+o.DriftPercent/100)) + endsWithin + o.SlackMs*1e6
		if e.At > latest {
			c.fail("op %d by %s: session %s expired at %d (revision %d), %d ms after a %s was answered; its TTL is %d ms",
				op.ID, op.Client, e.Session, e.At, e.Revision, (e.At-op.Return)/1e6, op.Kind, l.ttlMs)
		}
	}
}

// lifetimes returns what events say of all sessions.
func lifetimes(h *History) map[string]lifetime {
	lives := map[string]lifetime{}
	for _, e := range h.Events {
		for _, id := range e.Marked {
			l := lives[id]
			l.mark = e
			lives[id] = l
		}
		l := lives[e.Session]
		switch {
		case e.Kind == "session_begun":
			l.begun, l.ttlMs = e.At, e.TTLMs
		case e.Kind == "session_ended" && e.At != 0:
			l.end = e
		case e.Kind == "session_ended":
			l.begun = 0 // When it ended is not known.
		default:
			continue
		}
		lives[e.Session] = l
	}
	return lives
}

func countExpired(h *History) int {
	n := 0
	for _, e := range h.Events {
		if e.Kind == "session_ended" && e.Cause == "expired" {
			n++
		}
	}
	return n
}
