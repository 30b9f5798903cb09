package core

import (
	"crypto/sha256"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// Origin says where the renewals of a stream come from.
type Origin uint8

const (
	// Client is a KeepAlive stream: it remembers the sessions that showed their secrets, is answered whoever leads, and
	// ends once all that came is answered.
	Client Origin = iota
	// Member is a stream of another member: it ends when this member proves no leadership, or when the other one ends it.
	Member
	// Call is a single call, as a stream of one renewal: it asks again where a stream leaves that to its client.
	Call
)

// Config is what a Stream is made from.
type Config struct {
	Origin Origin
	// SessionsMax is how many sessions a client's stream renews.
	SessionsMax int
}

// Stream is the state of one stream of renewals. The zero value is not usable.
type Stream struct {
	origin Origin
	known  *knownSessions
	closed bool
	ended  bool // no more messages come
	err    error

	queue []*Message // admitted
	held  *Message   // admitted, and waits for the slots that it takes; then the stream is not read
	slots int        // taken by messages that are not answered

	// What follows belongs to whoever answers.

	batch    []*Message // taken from the queue together; one proof is for all
	proof    proof
	term     uint64 // the highest in which this member was proved to lead
	refusal  tenurev1.ErrorReason
	until    time.Time  // how long a call asks again
	settling *Message   // lent to the task Settle
	looking  bool       // parked is lent to the task Settle
	outdated []*Message // renewals that have to be decided about again, one in each message
	deciding []*Message // lent to the task Authorise, with their Asked in lent
	lent     []Asked
	parked   parked
	due      bool // parked may have verdicts
	worked   bool // the round took messages
	relayed  int  // renewals that wait for another member's verdict
	far      []Decision
	decided  []Decision // far, as the round took it

	out      []Verdict // to be sent
	sending  int       // how many of them are lent to the task Send
	answered int       // slots of messages whose last verdict is in out
	buffer   []Verdict // out's, kept
	check    []int     // for the task Settle, kept
}

// proof says what is known of the leadership for a batch.
type proof uint8

const (
	proofUnasked proof = iota
	proofUnderWay
	proofLeads
	proofRefused
	proofElsewhere
)

// NewStream returns a stream on which nothing came.
func NewStream(c Config) *Stream {
	s := &Stream{origin: c.Origin}
	if c.Origin == Client {
		s.known = newKnownSessions(c.SessionsMax)
	}
	return s
}

// Step takes an event and returns what follows from it.
func (s *Stream) Step(now time.Time, ev Event) Effects {
	var fx Effects
	ev.step(s, now, &fx)
	if invariants.Enabled {
		s.verify()
	}
	return fx
}

// verify checks what must hold between two steps.
func (s *Stream) verify() {
	invariants.That(s.slots >= 0 && s.slots <= SlotsMax, "%d slots of a stream of renewals are taken", s.slots)
	invariants.That(s.relayed >= len(s.far)+len(s.decided), "more verdicts came from the leader than renewals went there")
	invariants.That(len(s.parked.Renewals) == len(s.parked.echoes) && len(s.parked.echoes) <= ParkedMax,
		"%d renewals are parked for %d echoes", len(s.parked.Renewals), len(s.parked.echoes))
	invariants.That(!s.closed || s.slots == 0 && s.held == nil && len(s.queue)+len(s.batch)+len(s.parked.Renewals) == 0,
		"a stream that is closed keeps renewals")
}

// MayRead reports whether the next message may be read.
func (s *Stream) MayRead() bool { return !s.closed && !s.ended && s.held == nil && s.slots < SlotsMax }

func (ev Came) step(s *Stream, now time.Time, fx *Effects) {
	if s.closed {
		return
	}
	invariants.That(s.MayRead(), "a message was read that there is no room for")
	m := &Message{Asked: ev.Asked, slots: 1, all: s.origin == Member}
	m.Renewals = make([]expiry.Renewal, len(ev.Asked))
	if s.origin == Client {
		m.slots += len(ev.Asked) / RenewalsPerSlot
	}
	for i := range ev.Asked {
		s.admit(m, i, now, fx)
		m.Renewals[i].AuthorisedBelow = ev.Asked[i].AuthorisedBelow
	}
	m.left = len(ev.Asked)
	fx.Admit = m
}

// admit notes one renewal of a message that came.
func (s *Stream) admit(m *Message, i int, now time.Time, fx *Effects) {
	asked := &m.Asked[i]
	if s.origin != Client {
		m.Renewals[i] = expiry.Renewal{ID: asked.ID, Epoch: asked.Epoch, Shown: asked.Secret}
		if s.origin == Call {
			m.strange = append(m.strange, i)
		}
		return
	}
	if asked.Invalid {
		m.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID)
		return
	}
	if asked.Denied {
		m.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
		return
	}
	ref, known := s.known.renewal(asked.ID, now)
	if !known {
		ok, idle := s.known.room(len(m.strange), now)
		fx.Forget = append(fx.Forget, idle...)
		if !ok {
			m.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED)
			return
		}
		m.strange = append(m.strange, i)
	}
	m.Renewals[i] = expiry.Renewal{ID: asked.ID, Epoch: asked.Epoch, Ref: ref}
	if !known && len(asked.Secret) > 0 {
		hash := sha256.Sum256(asked.Secret)
		m.Renewals[i].Shown = hash[:]
	}
}

func (ev Admitted) step(s *Stream, _ time.Time, fx *Effects) {
	switch m := ev.Message; {
	case s.closed:
		fx.Release = append(fx.Release, m.Renewals)
	case s.slots+m.slots > SlotsMax:
		s.held = m
	default:
		s.enqueue(m)
	}
}

func (s *Stream) enqueue(m *Message) {
	s.slots += m.slots
	s.queue = append(s.queue, m)
}

// free gives up slots of messages that are answered.
func (s *Stream) free(slots int) {
	s.slots -= slots
	if m := s.held; m != nil && s.slots+m.slots <= SlotsMax {
		s.held = nil
		s.enqueue(m)
	}
}

func (ev Ended) step(s *Stream, _ time.Time, _ *Effects) {
	s.ended, s.err = true, ev.Err
}

func (ev Decided) step(s *Stream, _ time.Time, _ *Effects) {
	if !s.closed {
		s.far = append(s.far, ev.Decisions...)
	}
}

func (Closed) step(s *Stream, _ time.Time, fx *Effects) {
	s.closed = true
	release := func(m *Message) {
		if m != nil {
			fx.Release = append(fx.Release, m.Renewals)
		}
	}
	release(s.held)
	release(s.settling)
	for _, m := range s.queue {
		release(m)
	}
	for _, m := range s.batch {
		release(m)
	}
	if len(s.parked.Renewals) > 0 {
		fx.Release = append(fx.Release, s.parked.Renewals)
	}
	if s.known != nil {
		fx.Forget = s.known.all()
	}
	*s = Stream{origin: s.origin, known: s.known, closed: true, ended: s.ended, err: s.err}
}

// remember notes where a session is, so that its next renewal needs no search and no secret.
func (s *Stream) remember(r *expiry.Renewal, now time.Time, fx *Effects) {
	if s.known != nil && s.known.add(r, now) {
		fx.Remember = append(fx.Remember, r.ID)
	}
}

// forget notes that a session is gone.
func (s *Stream) forget(id storage.SessionID, fx *Effects) {
	if s.known != nil {
		s.known.remove(id)
		fx.Forget = append(fx.Forget, id)
	}
}
