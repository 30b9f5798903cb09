package seen

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/storage"
)

// seesSession reports whether the caller sees the session that an event is about. Events have little of what rules ask of a session, so it is looked up
// where that may matter.
func (v *Events) seesSession(id storage.SessionID, e *storev1.Event, s *sessions) (bool, error) {
	if !v.Sight.Covers(authz.Need{Kind: authz.Session, Match: authz.All}) {
		return false, nil // It has no rule about sessions.
	}
	var known authz.SessionFacts
	switch kind := e.GetKind().(type) {
	case *storev1.Event_SessionBegun:
		known.Name, known.Node = kind.SessionBegun.GetName(), kind.SessionBegun.GetNode()
	case *storev1.Event_SessionEnded:
		known.Name = kind.SessionEnded.GetName()
	default:
	}
	if authz.SeesSession(v.Sight, known) {
		return true, nil
	}
	facts, found, err := s.facts(id)
	return found && authz.SeesSession(v.Sight, facts), err
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
