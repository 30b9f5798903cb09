package core

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/server/expiry"
)

// bufferKept is how many verdicts the buffer of a stream keeps room for.
const bufferKept = 4 * RenewalsMax

func (Round) step(s *Stream, now time.Time, fx *Effects) {
	if s.closed {
		return
	}
	invariants.That(len(s.batch)+len(s.out)+len(s.decided) == 0, "a round started before the last one ended")
	s.batch, s.queue, s.proof = s.queue, nil, proofUnasked
	s.decided, s.far = s.far, s.decided[:0]
	s.worked = len(s.batch) > 0
	s.due = len(s.parked.Renewals) > 0
	s.next(now, fx)
}

func (ev Proved) step(s *Stream, now time.Time, fx *Effects) {
	s.proof, s.term = proofLeads, max(s.term, ev.Term)
	s.next(now, fx)
}

func (ev Unproved) step(s *Stream, now time.Time, fx *Effects) {
	if s.origin != Client {
		fx.Idle = Idle{Over: true, Err: ev.Err}
		return
	}
	s.proof, s.refusal = proofRefused, ev.Refused
	s.next(now, fx)
}

func (ev Elsewhere) step(s *Stream, now time.Time, fx *Effects) {
	invariants.That(s.origin != Member, "a renewal that another member relayed was relayed again")
	s.proof = proofElsewhere
	if s.origin != Call || s.until.IsZero() {
		s.until = ev.Until // Where a call asks again it has no more time than it had.
	}
	s.next(now, fx)
}

func (Sent) step(s *Stream, now time.Time, fx *Effects) {
	s.out = s.out[s.sending:]
	s.sending = 0
	s.next(now, fx)
}

func (Handed) step(s *Stream, now time.Time, fx *Effects) { s.next(now, fx) }

func (ev Again) step(s *Stream, now time.Time, fx *Effects) {
	if ev.Over {
		s.until = now
	} else {
		s.proof = proofUnasked // This member may lead by now.
	}
	s.next(now, fx)
}

func (Settled) step(s *Stream, now time.Time, fx *Effects) {
	m := s.settling
	s.settling = nil
	switch {
	case m != nil:
		s.settled(m, now, fx)
	case s.looking:
		s.looking = false
		s.parked.settled(s, now, fx)
	}
	s.next(now, fx)
}

// next finds the next task for whoever answers: what is to be sent, what is parked, what came, and what the leader said.
func (s *Stream) next(now time.Time, fx *Effects) {
	for fx.Task == nil {
		if s.closed {
			return
		}
		if len(s.out) > 0 {
			s.sending = min(len(s.out), RenewalsMax)
			fx.Task = Send{Verdicts: s.out[:s.sending]}
			return
		}
		s.flushed()
		switch {
		case s.due:
			s.due, s.looking = false, true
			fx.Task = Settle{Batch: &s.parked.Batch, Term: s.term}
		case len(s.batch) > 0:
			s.nextMessage(now, fx)
		case len(s.outdated) > 0:
			s.decideAgain(fx)
		case len(s.decided) > 0:
			s.takeDecided(now, fx)
		default:
			fx.Idle = s.idle()
			return
		}
	}
}

// flushed frees what messages took whose verdicts are sent.
func (s *Stream) flushed() {
	s.free(s.answered)
	s.answered = 0
	clear(s.buffer)
	if s.buffer = s.buffer[:0]; cap(s.buffer) > bufferKept {
		s.buffer = nil
	}
	s.out = s.buffer
}

// say adds verdicts to what is sent next.
func (s *Stream) say(v Verdict) {
	s.out = append(s.out, v)
	s.buffer = s.out
}

// idle says what follows a round that has no more tasks.
func (s *Stream) idle() Idle {
	parked := len(s.parked.Renewals)
	idle := Idle{Again: s.worked || len(s.queue) > 0, Parked: parked > 0}
	if !idle.Again && s.ended {
		waits := s.err == nil && s.origin != Member && parked+s.relayed > 0
		idle.Over, idle.Err = !waits, s.err
	}
	return idle
}

// nextMessage goes on with the first message of the batch.
func (s *Stream) nextMessage(now time.Time, fx *Effects) {
	m := s.batch[0]
	switch s.proof {
	case proofUnasked, proofUnderWay:
		s.proof = proofUnderWay
		fx.Task = Prove{}
		return
	case proofLeads:
		s.settling = m
		fx.Task = Settle{Batch: &m.Batch, Term: s.term, Check: s.unproven(m), Asked: m.Asked}
	case proofRefused:
		fx.Release = append(fx.Release, m.Renewals)
		for i := range m.Asked {
			reason := s.refusal
			if of := m.Refusal(i); of != 0 {
				reason = of
			}
			s.say(Verdict{Session: m.Asked[i].Session, Number: m.Asked[i].Number, Refused: reason})
		}
		s.done(m, len(m.Asked))
	case proofElsewhere:
		s.relay(m, now, fx)
	}
	s.batch[0] = nil
	s.batch = s.batch[1:]
}

