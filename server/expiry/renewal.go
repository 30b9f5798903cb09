package expiry

import (
	"time"

	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage"
)

// Verdict says what became of a renewal.
type Verdict uint8

const (
	// Pending means that it was not settled yet.
	Pending Verdict = iota
	// Renewed means that the TTL began anew when the renewal was received.
	Renewed
	// Expiring means that the end of the session was proposed before; Settle must be called again once Ends' channel
	// is closed.
	Expiring
	// Missing means that no such session lives.
	Missing
	// Superseded means that the session has a higher epoch.
	Superseded
	// NotLeading means that this member does not lead, or not in the term of the proof.
	NotLeading
)

// Renewal is one renewal on its way: received, then proved by somebody else, then settled or released. It is used by one
// goroutine at a time.
type Renewal struct {
	// ID is the session's.
	ID storage.SessionID
	// Epoch is the one that the caller believes in; zero is not checked, or the first if the session has a secret.
	Epoch uint64
	// Shown is the SHA-256 of the secret that the caller showed; nil for none.
	Shown []byte
	// Unproven says that nobody has shown yet that the caller may renew the session: received it postpones nothing, and settled it
	// is Missing.
	Unproven bool
	// AuthorisedBelow is for whoever has it settled: one more than the deny revision at which the caller was allowed to renew the
	// session; zero: not known.
	AuthorisedBelow uint64
	// Ref may be set to what an earlier renewal of the session had; Receive and Settle bring it up to date.
	Ref Ref
	// TTL is granted to a session that was Renewed; zero is none.
	TTL time.Duration
	// Searched is set once Ref was not good enough and was brought up to date.
	Searched bool
	// Verdict is set by Settle.
	Verdict Verdict

	marked   bool
	received time.Duration // lease time
	at       time.Duration // clock
}

// Move returns the renewal and leaves a copy that nobody need settle or release.
func (r *Renewal) Move() Renewal {
	moved := *r
	r.marked = false
	return moved
}

// Receive notes that renewals came in. From now to Settle or Release they postpone the ends of their sessions, but for those
// that are Unproven.
func (t *Timers) Receive(renewals []Renewal) {
	at := t.now()
	lease := at - t.stalled()
	tb := t.table.Load()
	for i := range renewals {
		r := &renewals[i]
		r.at, r.received = at, lease
		r.Verdict = Pending
		if tb != nil && !r.Unproven {
			tb.mark(r)
		}
	}
}

// Settle decides renewals that are Pending or Expiring. The caller has proved that this member led in term after they
// were received, and has applied what the proof demands.
func (t *Timers) Settle(term uint64, renewals []Renewal) {
	tb := t.table.Load()
	renewed := 0
	for i := range renewals {
		r := &renewals[i]
		switch {
		case r.Verdict != Pending && r.Verdict != Expiring:
		case tb == nil || tb.term < term:
			r.Verdict = NotLeading
		default:
			tb.settle(r)
			if r.Verdict == Renewed {
				renewed++
			}
		}
	}
	t.metrics.renewals.Add(float64(renewed))
}

// Release gives up renewals that were received and will not be settled.
func (t *Timers) Release(renewals []Renewal) {
	tb := t.table.Load()
	for i := range renewals {
		if r := &renewals[i]; r.marked && tb != nil {
			tb.unmark(r)
		}
		renewals[i].marked = false
	}
}

// Secret returns whether the session that r leads to has a secret, and whether r shows it, and brings Ref up to date. A
// session that is not there has SecretAbsent.
func (t *Timers) Secret(r *Renewal) Secret {
	tb := t.table.Load()
	if tb == nil {
		return SecretAbsent
	}
	sh := tb.lookUp(r)
	if sh == nil {
		return SecretAbsent
	}
	defer sh.mu.Unlock()
	return r.Ref.e.secretOf(r.Shown)
}

// SetSecret tells the hash of a session's secret, empty for none, when the timers did not know.
func (t *Timers) SetSecret(r *Renewal, hash []byte) {
	tb := t.table.Load()
	if tb == nil {
		return
	}
	sh := tb.lookUp(r)
	if sh == nil {
		return
	}
	defer sh.mu.Unlock()
	r.Ref.e.setSecret(hash)
}

// lookUp leads r to its session. If it is there its shard is returned locked; else nil.
func (t *table) lookUp(r *Renewal) *shard {
	if sh := t.shardOf(r.Ref); sh != nil {
		sh.mu.Lock()
		if r.Ref.e.gen == r.Ref.gen {
			return sh
		}
		// A session that ended never comes back.
		sh.mu.Unlock()
		r.marked = false
		r.Ref = Ref{}
		return nil
	}
	r.marked = false // in an older table
	sh, tag := t.shard(&r.ID)
	sh.mu.Lock()
	e := sh.byID[r.ID]
	if e == nil {
		sh.mu.Unlock()
		r.Ref = Ref{}
		return nil
	}
	r.Ref = Ref{e: e, gen: e.gen, tag: tag}
	r.Searched = true
	return sh
}

func (t *table) mark(r *Renewal) {
	sh := t.lookUp(r)
	if sh == nil {
		return
	}
	r.Ref.e.waiting++
	sh.mu.Unlock()
	r.marked = true
}

func (t *table) unmark(r *Renewal) {
	if sh := t.lookUp(r); sh != nil {
		r.unmark()
		sh.mu.Unlock()
	}
}

// unmark takes the mark off; the shard is locked.
func (r *Renewal) unmark() {
	if r.marked {
		invariants.That(r.Ref.e.waiting > 0, "more renewals of a session were settled than were received")
		r.Ref.e.waiting--
		r.marked = false
	}
}

func (t *table) settle(r *Renewal) {
	sh := t.lookUp(r)
	if sh == nil {
		r.Verdict = Missing
		return
	}
	defer sh.mu.Unlock()
	e := r.Ref.e
	switch {
	case r.Unproven:
		// It has come into the table since the caller looked.
		r.Verdict = Missing
	case r.Epoch != 0 && r.Epoch < e.epoch, r.Epoch == 0 && e.secret == SecretNeeded && e.epoch > 1:
		// Who has a secret names the epoch; who does not has never heard of another than the first.
		r.unmark()
		r.Verdict = Superseded
	case e.expiring:
		// It stays marked: whoever ends the session sees that somebody waits.
		r.Verdict = Expiring
		if !r.marked {
			e.waiting++
			r.marked = true
		}
	default:
		r.unmark()
		e.deadline = max(e.deadline, r.received+e.ttl())
		e.renewed = max(e.renewed, r.at)
		invariants.That(e.deadline >= r.received+e.ttl(), "a renewed session ends before its TTL has elapsed")
		invariants.That(!e.expiring && e.live, "a session that is ending was renewed")
		r.TTL = e.ttl()
		r.Verdict = Renewed
	}
}
