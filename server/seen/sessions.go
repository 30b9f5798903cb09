package seen

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
)

// seesSession reports whether the caller sees the session that an event is about. An event that does not say what rules ask of a session is from before
// cluster version 3: then it is looked up, where that may matter.
func (v *Events) seesSession(id storage.SessionID, e *storev1.Event, s *sessions) (bool, error) {
	if !v.Sight.Covers(authz.Need{Kind: authz.Session, Match: authz.All}) {
		return false, nil // It has no rule about sessions.
	}
	known, named, whole := saidOf(e)
	if authz.SeesSession(v.Sight, known) {
		return true, nil
	}
	if whole || named && !v.Sight.SeesBeyondNames() {
		return false, nil
	}
	facts, found, err := s.facts(id)
	return found && authz.SeesSession(v.Sight, facts), err
}

// saidOf returns what an event says of what rules ask of its session, whether it says the session's name, and whether that is all: one that says neither
// a maker nor, where only newer ones say it, a node may be an older one.
func saidOf(e *storev1.Event) (known authz.SessionFacts, named, whole bool) {
	switch kind := e.GetKind().(type) {
	case *storev1.Event_SessionBegun:
		b := kind.SessionBegun
		known = authz.SessionFacts{Name: b.GetName(), Node: b.GetNode(), Maker: b.GetPrincipal()}
		return known, true, known.Maker != ""
	case *storev1.Event_SessionTakenOver:
		t := kind.SessionTakenOver
		known = authz.SessionFacts{Name: t.GetName(), Node: t.GetNode(), Maker: t.GetPrincipal()}
		said := known != authz.SessionFacts{}
		return known, said, said
	case *storev1.Event_SessionEnded:
		d := kind.SessionEnded
		known = authz.SessionFacts{Name: d.GetName(), Node: d.GetNode(), Maker: d.GetPrincipal()}
		return known, true, known.Maker != "" || known.Node != ""
	default:
		return known, false, false
	}
}

// sessions looks sessions up in what the member has. It must be closed.
type sessions struct {
	store func() *storage.Store
	state *storage.Reader // nil: nothing was looked up yet
}

// facts returns what rules ask of a session that lives or has ended; false if it is not known, such as one whose end was long ago.
func (s *sessions) facts(id storage.SessionID) (authz.SessionFacts, bool, error) {
	if s.state == nil {
		s.state = s.store().NewReader()
	}
	record, known, err := s.state.Session(id)
	if err != nil {
		return authz.SessionFacts{}, false, err
	}
	if !known {
		var ended *storev1.EndedSessionRecord
		if ended, known, err = s.state.EndedSession(id); err != nil || !known {
			return authz.SessionFacts{}, false, err
		}
		record = ended.GetSession()
	}
	return factsOf(record), true, nil
}

// close ends the look.
func (s *sessions) close() error {
	if s.state == nil {
		return nil
	}
	return s.state.Close()
}
