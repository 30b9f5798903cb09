package core

import (
	"math/rand/v2"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

const (
	sessionsOfWorld = 6
	ttlOfWorld      = 10 * time.Second
)

// world is two members and their clients. Either member leads, or none; both see the same sessions.
type world struct {
	t        *testing.T
	random   *rand.Rand
	now      time.Time
	members  [2]*member
	leader   int // -1 for none
	term     uint64
	sessions [sessionsOfWorld + 1]session // the first is nobody's
	received map[time.Duration]reception  // by handle
	proofs   map[uint64]time.Time         // when the last proof began, by way
	ways     uint64
	granted  map[time.Duration]bool // renewals that extended a session, by handle
	answers  int

	// forbidden says which sessions may not be renewed, by the deny revision; a member knows one of them.
	forbidden    [][sessionsOfWorld + 1]bool
	known        [2]uint64
	revokedUnder map[uint64]uint64 // the deny revision when the last proof began, by way
	outdated     int
}

// revoke takes the right to renew some sessions away, and gives others back.
func (w *world) revoke() {
	next := w.forbidden[len(w.forbidden)-1]
	for range 2 {
		i := w.random.IntN(len(next))
		next[i] = !next[i]
	}
	w.forbidden = append(w.forbidden, next)
}

// denied returns the present deny revision.
func (w *world) denied() uint64 { return uint64(len(w.forbidden) - 1) }

// authorise decides about a renewal by what a member knows.
func (w *world) authorise(m *member, a *Asked) {
	known := w.known[m.at]
	a.Denied, a.AuthorisedBelow = w.forbidden[known][a.ID[0]], known+1
}

// mayHave reports whether the right to renew a session was there at some moment since the proof of a way began.
func (y *way) mayHave(session byte) bool {
	for _, then := range y.w.forbidden[y.w.revokedUnder[y.id]:] {
		if !then[session] {
			return true
		}
	}
	return false
}

// session is what the timers of the leader know of a session.
type session struct {
	gone, expiring bool
	deadline       time.Time
	marks          int
}

// reception is when and for what a renewal was received. Its handle travels in the TTL of the renewal, negative.
type reception struct {
	at     time.Time
	term   uint64
	marked bool
}

// member has clients, and relays their renewals, over one link at a time.
type member struct {
	at      int
	carrier *Carrier
	link    *link
	ways    []*way     // of its clients, and of other members
	ghosts  [][]Answer // what it may hear again
}

// link is a stream from a member to the leader.
type link struct {
	to   *way
	up   []CarrierEffects // not read by the leader yet
	down [][]Answer       // not read by the member yet
}

// way is a stream, and who answers it.
type way struct {
	id       uint64
	w        *world
	m        *member
	s        *Stream
	origin   Origin
	link     *link // of a member's stream
	fx       Effects
	proving  bool // the task Prove began
	number   uint64
	asked    map[uint64]question
	answered int
	over     bool
}

// question is a renewal that a client waits for.
type question struct {
	session byte
	shown   bool
	at      time.Time
	told    int
}

// step takes an event.
func (y *way) step(ev Event) Effects {
	fx := y.s.Step(y.w.now, ev)
	for _, renewals := range fx.Release {
		y.w.release(renewals)
	}
	switch ev.(type) {
	case Came, Admitted, Ended, Decided, Closed:
	default:
		y.fx, y.over = fx, fx.Idle.Over
	}
	if y.s.slots > SlotsMax {
		y.w.t.Fatalf("%d slots are taken", y.s.slots)
	}
	if y.s.known != nil && len(y.s.known.byID) > sessionsOfWorld {
		y.w.t.Fatalf("%d sessions are known", len(y.s.known.byID))
	}
	return fx
}

// receive marks the sessions of renewals where the leader is.
func (w *world) receive(m *member, renewals []expiry.Renewal) {
	for i := range renewals {
		r := &renewals[i]
		handle := time.Duration(len(w.received) + 1)
		got := reception{at: w.now, term: w.term}
		if s := &w.sessions[r.ID[0]]; m.at == w.leader && !r.Unproven && !s.gone {
			s.marks++
			got.marked = true
		}
		w.received[handle] = got
		r.TTL, r.Verdict = -handle, expiry.Pending
	}
}

// unmark takes the mark of a renewal off, if it has one.
func (w *world) unmark(r *expiry.Renewal) {
	got := w.received[-r.TTL]
	if got.marked && got.term == w.term {
		w.sessions[r.ID[0]].marks--
	}
	got.marked = false
	w.received[-r.TTL] = got
}

func (w *world) release(renewals []expiry.Renewal) {
	for i := range renewals {
		if r := &renewals[i]; r.TTL < 0 {
			w.unmark(r)
		}
	}
}

// settle does what the task says, as the timers do. It holds that every renewal that extends a session was received before its
// proof began, and that none does so twice.
func (y *way) settle(t Settle) {
	w := y.w
	for _, i := range t.Check {
		if r := &t.Renewals[i]; r.Shown == nil && !w.sessions[r.ID[0]].gone {
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
		} else {
			r.Unproven = false
		}
	}
	Judge{DenyRevision: w.known[y.m.at]}.refuseOutdated(t)
	for i := range t.Renewals {
		r := &t.Renewals[i]
		if t.Refusal(i) != 0 {
			w.release(t.Renewals[i : i+1])
			continue
		}
		if y.origin == Call {
			r.Unproven = false
		}
		got := w.received[-r.TTL]
		s := &w.sessions[r.ID[0]]
		switch {
		case y.m.at != w.leader || t.Term != w.term:
			w.unmark(r)
			r.Verdict = expiry.NotLeading
		case s.gone || r.Unproven:
			w.unmark(r)
			r.Verdict = expiry.Missing
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
		case s.expiring:
			r.Verdict = expiry.Expiring
		default:
			if w.proofs[y.id].Before(got.at) {
				w.t.Fatalf("a renewal was settled with a proof that began %v before it came", got.at.Sub(w.proofs[y.id]))
			}
			w.unmark(r)
			if w.granted[-r.TTL] {
				w.t.Fatal("a renewal counts twice")
			}
			w.granted[-r.TTL] = true
			if !y.mayHave(r.ID[0]) {
				w.t.Fatal("a renewal counts whose right was taken away before the proof began")
			}
			s.deadline = later(s.deadline, got.at.Add(ttlOfWorld))
			r.Verdict, r.TTL, r.Searched = expiry.Renewed, ttlOfWorld, true
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// turn has whoever answers do one thing.
func (y *way) turn() {
	w := y.w
	switch t := y.fx.Task.(type) {
	case nil:
		y.step(Round{})
	case Prove:
		if !y.proving { // A proof takes a while, in which anything may happen.
			y.proving, w.proofs[y.id], w.revokedUnder[y.id] = true, w.now, w.denied()
			return
		}
		y.proving = false
		w.known[y.m.at] = max(w.known[y.m.at], w.revokedUnder[y.id])
		y.step(y.proof())
	case Settle:
		y.settle(t)
		y.step(Settled{})
	case Relay:
		for _, r := range t.Renewals {
			r.To = y
		}
		w.carry(y.m, Add{Renewals: t.Renewals, Until: w.now.Add(5 * time.Second)})
		y.step(Handed{})
	case Authorise:
		w.known[y.m.at] = w.denied()
		for i := range t.Asked {
			w.authorise(y.m, &t.Asked[i])
			w.outdated++
		}
		y.step(Authorised{})
	case Wait:
		y.step(Again{})
	case Send:
		y.tell(t.Verdicts)
		y.step(Sent{})
	}
}

// proof says who leads.
func (y *way) proof() Event {
	switch w := y.w; {
	case w.leader == y.m.at:
		return Proved{Term: w.term}
	case y.origin != Member && w.leader >= 0:
		return Elsewhere{Until: w.now.Add(5 * time.Second)}
	default:
		return Unproved{Refused: tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, Err: errOfTests}
	}
}

// Decided takes what the carrier says.
func (y *way) Decided(decisions []Decision) { y.step(Decided{Decisions: decisions}) }

// tell takes verdicts on their way, to a client or over the link.
func (y *way) tell(verdicts []Verdict) {
	if y.origin == Member {
		answers := make([]Answer, len(verdicts))
		for i, v := range verdicts {
			answers[i] = Answer{Number: v.Number, Refused: v.Refused, TTL: v.TTL}
		}
		y.link.down = append(y.link.down, answers)
		return
	}
	for _, v := range verdicts {
		q := y.asked[v.Number]
		if q.told++; q.told > 1 || q.at.IsZero() {
			y.w.t.Fatalf("renewal %d was answered %d times", v.Number, q.told)
		}
		y.asked[v.Number] = q
		y.answered++
		if v.Refused == 0 {
			y.believe(q)
		}
	}
}

// believe checks a renewal that was acknowledged: the session lives for its TTL from when the client asked, at least.
func (y *way) believe(q question) {
	s := &y.w.sessions[q.session]
	if end := q.at.Add(ttlOfWorld); s.deadline.Before(end) {
		y.w.t.Fatalf("a renewal of session %d was acknowledged, which ends %v too early", q.session, end.Sub(s.deadline))
	}
}

// carry takes an event of a carrier.
func (w *world) carry(m *member, ev Carriage) CarrierEffects {
	fx := m.carrier.Step(w.now, ev)
	for _, d := range fx.Decided {
		d.To.Decided([]Decision{d})
	}
	return fx
}

// ask sends a message of a client, a call or a member.
func (y *way) ask(asked []Asked) {
	m := y.step(Came{Asked: asked}).Admit
	if m == nil {
		return
	}
	for i := range m.Strangers() {
		r := &m.Renewals[i]
		r.Unproven = r.Shown == nil || y.w.sessions[r.ID[0]].gone || y.m.at != y.w.leader
	}
	y.w.receive(y.m, m.Renewals)
	y.step(Admitted{Message: m})
}
