package core

import (
	"crypto/subtle"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/expiry"
	"github.com/tenure-io/tenure/storage"
)

// Timers are the leader's, as far as renewals need them.
type Timers interface {
	Secret(r *expiry.Renewal) expiry.Secret
	SetSecret(r *expiry.Renewal, hash []byte)
	Settle(term uint64, renewals []expiry.Renewal)
	Release(renewals []expiry.Renewal)
}

// Sessions are the state's, as far as renewals need them.
type Sessions interface {
	// Live returns the hash of a session's secret, empty for none, and whether the session lives.
	Live(id storage.SessionID) (secret []byte, live bool, err error)
	// Ended reports whether a session is known to have ended.
	Ended(id storage.SessionID) (bool, error)
	// Marked reports whether the end list has ended a session that is not recorded as ended.
	Marked(id storage.SessionID) (bool, error)
}

// Judge decides about renewals by the timers and the state. It is for whoever drives a stream: it looks at what came before that is
// received, and does the task Settle. It keeps nothing between two calls.
type Judge struct {
	Timers   Timers
	Sessions Sessions
	// Believes says that another member's word is enough that a secret was shown before.
	Believes bool
	// DenyRevision is the one that this member has. It is read after the proof of leadership, so no revocation that was answered before
	// the proof is missing in it.
	DenyRevision uint64
	// Marks says that the end list has marks. It is read after the proof of leadership, too, and the state is asked for each session then.
	Marks bool
}

// Outdated reports whether rights were taken away since it was decided that a renewal is allowed. Where none ever were, nothing is.
func (j Judge) Outdated(r *expiry.Renewal) bool { return j.DenyRevision >= max(r.AuthorisedBelow, 1) }

// refuseOutdated refuses what has to be decided about again.
func (j Judge) refuseOutdated(t Settle) {
	for i := range t.Renewals {
		if j.Outdated(&t.Renewals[i]) && t.Refusal(i) == 0 {
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED)
		}
	}
}

// refuseMarked refuses sessions that the end list has ended: they are dead to all, and the timers hear of it later.
func (j Judge) refuseMarked(t Settle) error {
	if !j.Marks {
		return nil
	}
	for i := range t.Renewals {
		if t.Refusal(i) != 0 {
			continue
		}
		marked, err := j.Sessions.Marked(t.Renewals[i].ID)
		if err != nil {
			return err
		}
		if marked {
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED)
		}
	}
	return nil
}

// right says whether a caller may renew a session.
type right uint8

const (
	// rightUnknown means that the timers do not have the session, or that no such session lives: there is nothing to renew.
	rightUnknown right = iota
	// rightShown means that the session has no secret, or that it was shown.
	rightShown
	// rightWrong means that the session has another secret.
	rightWrong
)

// Look notes whether the renewals of a message may postpone the ends of their sessions from the moment they came. Where nobody can
// tell yet they may not; they are looked at again when they are settled.
func (j Judge) Look(m *Message) {
	for i := range m.Strangers() {
		given, err := j.right(&m.Renewals[i], j.Believes && m.Asked[i].Proven)
		m.Renewals[i].Unproven = err != nil || given != rightShown
	}
}

// right returns whether a renewal brought what its session needs; proven says that it was checked before. A session that the timers do
// not have is not looked for: only of one that they have, without its secret, the state is asked.
func (j Judge) right(r *expiry.Renewal, proven bool) (right, error) {
	known := j.Timers.Secret(r)
	switch {
	case known == expiry.SecretNone, known == expiry.SecretShown, proven && known == expiry.SecretNeeded:
		return rightShown, nil
	case known == expiry.SecretAbsent:
		return rightUnknown, nil
	}
	hash, live, err := j.Sessions.Live(r.ID)
	if err != nil || !live {
		return rightUnknown, err
	}
	if known == expiry.SecretUnknown {
		j.Timers.SetSecret(r, hash)
	}
	if len(hash) == 0 || proven || subtle.ConstantTimeCompare(r.Shown, hash) == 1 {
		return rightShown, nil
	}
	return rightWrong, nil
}

// Settle does the task: it looks at the secrets of those that the task names, settles what is not refused, releases what is, and says why
// sessions are missing. What was allowed before rights were taken away is refused.
func (j Judge) Settle(t Settle) error {
	for _, i := range t.Check {
		given, err := j.right(&t.Renewals[i], j.Believes && t.Asked[i].Proven)
		if err != nil {
			return err
		}
		t.Renewals[i].Unproven = given != rightShown
		if given == rightWrong {
			t.Refuse(i, tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
		}
	}
	if err := j.refuseMarked(t); err != nil {
		return err
	}
	j.refuseOutdated(t)
	if !t.Refused() {
		j.Timers.Settle(t.Term, t.Renewals)
	} else {
		j.settleSome(t)
	}
	for i := range t.Renewals {
		if r := &t.Renewals[i]; r.Verdict == expiry.Missing {
			why, err := j.missing(r.ID)
			if err != nil {
				return err
			}
			t.Refuse(i, why)
		}
	}
	return nil
}

// settleSome settles those that are not refused, and releases those that are.
func (j Judge) settleSome(t Settle) {
	for i := range t.Renewals {
		one := t.Renewals[i : i+1]
		if t.Refusal(i) == 0 {
			j.Timers.Settle(t.Term, one)
		} else {
			j.Timers.Release(one)
		}
	}
}

// missing says why the timers do not have a session.
func (j Judge) missing(id storage.SessionID) (tenurev1.ErrorReason, error) {
	if _, live, err := j.Sessions.Live(id); err != nil || live {
		// The timers have not heard of it yet, or no more; the client asks again.
		return tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, err
	}
	if known, err := j.Sessions.Ended(id); err != nil || !known {
		return tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, err
	}
	return tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED, nil
}
