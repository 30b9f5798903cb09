package core

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// Event is something that happened to a stream. The kinds are those of this file.
type Event interface {
	step(s *Stream, now time.Time, fx *Effects)
}

// Came says that a message came. It is due only while MayRead.
type Came struct {
	Asked []Asked
}

// Admitted says that the renewals of a message were received: from then on they postpone the ends of their sessions.
type Admitted struct {
	Message *Message
}

// Ended says that no more messages come. Err is nil if the other side ended the stream in order.
type Ended struct {
	Err error
}

// Round says that whoever answers is free. What is parked is settled again: who waits for a change of the timers has to listen
// before the last round. The events of the tasks that follow come from the same goroutine, one for each task.
type Round struct{}

// Proved ends the task Prove: this member led in Term after the task was given.
type Proved struct {
	Term uint64
}

// Unproved ends the task Prove: there is no proof, and nobody else to ask. A client's stream refuses what it wanted to prove,
// and any other stream ends with Err.
type Unproved struct {
	Refused tenurev1.ErrorReason
	Err     error
}

// Elsewhere ends the task Prove: another member leads, or may soon. Until is how long a single call asks again; a stream
// leaves that to its client.
type Elsewhere struct {
	Until time.Time
}

// Settled ends the task Settle.
type Settled struct{}

// Handed ends the task Relay: a Carrier has the renewals, and Decided comes for each.
type Handed struct{}

// Authorised ends the task Authorise: what it lent is decided about.
type Authorised struct{}

// Sent ends the task Send.
type Sent struct{}

// Again ends the task Wait. Over says that the call has no time left.
type Again struct {
	Over bool
}

// Decided brings the verdicts on renewals that were relayed.
type Decided struct {
	Decisions []Decision
}

// Closed says that nobody answers any more.
type Closed struct{}

// Effects is what the caller has to do after a step. Its slices are valid until the next step of the same goroutine.
type Effects struct {
	// Forget are sessions that the stream renews no more, Remember those that it renews from now on. Forget comes first.
	Forget, Remember []storage.SessionID
	// Admit is a message whose renewals are to be looked at (Message.Strangers), received, and Admitted.
	Admit *Message
	// Release are renewals to be given up.
	Release [][]expiry.Renewal
	// Task is for whoever answers; nil when there is none.
	Task Task
	// Idle is set after a round, when there is no task.
	Idle Idle
}

// Idle says what follows a round.
type Idle struct {
	// Again says that another round is due at once.
	Again bool
	// Parked says that renewals wait for a change of the timers.
	Parked bool
	// Over says that the stream has ended, with Err.
	Over bool
	Err  error
}

// Task is one thing to do for whoever answers, who reports its end by an event. The kinds are those that follow.
type Task interface{ task() }

// Prove asks for a proof of leadership that begins now.
type Prove struct{}

// Settle asks to settle what is not refused and to release what is, and then to say of each missing session why.
type Settle struct {
	*Batch
	// Term is that of the proof.
	Term uint64
	// Check are renewals whose right to renew has to be looked at first; who has none is refused.
	Check []int
	// Asked is what Check refers to.
	Asked []Asked
}

// Relay hands renewals to the Carrier.
type Relay struct {
	Renewals []*Relayed
}

// Authorise asks to decide again, on what the cluster has now, whether the client may renew: rights were taken away since it was
// decided. Denied and AuthorisedBelow are to be set. Where that is not possible the stream has to end.
type Authorise struct {
	Asked []Asked
}

// Send sends verdicts. There are RenewalsMax at most.
type Send struct {
	Verdicts []Verdict
}

// Wait waits until another leader may be known, but no longer than Until.
type Wait struct {
	Until time.Time
}

func (Prove) task()     {}
func (Settle) task()    {}
func (Relay) task()     {}
func (Authorise) task() {}
func (Send) task()      {}
func (Wait) task()      {}

// Verdict answers one renewal.
type Verdict struct {
	Session string // as it was asked
	Number  uint64
	Refused tenurev1.ErrorReason // unspecified if it renewed
	TTL     time.Duration        // that it was granted
}
