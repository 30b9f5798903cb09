package core

import (
	"iter"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

const (
	// RenewalsMax is how many renewals a message may carry, and how many verdicts an answer carries.
	RenewalsMax = 1024
	// SlotsMax is how much of a stream may wait; beyond that the stream is not read.
	SlotsMax = 16
	// RenewalsPerSlot is how many renewals of a client's message take one slot more, so that at most 2 048 wait.
	RenewalsPerSlot = 128
	// ParkedMax is how many renewals of a stream may wait for the outcome of an Expire.
	ParkedMax = 64 << 10
)

// Asked is what is kept of a renewal until it is answered. It is small, whatever the other side sent.
type Asked struct {
	// Session is the id as a client wrote it, so that it finds its own.
	Session string
	// ID is the session's; Invalid says that a client's text is none.
	ID      storage.SessionID
	Invalid bool
	// Denied says that the client's policies do not allow it to renew the session.
	Denied bool
	// Proven says that another member has checked the secret for this client before.
	Proven        bool
	Number, Epoch uint64
	// AuthorisedBelow is one more than the deny revision at which the client was allowed to renew the session; zero: not known.
	AuthorisedBelow uint64
	// Secret came along: the secret itself on a client's stream, its SHA-256 otherwise; nil for none.
	Secret []byte
}

// Batch is renewals that are settled together.
type Batch struct {
	Renewals []expiry.Renewal

	refused []tenurev1.ErrorReason // unspecified for those that are not refused; nil if none is
}

// Refuse notes why one renewal is refused.
func (b *Batch) Refuse(i int, reason tenurev1.ErrorReason) {
	if b.refused == nil {
		b.refused = make([]tenurev1.ErrorReason, len(b.Renewals))
	}
	b.refused[i] = reason
}

// Refused reports whether any renewal is refused.
func (b *Batch) Refused() bool { return b.refused != nil }

// Refusal returns why a renewal is refused; unspecified if it is not.
func (b *Batch) Refusal(i int) tenurev1.ErrorReason {
	if b.refused == nil {
		return tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	}
	return b.refused[i]
}

// Message is one message of a stream.
type Message struct {
	Batch
	Asked []Asked

	strange []int // renewals of sessions that the stream has not renewed yet
	all     bool  // all of them are strange
	slots   int   // how many it takes
	left    int   // renewals without a verdict
	// again says how often rights were taken away under its renewals; of is then the message of the stream that they came in.
	again int
	of    *Message
}

// Strangers returns the renewals whose right to renew nobody has seen on this stream.
func (m *Message) Strangers() iter.Seq[int] {
	return func(yield func(int) bool) {
		if m.all {
			for i := range m.Renewals {
				if !yield(i) {
					return
				}
			}
			return
		}
		for _, i := range m.strange {
			if !yield(i) {
				return
			}
		}
	}
}

// Relayed is one renewal on its way to the leader.
type Relayed struct {
	ID    storage.SessionID
	Epoch uint64
	// Proven says that the leader has checked the secret for this client before.
	Proven bool
	// Secret is its hash, as the client showed it now or before; nil for none.
	Secret []byte
	// AuthorisedBelow is as in Asked.
	AuthorisedBelow uint64
	// To takes the verdict; At and Of are for the stream that it came from.
	To Taker
	Of *Message
	At int

	until time.Time // when it is refused, unless there is a verdict before
}

// Taker takes verdicts on relayed renewals. It never waits.
type Taker interface {
	// Decided says what became of renewals.
	Decided(decisions []Decision)
}
