package nodes

import (
	"fmt"
	"math"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// markLooksMax is how many bindings one command looks at whose sessions are younger than the mark.
const markLooksMax = 4096

// boundEnd is a subject whose sessions end, and why.
type boundEnd struct {
	subject layout.Subject
	cause   storev1.SessionEndCause
}

// End says why a session ends that loses what it is bound to, and when it did if the end list says so.
type End struct {
	Cause storev1.SessionEndCause
	// Revision and TimeMs are those of the mark that ended the session before; zero: the command's own.
	Revision uint64
	TimeMs   int64
}

// EndOf says how the sessions end that a mark is about.
func EndOf(m *records.Mark) End {
	return End{Cause: m.Record.GetCause(), Revision: m.Revision, TimeMs: m.Record.GetTimeMs()}
}

// Take adds a session to those that the command ends. It reports false if that would make the command too large.
type Take func(id layout.SessionID, how End) (bool, error)

// endSubject says that the command ends the sessions that are bound to a subject.
func (c *Change) endSubject(s layout.Subject, cause storev1.SessionEndCause) {
	c.bound = append(c.bound, boundEnd{subject: s, cause: cause})
}

// Marked returns the first mark that has ended a session, or nil.
func (c *Change) Marked(r *storev1.SessionRecord) (*records.Mark, error) {
	if c.State.EndMarks == 0 || r.GetBoundNode() == "" {
		return nil, nil
	}
	return records.MarkOn(c.Rows, r)
}

// MarkedSession reports whether the end list has ended a session.
func (c *Change) MarkedSession(id layout.SessionID) (bool, error) {
	if c.State.EndMarks == 0 {
		return false, nil
	}
	r, err := records.LiveSession(c.Rows, id)
	if err != nil || r == nil {
		return false, err
	}
	m, err := c.Marked(r)
	return m != nil, err
}

// setMark puts a subject on the end list, if a session is bound to it.
func (c *Change) setMark(e boundEnd, after []byte) error {
	row := layout.MarkRow(e.subject, c.Revision)
	_, marked, err := c.Rows.Get(row)
	if err != nil || marked { // Twice in one command: the first is why.
		return err
	}
	bound, err := c.isBound(e.subject, c.Revision)
	if err != nil || !bound {
		return err
	}
	c.State.EndMarks++
	return c.write(row, &storev1.EndMarkRecord{
		FormatVersion: layout.RecordFormat, Cause: e.cause, TimeMs: c.WallMs, AfterSessionId: after,
	})
}

// markBound puts all subjects of the command on the end list, and ends nobody.
func (c *Change) markBound() error {
	for _, e := range c.bound {
		if err := c.setMark(e, nil); err != nil {
			return err
		}
	}
	c.bound = nil
	return nil
}

// EndBound takes the sessions that the command is to end, in the order of their ids, as many as one command may; the end list gets
// the rest. With marks, it goes on with that list.
func (c *Change) EndBound(marks bool, take Take) error {
	full := false
	for _, e := range c.bound {
		if full {
			if err := c.setMark(e, nil); err != nil {
				return err
			}
			continue
		}
		var after []byte
		var err error
		if after, full, err = c.takeBound(take, e.subject, math.MaxUint64, nil, End{Cause: e.cause}); err != nil {
			return err
		}
		if full {
			// Those that it takes are still bound, so there is a mark; they are gone before anybody looks at it.
			if err = c.setMark(e, after); err != nil {
				return err
			}
		}
	}
	c.bound = nil
	if marks {
		return c.takeMarked(take)
	}
	return nil
}

// takeBound takes the sessions that are bound to a subject, behind one of them, and were created before a revision. It returns the
// last that it looked at, and whether it had to stop.
func (c *Change) takeBound(take Take, s layout.Subject, before uint64, after []byte, how End) ([]byte, bool, error) {
	full, looks := false, 0
	err := c.scanBound(s, after, func(id layout.SessionID) (bool, error) {
		r, err := records.LiveSession(c.Rows, id)
		if err != nil {
			return false, err
		}
		if r == nil {
			return false, fmt.Errorf("%w: session %s is bound and does not live", layout.ErrCorrupt, id)
		}
		if looks++; looks > markLooksMax {
			full = true
			return false, nil
		}
		if r.GetCreateRevision() < before {
			took, err := take(id, how)
			if full = !took; full || err != nil {
				return false, err
			}
		}
		after = id[:]
		return true, nil
	})
	return after, full, err
}

// takeMarked takes sessions that the end list has left over, mark by mark. A mark goes with the last of its sessions.
func (c *Change) takeMarked(take Take) error {
	from := []byte{layout.RowEndMark}
	for {
		var m *records.Mark
		err := c.Rows.Scan(from, []byte{layout.RowEndMark + 1}, func(row, value []byte) (bool, error) {
			var err error
			m, err = records.CutMark(row, value)
			return false, err
		})
		if err != nil || m == nil {
			return err
		}
		row := layout.MarkRow(m.Subject, m.Revision)
		after, full, err := c.takeBound(take, m.Subject, m.Revision, m.Record.GetAfterSessionId(), EndOf(m))
		if err != nil {
			return err
		}
		if full {
			m.Record.AfterSessionId = after
			return c.write(row, m.Record)
		}
		c.Rows.Remove(row)
		c.State.EndMarks--
		from = append(append([]byte{}, row...), 0)
	}
}
