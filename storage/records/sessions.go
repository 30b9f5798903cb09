package records

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// SessionReader reads the sessions of a Reader's snapshot, and what they own.
type SessionReader struct{ rows table.Snapshot }

// NewSessionReader returns a reader of the sessions of a snapshot.
func NewSessionReader(rows table.Snapshot) SessionReader { return SessionReader{rows} }

// LiveSession returns the record of a live session without the count of its objects, or nil.
func LiveSession(rows table.Reader, id layout.SessionID) (*storev1.SessionRecord, error) {
	value, ok, err := rows.Get(layout.SessionRow(layout.RowSession, id))
	if err != nil || !ok {
		return nil, err
	}
	return DecodeSession(id, value)
}

// DecodeSession reads the record of a session.
func DecodeSession(id layout.SessionID, value []byte) (*storev1.SessionRecord, error) {
	r := &storev1.SessionRecord{}
	if err := layout.Decode(value, r); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return r, nil
}

// Session returns a live session, or false.
func (r *SessionReader) Session(id layout.SessionID) (*storev1.SessionRecord, bool, error) {
	value, ok, err := r.rows.Get(layout.SessionRow(layout.RowSession, id))
	if err != nil || !ok {
		return nil, false, err
	}
	s, err := DecodeSession(id, value)
	if err != nil {
		return nil, false, err
	}
	if s.Objects, err = r.Objects(id); err != nil {
		return nil, false, err
	}
	return s, true, nil
}

// Objects returns how many objects a live session has, itself included; zero for one that does not live.
func (r *SessionReader) Objects(id layout.SessionID) (uint32, error) {
	count, ok, err := r.rows.Get(layout.SessionRow(layout.RowObjects, id))
	if err != nil || !ok {
		return 0, err
	}
	n, _ := binary.Uvarint(count)
	return uint32(n), nil
}

// SessionEntry is one session of a list.
type SessionEntry struct {
	// ID is the session's.
	ID layout.SessionID
	// Record is the session; its count of objects is left out.
	Record *storev1.SessionRecord
}

// Sessions returns live sessions with a higher id than after, at most limit, and whether there are more; zero or less
// is no limit. A zero after starts at the first. Their records do not count objects; Objects does.
func (r *SessionReader) Sessions(after layout.SessionID, limit int) ([]SessionEntry, bool, error) {
	from := []byte{layout.RowSession}
	if after != (layout.SessionID{}) {
		from = append(layout.SessionRow(layout.RowSession, after), 0)
	}
	var page []SessionEntry
	more := false
	err := r.rows.Scan(from, []byte{layout.RowSession + 1}, func(row, value []byte) (bool, error) {
		if limit > 0 && len(page) >= limit {
			more = true
			return false, nil
		}
		id, ok := layout.CutSessionRow(row)
		if !ok {
			return false, fmt.Errorf("%w: session row", layout.ErrCorrupt)
		}
		s := &storev1.SessionRecord{}
		if err := layout.Decode(value, s); err != nil {
			return false, fmt.Errorf("session %s: %w", id, err)
		}
		page = append(page, SessionEntry{ID: id, Record: s})
		return true, nil
	})
	return page, more, err
}

// SessionAddresses calls visit with the network address that each live session was opened from, in the order of their ids.
func (r *SessionReader) SessionAddresses(visit func(address string)) error {
	return r.rows.Scan([]byte{layout.RowSession}, []byte{layout.RowSession + 1}, func(row, value []byte) (bool, error) {
		address, err := layout.BytesField(value, sessionAddressField)
		if err != nil {
			return false, fmt.Errorf("session row %x: %w", row, err)
		}
		visit(string(address))
		return true, nil
	})
}

// sessionAddressField is the number of peer_address in SessionRecord.
const sessionAddressField protowire.Number = 9

// EndedSession returns how and why a session ended, or false if it lives, never was, or was forgotten.
func (r *SessionReader) EndedSession(id layout.SessionID) (*storev1.EndedSessionRecord, bool, error) {
	value, ok, err := r.rows.Get(layout.SessionRow(layout.RowEndedIndex, id))
	if err != nil || !ok {
		return nil, false, err
	}
	number, err := layout.CutUint64s(value, 1)
	if err != nil {
		return nil, false, err
	}
	value, ok, err = r.rows.Get(layout.NumberRow(layout.RowEnded, number[0]))
	if err != nil || !ok {
		return nil, false, err
	}
	e := &storev1.EndedSessionRecord{}
	if err := layout.Decode(value, e); err != nil {
		return nil, false, fmt.Errorf("ended session %s: %w", id, err)
	}
	return e, true, nil
}

// SessionObjects is what a live session has.
type SessionObjects struct {
	// Holds are its valid holds, by key and owner.
	Holds []*storev1.HoldState
	// Places are where it queues, by key and owner.
	Places []WaiterEntry
	// EphemeralKeys are the keys it owns, in order.
	EphemeralKeys []string
	// Queries are the prepared queries it owns, in order.
	Queries []layout.QueryID
}

// SessionObjects returns all that a session has, by its own rows; empty for one that does not live.
func (r *SessionReader) SessionObjects(id layout.SessionID) (SessionObjects, error) {
	var out SessionObjects
	from := layout.ObjectRows(id)
	err := r.rows.Scan(from, layout.RowsEnd(from), func(row, value []byte) (bool, error) {
		o, ok := layout.CutObjectRow(row)
		if !ok {
			return false, fmt.Errorf("%w: object of session %s", layout.ErrCorrupt, id)
		}
		if o.Kind == layout.ObjectEphemeral {
			out.EphemeralKeys = append(out.EphemeralKeys, o.Name.Key)
			return true, nil
		}
		if o.Kind == layout.ObjectQuery {
			out.Queries = append(out.Queries, o.Query)
			return true, nil
		}
		number, err := layout.CutUint64s(value, 1)
		if err != nil {
			return false, err
		}
		return true, r.addObject(&out, o, number[0])
	})
	return out, err
}

func (r *SessionReader) addObject(out *SessionObjects, o layout.Object, number uint64) error {
	if o.Kind == layout.ObjectPlace {
		w, err := viewWaiter(r.rows, o.Name, number)
		if err == nil && w == nil {
			err = fmt.Errorf("%w: object without row on %q", layout.ErrCorrupt, o.Name.Key)
		}
		out.Places = append(out.Places, WaiterEntry{Key: o.Name.Key, Place: number, Record: w})
		return err
	}
	found, err := r.rows.View(layout.NumberedRow(layout.RowHold, o.Name, number), func(value []byte) error {
		h := &storev1.HoldRecord{}
		err := layout.Decode(value, h)
		out.Holds = append(out.Holds, HoldState(o.Name.Key, h))
		return err
	})
	if err == nil && !found {
		return fmt.Errorf("%w: object without row on %q", layout.ErrCorrupt, o.Name.Key)
	}
	return err
}
