package cli

import (
	"cmp"
	"fmt"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// FrozenText says why a lock that nobody has is not granted.
const FrozenText = "no lock is granted for a while after a restore (see `tenure status`)"

// WhyNotAcquired says what stands between a caller and a lock. Of holders whose session is among those given, it says where they run.
func WhyNotAcquired(lock *tenurev1.Lock, sessions ...*tenurev1.Session) string {
	var reasons []string
	if holds := lock.GetHolds(); len(holds) > 0 {
		reasons = append(reasons, HolderText(holds[0], sessions...))
	} else if delayed := lock.GetDelayed(); len(delayed) > 0 {
		reasons = append(reasons, DelayText(delayed[0]))
	}
	if waiters := lock.GetWaiters(); waiters > 0 {
		reasons = append(reasons, fmt.Sprintf("%d waiting", waiters))
	}
	if lock.GetFrozen() {
		reasons = append(reasons, FrozenText)
	}
	if len(reasons) == 0 {
		return "it was acquired and released in the meantime: try again"
	}
	return strings.Join(reasons, ", ")
}

// WhyNotReleased says who holds instead.
func WhyNotReleased(lock *tenurev1.Lock) string {
	switch {
	case len(lock.GetHolds()) > 0:
		return HolderText(lock.GetHolds()[0])
	case len(lock.GetDelayed()) > 0:
		return "the session no longer holds it; " + DelayText(lock.GetDelayed()[0])
	default:
		return "no session holds it"
	}
}

// HolderText tells who holds, and where the holder runs if its session is among those given.
func HolderText(hold *tenurev1.Hold, sessions ...*tenurev1.Session) string {
	id := hold.GetSequencer().GetSessionId()
	for _, s := range sessions {
		if s.GetSessionId() == id {
			id += whereText(s)
			break
		}
	}
	text := "held by " + WhoText(hold.GetSessionName(), id)
	if hold.GetGrantTime() != nil { // Whoever may not read the key is not told.
		text += " since " + Moment(hold.GetGrantTime())
	}
	return text
}

// whereText says after a comma on which host and in which process a session's holder runs, as far as the session says it.
func whereText(s *tenurev1.Session) (text string) {
	if host := cmp.Or(s.GetMetadata()["host"], s.GetNode()); host != "" {
		text += ", host " + Printable(host)
	}
	if pid := s.GetMetadata()["pid"]; pid != "" {
		text += ", pid " + Printable(pid)
	}
	return text
}

// DelayText tells who lost a lock, and how long that still counts.
func DelayText(hold *tenurev1.Hold) string {
	return fmt.Sprintf("lock-delay has %s left, after %s lost it",
		Length(hold.GetDelayLeft()), WhoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId()))
}

// WhoText names a session, by its name if it has one.
func WhoText(name, id string) string {
	switch {
	case name != "":
		return fmt.Sprintf("%s (session %s)", Quoted(name), id)
	case id != "":
		return "session " + id
	default:
		return ""
	}
}

// EndText says in words why a hold ended.
func EndText(cause tenurev1.HoldEndCause) string {
	switch cause {
	case tenurev1.HoldEndCause_HOLD_END_CAUSE_SESSION_FORCED:
		return "an operator ended the session"
	case tenurev1.HoldEndCause_HOLD_END_CAUSE_SESSION_CLOSED:
		return "session destroyed" // As the end of the session itself is called.
	case tenurev1.HoldEndCause_HOLD_END_CAUSE_FORCE_RELEASED:
		return "an operator released it"
	default:
		// The others say it.
	}
	return Words(cause.String(), "HOLD_END_CAUSE_")
}

// Words returns the name of an enum's value for people.
func Words(name, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", " "))
}
