package check

import (
	"fmt"
	"slices"
)

// keyCauses are what calls say of why keys may go.
type keyCauses struct {
	// deletes are the deletions of a key that were done, or may have been.
	deletes map[string][]*Op
	// behaviors are what becomes of the keys that a session has locked when it ends, where its creation told.
	behaviors map[string]string
}

// deletion is a key that the present revision deletes.
type deletion struct {
	event  *Event
	before modelKey
}

func causesOf(h *History) keyCauses {
	c := keyCauses{deletes: map[string][]*Op{}, behaviors: map[string]string{}}
	for _, op := range h.Ops {
		switch op.Kind {
		case KindDelete:
			c.deletes[op.Key] = append(c.deletes[op.Key], op)
		case KindTxn:
			for _, s := range op.Steps {
				if s.Kind == KindDelete {
					c.deletes[s.Key] = append(c.deletes[s.Key], op)
				}
			}
		case KindCreate:
			c.behaviors[op.Session] = op.Behavior
		default:
		}
	}
	return c
}

// bind demands of an event that puts a key that it changes its binding only to a session that lives.
func (m *model) bind(e *Event, old modelKey) error {
	switch {
	case e.Bound == old.bound:
		return nil
	case e.Change != "put" || e.Bound == "":
		return fmt.Errorf("key %s was bound to session %q, and a %s binds it to %q", e.Key, old.bound, e.Change, e.Bound)
	case !m.alive(e.Bound):
		return fmt.Errorf("key %s is bound to session %s, which does not live", e.Key, e.Bound)
	default:
		return nil
	}
}

// because demands a reason for each key that a revision deleted.
func (m *model) because() error {
	for _, d := range m.deleted {
		var why string
		switch {
		case d.event.Session != "":
			why = m.endedWith(d)
		case d.event.Unused:
			why = m.unused(d)
		case !m.wasDeleted(d.event.Key):
			why = "nobody deleted it"
		}
		if why != "" {
			return fmt.Errorf("key %s is deleted, and %s", d.event.Key, why)
		}
	}
	return nil
}

// endedWith returns why the end of the session that an event names did not delete a key; empty: it did.
func (m *model) endedWith(d deletion) string {
	key, session := d.event.Key, d.event.Session
	if !slices.Contains(m.ended, session) {
		return fmt.Sprintf("session %s did not end", session)
	}
	if d.before.bound == session {
		return ""
	}
	if !slices.ContainsFunc(m.gone, func(h modelHold) bool { return h.Key == key && h.Session == session }) {
		return fmt.Sprintf("session %s had neither bound nor locked it", session)
	}
	if how := m.causes.behaviors[session]; how != "" && how != BehaviorDelete {
		return fmt.Sprintf("the end of session %s leaves the keys that it had locked", session)
	}
	for _, h := range m.lock(key).holds {
		if !h.delayed && h.Token != m.revision {
			return fmt.Sprintf("session %s holds it, too", h.Session)
		}
	}
	return ""
}

// unused returns why a key did not go with the last use of its lock; empty: it did.
func (m *model) unused(d deletion) string {
	l := m.lock(d.event.Key)
	switch {
	case d.before.value != "" || d.before.bound != "":
		return fmt.Sprintf("not only its lock had made it: it is %+v", d.before)
	case len(l.holds) > 0 || len(l.queue) > 0:
		return fmt.Sprintf("its lock is in use: %+v", l)
	default:
		return ""
	}
}

// wasDeleted reports whether somebody deleted a key in the present revision, or may have.
func (m *model) wasDeleted(key string) bool {
	return slices.ContainsFunc(m.causes.deletes[key], func(op *Op) bool {
		return op.Outcome == Unknown || op.Outcome == OK && op.Changed && op.Revision == m.revision
	})
}