// unproven returns renewals whose right to renew is not known. A call is looked at as a whole.
func (s *Stream) unproven(m *Message) []int {
	s.check = s.check[:0]
	if s.origin == Call {
		return nil
	}
	for i := range m.Strangers() {
		r := &m.Renewals[i]
		if s.known != nil && s.known.has(r.ID) {
			r.Unproven = false // An earlier message of this stream brought what is needed.
		}
		if r.Unproven {
			s.check = append(s.check, i)
		}
	}
	return s.check
}

// settled answers the renewals of a message that have verdicts, and parks the others.
func (s *Stream) settled(m *Message, now time.Time, fx *Effects) {
	answered := 0
	for i := range m.Renewals {
		if s.outdates(m, i, m.Refusal(i)) {
			continue
		}
		answered++
		e := echo{session: m.Asked[i].Session, number: m.Asked[i].Number}
		if m.Renewals[i].Verdict == expiry.Expiring && m.Refusal(i) == 0 && s.parked.park(&m.Renewals[i], e) {
			continue
		}
		s.verdict(&m.Batch, i, e, now, fx)
	}
	s.done(m, answered)
}

// done notes that renewals of a message have verdicts, or wait for them elsewhere than in it. With the last one it is answered.
func (s *Stream) done(m *Message, n int) {
	if m.of != nil {
		m = m.of
	}
	m.left -= n
	invariants.That(m.left >= 0, "a renewal was decided twice")
	if m.left == 0 && (n > 0 || len(m.Asked) == 0) {
		s.answered += m.slots
	}
}

// verdict answers one renewal that was settled, and remembers what helps the next one of its session.
func (s *Stream) verdict(b *Batch, i int, e echo, now time.Time, fx *Effects) {
	r := &b.Renewals[i]
	v := Verdict{Session: e.session, Number: e.number, Refused: b.Refusal(i)}
	switch {
	case r.Verdict == expiry.Missing:
		invariants.That(v.Refused != 0, "a renewal of a missing session was not refused")
		s.forget(r.ID, fx)
	case v.Refused != 0:
	case r.Verdict == expiry.Renewed:
		v.TTL = r.TTL
		if r.Searched {
			s.remember(r, now, fx)
		}
	case r.Verdict == expiry.Superseded:
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED
	case r.Verdict == expiry.Expiring:
		fx.Release = append(fx.Release, b.Renewals[i:i+1])
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS
	default: // NotLeading, Pending
		v.Refused = tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
	}
	s.say(v)
}

// relay has the leader decide the renewals of a message, and answers those that nobody needs to be asked about.
func (s *Stream) relay(m *Message, now time.Time, fx *Effects) {
	fx.Release = append(fx.Release, m.Renewals)
	if s.origin == Call && !now.Before(s.until) {
		s.say(Verdict{Session: m.Asked[0].Session, Number: m.Asked[0].Number, Refused: tenurev1.ErrorReason_ERROR_REASON_NO_LEADER})
		s.done(m, 1)
		return
	}
	slab := make([]Relayed, len(m.Renewals))
	renewals := make([]*Relayed, 0, len(m.Renewals))
	for i := range m.Asked {
		asked := &m.Asked[i]
		if reason := m.Refusal(i); reason != 0 {
			s.say(Verdict{Session: asked.Session, Number: asked.Number, Refused: reason})
			continue
		}
		r := &slab[i]
		r.ID, r.Epoch, r.Of, r.At, r.Secret = m.Renewals[i].ID, asked.Epoch, m, i, m.Renewals[i].Shown
		r.AuthorisedBelow = asked.AuthorisedBelow
		if s.known != nil {
			if known := s.known.byID[r.ID]; known != nil {
				r.Proven, r.Secret = true, known.shown
			}
		}
		renewals = append(renewals, r)
	}
	s.relayed += len(renewals)
	s.done(m, len(m.Asked)-len(renewals))
	if len(renewals) > 0 {
		fx.Task = Relay{Renewals: renewals}
	}
}

// takeDecided answers renewals that the leader decided.
func (s *Stream) takeDecided(now time.Time, fx *Effects) {
	for n := range s.decided {
		d := &s.decided[n]
		m := d.Of
		s.relayed--
		if s.origin == Call && asksAgain(d.Refused) && now.Before(s.until) {
			s.batch, s.proof = append(s.batch, m), proofElsewhere
			fx.Task = Wait{Until: s.until}
			continue
		}
		if s.outdates(m, d.At, d.Refused) {
			continue
		}
		s.learn(&m.Renewals[d.At], d, now, fx)
		v := Verdict{Session: m.Asked[d.At].Session, Number: m.Asked[d.At].Number, Refused: d.Refused}
		if d.Refused == 0 {
			v.TTL = d.TTL
		}
		s.say(v)
		s.done(m, 1)
	}
	clear(s.decided)
	s.decided = s.decided[:0]
}

// asksAgain reports whether a verdict means that another leader may renew.
func asksAgain(refused tenurev1.ErrorReason) bool {
	return refused == tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER || refused == tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
}

// learn notes what a verdict of the leader says about a session.
func (s *Stream) learn(r *expiry.Renewal, d *Decision, now time.Time, fx *Effects) {
	if s.known == nil {
		return
	}
	switch d.Refused {
	case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
		if !s.known.has(r.ID) {
			r.Ref, r.TTL = expiry.Ref{}, d.TTL
			s.remember(r, now, fx)
		}
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND:
		s.forget(r.ID, fx)
	default:
	}
}
