package core

import (
	"maps"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/invariants"
)

// CarriedMax is how many renewals of a member may wait for the leader; more get TOO_MANY_REQUESTS.
const CarriedMax = 256 << 10

// Carrier is the state of the renewals that a member relays, over one stream to the leader at a time. When that breaks, what
// had no verdict is sent to the next leader: it counts from when it comes in there, which is later than the client assumes.
// What waits too long is refused, and the client asks again.
type Carrier struct {
	queue   []*Relayed
	sent    map[uint64]*Relayed // by number
	next    uint64              // the last number that was used; none is used twice
	stopped bool
}

// Carriage is something that happened to a Carrier. The kinds are those that follow.
type Carriage interface {
	step(c *Carrier, now time.Time, fx *CarrierEffects)
}

// Add brings renewals. Each gets one decision, after Until at the next Sweep if there is none before.
type Add struct {
	Renewals []*Relayed
	Until    time.Time
}

// Fill says that the stream to the leader takes a message.
type Fill struct{}

// Answered brings verdicts of the leader.
type Answered struct {
	Answers []Answer
}

// Answer is the leader's verdict on the renewal that was sent with a number.
type Answer struct {
	Number  uint64
	Refused tenurev1.ErrorReason
	TTL     time.Duration
}

// Broken says that the stream to the leader is over; no verdict of it comes any more.
type Broken struct{}

// LeadsHere says that this member leads: clients ask again, and are served here.
type LeadsHere struct{}

// Sweep refuses what has waited too long.
type Sweep struct{}

// Stop refuses what waits, and what comes.
type Stop struct{}

// CarrierEffects is what the caller has to do after a step.
type CarrierEffects struct {
	// Decided are renewals that have a verdict now, each once. The caller may keep it.
	Decided []Decision
	// Send are renewals to send in one message, at most RenewalsMax. They have the numbers from First on.
	Send  []*Relayed
	First uint64
}

// Decision is what became of a relayed renewal.
type Decision struct {
	*Relayed
	Refused tenurev1.ErrorReason
	TTL     time.Duration
}

// NewCarrier returns a carrier in which nothing waits.
func NewCarrier() *Carrier { return &Carrier{sent: map[uint64]*Relayed{}} }

// Step takes an event and returns what follows from it.
func (c *Carrier) Step(now time.Time, ev Carriage) CarrierEffects {
	var fx CarrierEffects
	ev.step(c, now, &fx)
	invariants.That(c.Waiting() <= CarriedMax, "%d relayed renewals wait", c.Waiting())
	invariants.That(!c.stopped || c.Waiting() == 0, "relayed renewals wait for nothing")
	return fx
}

// Waiting returns how many renewals have no verdict.
func (c *Carrier) Waiting() int { return len(c.queue) + len(c.sent) }

func (fx *CarrierEffects) refuse(renewals []*Relayed, reason tenurev1.ErrorReason) {
	if len(renewals) == 0 {
		return
	}
	fx.Decided = make([]Decision, 0, len(renewals))
	for _, r := range renewals {
		fx.Decided = append(fx.Decided, Decision{Relayed: r, Refused: reason})
	}
}

func (ev Add) step(c *Carrier, _ time.Time, fx *CarrierEffects) {
	switch {
	case c.stopped:
		fx.refuse(ev.Renewals, tenurev1.ErrorReason_ERROR_REASON_STOPPING)
	case c.Waiting()+len(ev.Renewals) > CarriedMax:
		fx.refuse(ev.Renewals, tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS)
	default:
		for _, r := range ev.Renewals {
			r.until = ev.Until
		}
		c.queue = append(c.queue, ev.Renewals...)
	}
}

func (Fill) step(c *Carrier, _ time.Time, fx *CarrierEffects) {
	n := min(len(c.queue), RenewalsMax)
	fx.Send, fx.First = slices.Clone(c.queue[:n]), c.next+1
	for _, r := range fx.Send {
		c.next++
		c.sent[c.next] = r
	}
	c.queue = slices.Delete(c.queue, 0, n)
}

func (ev Answered) step(c *Carrier, _ time.Time, fx *CarrierEffects) {
	fx.Decided = make([]Decision, 0, len(ev.Answers))
	for _, a := range ev.Answers {
		r := c.sent[a.Number]
		if r == nil {
			continue // It came too late.
		}
		delete(c.sent, a.Number)
		fx.Decided = append(fx.Decided, Decision{Relayed: r, Refused: a.Refused, TTL: a.TTL})
	}
}

// Broken makes what was sent, and has no verdict, wait again, in the order in which it came.
func (Broken) step(c *Carrier, _ time.Time, _ *CarrierEffects) {
	if len(c.sent) == 0 {
		return
	}
	again := make([]*Relayed, 0, c.Waiting())
	for _, number := range slices.Sorted(maps.Keys(c.sent)) {
		again = append(again, c.sent[number])
	}
	c.queue = append(again, c.queue...)
	clear(c.sent)
}

func (LeadsHere) step(c *Carrier, now time.Time, fx *CarrierEffects) {
	c.refuseAll(now, tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, fx)
}

func (Stop) step(c *Carrier, now time.Time, fx *CarrierEffects) {
	c.stopped = true
	c.refuseAll(now, tenurev1.ErrorReason_ERROR_REASON_STOPPING, fx)
}

// refuseAll refuses everything that waits.
func (c *Carrier) refuseAll(now time.Time, reason tenurev1.ErrorReason, fx *CarrierEffects) {
	Broken{}.step(c, now, fx)
	fx.refuse(c.queue, reason)
	c.queue = nil
}

func (Sweep) step(c *Carrier, now time.Time, fx *CarrierEffects) {
	isLate := func(r *Relayed) bool { return now.After(r.until) }
	var numbers []uint64
	for number, r := range c.sent {
		if isLate(r) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers) // Decisions are in the order in which they were asked for.
	var late []*Relayed
	for _, number := range numbers {
		late = append(late, c.sent[number])
		delete(c.sent, number)
	}
	c.queue = slices.DeleteFunc(c.queue, func(r *Relayed) bool {
		if isLate(r) {
			late = append(late, r)
		}
		return isLate(r)
	})
	fx.refuse(late, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER)
}
