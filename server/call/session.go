package call

import (
	"context"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
)

// SessionRef returns the reference to a session that the caller may act as; nil if none is named.
func (c *Caller) SessionRef(
	ctx context.Context, field, text string, o *tenurev1.CallOptions, op Operator,
) (*storev1.SessionRef, error) {
	if text == "" {
		return nil, nil
	}
	id, err := ParseSession(field, text)
	if err != nil {
		return nil, err
	}
	if op.Force {
		return &storev1.SessionRef{SessionId: id[:]}, nil
	}
	shown := Hashed(o.GetSessionSecret())
	if !c.Secrets.shown(id, shown, o) {
		if err := c.ActAs(ctx, id, shown, o); err != nil {
			return nil, err
		}
	}
	return &storev1.SessionRef{SessionId: id[:], Epoch: o.GetEpoch()}, nil
}

// SessionAt returns a session, live or ended, or why there is none.
func (c *Caller) SessionAt(s *Snapshot, id storage.SessionID) (session *tenurev1.Session, live bool, err error) {
	record, live, err := s.Session(id)
	if err != nil {
		return nil, false, err
	}
	if live {
		return c.ShownSession(s, id, record)
	}
	ended, known, err := s.EndedSession(id)
	if err != nil {
		return nil, false, err
	}
	if !known {
		return nil, false, NoSession(s, id)
	}
	return EndedToProto(id, ended), false, nil
}

// ShownSession returns a session that is not recorded as ended. One that the end list has ended is shown as ended.
func (c *Caller) ShownSession(
	s *Snapshot, id storage.SessionID, record *storev1.SessionRecord,
) (session *tenurev1.Session, live bool, err error) {
	mark, marked, err := s.Marked(record)
	if err != nil {
		return nil, false, err
	}
	if marked {
		session = SessionToProto(id, record)
		session.End = &tenurev1.SessionEnd{
			Cause: tenurev1.SessionEndCause(mark.Cause), Revision: mark.Revision, Time: TimeToProto(mark.TimeMs),
		}
		return session, false, nil
	}
	return c.WithTimer(id, SessionToProto(id, record)), true, nil
}
