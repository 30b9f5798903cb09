package leader

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// Journey is the state of one call on its way to the leader: whether and when it is tried again, and which error its caller gets. It
// is a value: nothing in it waits. Whoever drives it gives up where there is no patience left.
type Journey struct {
	repeat  bool
	tries   int
	wait    time.Duration
	err     error         // of the last attempt; nil if there was none
	unknown *reason.Error // of an attempt that may have been applied
}

// NewJourney returns the state of a call of which nothing is known but why this member has failed to serve it; nil if it did not try.
// Repeat allows to do it again when the outcome of an earlier attempt is unknown.
func NewJourney(repeat bool, err error) *Journey {
	j := &Journey{repeat: repeat, wait: relayRetryMin}
	j.failed(err)
	return j
}

func (j *Journey) failed(err error) {
	j.err = err
	if e := reason.Of(err); e != nil && e.Applied == reason.AppliedUnknown {
		j.unknown = e
	}
}

// Pause returns how long to wait before the next attempt, unless another leader is known before. A leader elsewhere is asked at once if
// it was not asked yet.
func (j *Journey) Pause(elsewhere bool) time.Duration {
	if j.err == nil || j.tries == 0 && elsewhere {
		return 0
	}
	wait := j.wait
	j.wait = min(2*wait, relayRetryMax)
	return wait
}

// Ended takes how an attempt ended, and reports whether it was the last. Gone says that the caller waits no longer.
func (j *Journey) Ended(err error, gone bool) (over bool) {
	j.tries++
	over = err == nil || gone || !mayComeRight(err, j.repeat)
	if over {
		j.err = err
		return true
	}
	j.failed(err)
	return false
}

// Err returns what the caller is told, after the last attempt or where there is no patience left: the error of the last attempt; but if
// that did nothing, and an earlier one may have, that one's.
func (j *Journey) Err() error { return j.instead(j.err) }

// Doubt returns the error of an earlier attempt that may have been applied, for a caller whose last attempt did nothing and does not know of it;
// nil: there is none.
func (j *Journey) Doubt() error {
	if j.unknown == nil {
		return nil
	}
	return j.unknown
}

// instead returns what the caller is told in place of an error that is no attempt's.
func (j *Journey) instead(err error) error { return reason.InDoubt(j.Doubt(), err) }

// mayComeRight reports whether an error is one after which the leader, or the next one, may do what was asked.
func mayComeRight(err error, repeat bool) bool {
	e := reason.Of(err)
	if e == nil {
		return false
	}
	switch e.Reason {
	case tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER:
		return e.Applied != reason.AppliedUnknown || repeat
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return e.Far && (e.Applied != reason.AppliedUnknown || repeat)
	case tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN:
		return repeat
	default:
		return false
	}
}
