package check

import (
	"encoding/hex"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// KindOfCatalog is the kind of all events of nodes, services and checks.
const KindOfCatalog = "catalog"

// SessionText returns a session's id as histories write it.
func SessionText(id []byte) string { return hex.EncodeToString(id) }

// Mode returns a mode as histories write it.
func Mode(m storev1.LockMode) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "LOCK_MODE_"))
}

// FromStore returns an event of the state machine as histories write it.
func FromStore(e *storev1.Event) *Event {
	out := &Event{Revision: e.GetRevision(), Index: e.GetIndex(), Count: e.GetCount()}
	switch k := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		p := k.KeyPut
		out.Kind, out.Key, out.Value = "key_put", p.GetKey(), string(p.GetValue())
		out.Change = strings.ToLower(strings.TrimPrefix(p.GetChange().String(), "KEY_CHANGE_"))
		out.CreateRevision, out.Version, out.LockIndex = p.GetCreateRevision(), p.GetVersion(), p.GetLockIndex()
		out.Session, out.Bound = SessionText(p.GetSessionId()), SessionText(p.GetBoundSessionId())
	case *storev1.Event_KeyDeleted:
		out.Kind, out.Key, out.Session = "key_deleted", k.KeyDeleted.GetKey(), SessionText(k.KeyDeleted.GetEndedSessionId())
		out.Unused = k.KeyDeleted.GetUnused()
	case *storev1.Event_LockQueued:
		q := k.LockQueued
		out.Kind, out.Key, out.Place, out.Session = "lock_queued", q.GetKey(), q.GetPlace(), SessionText(q.GetSessionId())
		out.Owner, out.Mode, out.Permits = q.GetOwner(), Mode(q.GetMode()), q.GetPermits()
	case *storev1.Event_LockLeft:
		l := k.LockLeft
		out.Kind, out.Key, out.Place, out.Session = "lock_left", l.GetKey(), l.GetPlace(), SessionText(l.GetSessionId())
		out.Owner, out.Cause = l.GetOwner(), strings.ToLower(strings.TrimPrefix(l.GetCause().String(), "WAIT_END_CAUSE_"))
	case *storev1.Event_LockGranted:
		g := k.LockGranted
		out.Kind, out.Key, out.LockIndex, out.Token = "lock_granted", g.GetKey(), g.GetLockIndex(), e.GetRevision()
		out.Session, out.Owner, out.Mode = SessionText(g.GetSessionId()), g.GetOwner(), Mode(g.GetMode())
		out.Permits, out.Place = g.GetPermits(), g.GetPlace()
	case *storev1.Event_LockReleased:
		r := k.LockReleased
		out.Kind, out.Key, out.LockIndex, out.Token = "lock_released", r.GetKey(), r.GetLockIndex(), r.GetFencingToken()
		out.Session, out.Owner, out.Mode, out.Permits = SessionText(r.GetSessionId()), r.GetOwner(), Mode(r.GetMode()), r.GetPermits()
		out.Cause = holdEnd(r.GetCause())
	case *storev1.Event_LockLost:
		l := k.LockLost
		out.Kind, out.Key, out.LockIndex, out.Token = "lock_lost", l.GetKey(), l.GetLockIndex(), l.GetFencingToken()
		out.Session, out.Owner, out.Mode, out.Permits = SessionText(l.GetSessionId()), l.GetOwner(), Mode(l.GetMode()), l.GetPermits()
		out.Cause = holdEnd(l.GetCause())
	default:
		fromStoreRest(e, out)
	}
	return out
}

func fromStoreRest(e *storev1.Event, out *Event) {
	switch k := e.GetKind().(type) {
	case *storev1.Event_LockDelayBegun:
		d := k.LockDelayBegun
		out.Kind, out.Key, out.LockIndex, out.Token = "lock_delay_begun", d.GetKey(), d.GetLockIndex(), d.GetFencingToken()
		out.DelayMs = d.GetDelayMs()
	case *storev1.Event_LockDelayEnded:
		d := k.LockDelayEnded
		out.Kind, out.Key, out.LockIndex, out.Token = "lock_delay_ended", d.GetKey(), d.GetLockIndex(), d.GetFencingToken()
	case *storev1.Event_SessionBegun:
		out.Kind, out.Session, out.TTLMs = "session_begun", SessionText(k.SessionBegun.GetSessionId()), k.SessionBegun.GetTtlMs()
	case *storev1.Event_SessionTakenOver:
		out.Kind, out.Session = "session_taken_over", SessionText(k.SessionTakenOver.GetSessionId())
		out.Epoch = k.SessionTakenOver.GetEpoch()
	case *storev1.Event_SessionEnded:
		out.Kind, out.Session = "session_ended", SessionText(k.SessionEnded.GetSessionId())
		out.Cause = strings.ToLower(strings.TrimPrefix(k.SessionEnded.GetCause().String(), "SESSION_END_CAUSE_"))
	case *storev1.Event_NodePut, *storev1.Event_NodeDeleted, *storev1.Event_ServicePut, *storev1.Event_ServiceDeleted,
		*storev1.Event_CheckPut, *storev1.Event_CheckStatus, *storev1.Event_CheckDeleted:
		out.Kind = KindOfCatalog
	}
}

func holdEnd(c storev1.HoldEndCause) string {
	return strings.ToLower(strings.TrimPrefix(c.String(), "HOLD_END_CAUSE_"))
}
