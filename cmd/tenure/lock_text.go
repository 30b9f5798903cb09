package main

import (
	"fmt"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// frozenText says why a lock that nobody has is not granted.
const frozenText = "no lock is granted for a while after a restore (see `tenure status`)"

// whyNotAcquired says what stands between a caller and a lock.
func whyNotAcquired(lock *tenurev1.Lock) string {
	var reasons []string
	if holds := lock.GetHolds(); len(holds) > 0 {
		reasons = append(reasons, holderText(holds[0]))
	} else if delayed := lock.GetDelayed(); len(delayed) > 0 {
		reasons = append(reasons, delayText(delayed[0]))
	}
	if waiters := lock.GetWaiters(); waiters > 0 {
		reasons = append(reasons, fmt.Sprintf("%d waiting", waiters))
	}
	if lock.GetFrozen() {
		reasons = append(reasons, frozenText)
	}
	if len(reasons) == 0 {
		return "it was acquired and released in the meantime: try again"
	}
	return strings.Join(reasons, ", ")
}

// whyNotReleased says who holds instead.
func whyNotReleased(lock *tenurev1.Lock) string {
	switch {
	case len(lock.GetHolds()) > 0:
		return holderText(lock.GetHolds()[0])
	case len(lock.GetDelayed()) > 0:
		return "the session no longer holds it; " + delayText(lock.GetDelayed()[0])
	default:
		return "no session holds it"
	}
}

// holderText tells who holds.
func holderText(hold *tenurev1.Hold) string {
	return fmt.Sprintf("held by %s since %s",
		whoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId()), moment(hold.GetGrantTime()))
}

// delayText tells who lost a lock, and how long that still counts.
func delayText(hold *tenurev1.Hold) string {
	return fmt.Sprintf("lock-delay has %s left, after %s lost it",
		length(hold.GetDelayLeft()), whoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId()))
}

// whoText names a session, by its name if it has one.
func whoText(name, id string) string {
	switch {
	case name != "":
		return fmt.Sprintf("%s (session %s)", quoted(name), id)
	case id != "":
		return "session " + id
	default:
		return ""
	}
}

// endText says in words why a hold ended.
func endText(cause tenurev1.HoldEndCause) string {
	return words(cause.String(), "HOLD_END_CAUSE_")
}

// words returns the name of an enum's value for people.
func words(name, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", " "))
}
