package core

import (
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
)

// TestARenewalIsDecidedAgainAFewTimes has the leader find a renewal too old again and again: after a few times its client hears of it. That of another
// member's client is never decided about here.
func TestARenewalIsDecidedAgainAFewTimes(t *testing.T) {
	for origin, want := range map[Origin]int{Client: againMax, Call: againMax, Member: 0} {
		s := &Stream{origin: origin}
		m := &Message{Batch: Batch{Renewals: make([]expiry.Renewal, 1)}, Asked: make([]Asked, 1)}
		decided := 0
		for s.outdates(m, 0, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED) {
			decided++
			m = s.outdated[len(s.outdated)-1]
		}
		if decided != want {
			t.Errorf("origin %v: it was decided again %d times, want %d", origin, decided, want)
		}
	}
}
