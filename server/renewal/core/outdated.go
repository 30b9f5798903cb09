package core

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

// againMax is how often a renewal is decided about again, under rights that are taken away again and again. After that its client asks
// again.
const againMax = 5

// outdates keeps a renewal that was refused because rights were taken away since it was allowed, so that it is decided about again, and
// reports whether it did. Another member's are its own to decide.
func (s *Stream) outdates(m *Message, i int, refused tenurev1.ErrorReason) bool {
	if refused != tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED || s.origin == Member || m.again >= againMax {
		return false
	}
	one := &Message{
		// It counts from when it came, as before.
		Batch: Batch{Renewals: []expiry.Renewal{m.Renewals[i]}},
		Asked: m.Asked[i : i+1 : i+1], strange: []int{0}, again: m.again + 1, of: m,
	}
	if m.of != nil {
		one.of = m.of
	}
	s.outdated = append(s.outdated, one)
	return true
}

// decideAgain has whoever answers decide about what is outdated.
func (s *Stream) decideAgain(fx *Effects) {
	s.deciding, s.outdated = s.outdated, nil
	s.lent = make([]Asked, len(s.deciding))
	for i, m := range s.deciding {
		s.lent[i] = m.Asked[0]
	}
	fx.Task = Authorise{Asked: s.lent}
}

// Authorised takes what was decided, and goes on with a new proof.
func (Authorised) step(s *Stream, now time.Time, fx *Effects) {
	if s.closed {
		return
	}
	for i, m := range s.deciding {
		m.Asked, m.Renewals[0].AuthorisedBelow = s.lent[i:i+1:i+1], s.lent[i].AuthorisedBelow
		if s.lent[i].Denied {
			m.Refuse(0, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
		}
		s.batch = append(s.batch, m)
	}
	s.deciding, s.lent = nil, nil
	s.proof = proofUnasked
	s.next(now, fx)
}
