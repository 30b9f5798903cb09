package queries

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/catalog"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// Command is what a Change needs of the command that it is a part of.
type Command interface {
	// Emit adds an event to those of the command.
	Emit(e *storev1.Event)
	// NeedSpace refuses what makes the state grow, once the store is full.
	NeedSpace() error
	// ActsAs returns why the command must not act as a session, or nil.
	ActsAs(ref *storev1.SessionRef) error
	// AddObject counts one more object of a live session, and refuses one too many.
	AddObject(id layout.SessionID) error
	// DropObject counts one less; one of a session that has ended is not counted any more.
	DropObject(id layout.SessionID) error
}

// Change is a command under way, as far as it is about prepared queries: its own, or those of a session that it ends.
type Change struct {
	Rows     *table.Overlay
	State    *layout.Applied
	Command  Command
	Revision uint64 // that the command will have if it emits events
}

// malformed returns the failure of a query that is out of bounds.
func malformed(field string) error {
	return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REGISTRATION_MALFORMED, field)
}

// queryID returns the id that b holds, or why it is none.
func queryID(b []byte) (layout.QueryID, error) {
	id, err := layout.SessionIDFromBytes(b)
	if err != nil {
		return layout.QueryID{}, malformed("query_id")
	}
	return id, nil
}

// isByPrefix reports whether names that only begin with the query's run it.
func isByPrefix(q *storev1.Query) bool {
	return q.GetMatch() == storev1.QueryMatch_QUERY_MATCH_PREFIX
}

// isNamed reports whether a row leads from the query's name to its id.
func isNamed(q *storev1.Query) bool { return q.GetName() != "" || isByPrefix(q) }

// sessionOf returns the session of a query, and whether it has one.
func sessionOf(q *storev1.Query) (layout.SessionID, bool) {
	id, err := layout.SessionIDFromBytes(q.GetSessionId())
	return id, err == nil
}

// Put creates a query or replaces one.
func (c *Change) Put(p *storev1.PutQuery, out *storev1.QueryResult) error {
	id, err := queryID(p.GetQueryId())
	if err != nil {
		return err
	}
	if err = c.check(p); err != nil {
		return err
	}
	before, err := records.ReadQuery(c.Rows, id)
	switch {
	case err != nil:
		return err
	case p.GetCreate() && before != nil:
		return malformed("query_id")
	case !p.GetCreate() && before == nil:
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_QUERY_NOT_FOUND,
			storev1.FailureDetail_FAILURE_DETAIL_QUERY_MISSING, id.String())
	case p.IfRevision != nil && p.GetIfRevision() != before.GetModRevision():
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED,
			storev1.FailureDetail_FAILURE_DETAIL_ENTRY_AT_OTHER_REVISION, id.String(), before.GetModRevision(), p.GetIfRevision())
		f.Failure.Actual = before.GetModRevision()
		return f
	}
	out.QueryId = id[:]
	if proto.Equal(before.GetQuery(), p.GetQuery()) {
		out.ModRevision = before.GetModRevision()
		return nil
	}
	if err = c.Command.NeedSpace(); err != nil {
		return err
	}
	if before == nil {
		if c.State.Queries >= catalog.QueriesMax {
			return rule.Exceeded("queries_max", catalog.QueriesMax)
		}
		c.State.Queries++
	}
	if err = c.rename(id, before.GetQuery(), p.GetQuery()); err != nil {
		return err
	}
	if err = c.rebind(id, before.GetQuery(), p.GetQuery()); err != nil {
		return err
	}
	out.ModRevision = c.Revision
	return c.save(id, before, p.GetQuery())
}

// check refuses a query that is out of bounds, and a session that the command must not act as.
func (c *Change) check(p *storev1.PutQuery) error {
	if err := catalog.CheckQuery(p.GetQuery()); err != nil {
		if m, ok := errors.AsType[*catalog.MalformedError](err); ok {
			return malformed(m.Field)
		}
		return err
	}
	if string(p.GetQuery().GetSessionId()) != string(p.GetSession().GetSessionId()) || p.GetCreate() && p.IfRevision != nil {
		return malformed("session_id")
	}
	if p.GetSession() == nil {
		return nil
	}
	return c.Command.ActsAs(p.GetSession())
}

// save writes a query and says so.
func (c *Change) save(id layout.QueryID, before *storev1.QueryRecord, q *storev1.Query) error {
	r := &storev1.QueryRecord{
		FormatVersion: layout.RecordFormat, Query: q, CreateRevision: c.Revision, ModRevision: c.Revision,
	}
	if before != nil {
		r.CreateRevision = before.GetCreateRevision()
	}
	value, err := layout.Encode(r)
	if err != nil {
		return err
	}
	c.Rows.Set(layout.QueryRow(id), value)
	put := &storev1.QueryPut{QueryId: id[:], Query: proto.CloneOf(q), CreateRevision: r.GetCreateRevision()}
	if name := before.GetQuery().GetName(); name != q.GetName() {
		put.PreviousName = name
	}
	c.Command.Emit(&storev1.Event{Kind: &storev1.Event_QueryPut{QueryPut: put}})
	return nil
}

// rename gives a query its name, which no other may have. before is nil for a new one.
func (c *Change) rename(id layout.QueryID, before, q *storev1.Query) error {
	if before != nil && isNamed(before) && (!isNamed(q) || before.GetName() != q.GetName()) {
		c.Rows.Remove(layout.QueryNameRow(before.GetName()))
	}
	if !isNamed(q) {
		return nil
	}
	value, found, err := c.Rows.Get(layout.QueryNameRow(q.GetName()))
	if err != nil {
		return err
	}
	if found {
		other, _, ok := layout.CutQueryNameValue(value)
		if !ok {
			return fmt.Errorf("%w: name of a query", layout.ErrCorrupt)
		}
		if other != id {
			return rule.Broken(storev1.FailureReason_FAILURE_REASON_QUERY_NAME_TAKEN,
				storev1.FailureDetail_FAILURE_DETAIL_QUERY_NAME_IN_USE, other.String(), q.GetName())
		}
	}
	c.Rows.Set(layout.QueryNameRow(q.GetName()), layout.QueryNameValue(id, isByPrefix(q)))
	return nil
}

// rebind makes a query an object of its session, and of no other.
func (c *Change) rebind(id layout.QueryID, before, q *storev1.Query) error {
	if string(before.GetSessionId()) == string(q.GetSessionId()) {
		return nil
	}
	if err := c.unbind(id, before); err != nil {
		return err
	}
	session, bound := sessionOf(q)
	if !bound {
		return nil
	}
	if err := c.Command.AddObject(session); err != nil {
		return err
	}
	c.Rows.Set(layout.QueryObjectRow(session, id), nil)
	return nil
}

// unbind takes a query from its session.
func (c *Change) unbind(id layout.QueryID, q *storev1.Query) error {
	session, bound := sessionOf(q)
	if !bound {
		return nil
	}
	c.Rows.Remove(layout.QueryObjectRow(session, id))
	return c.Command.DropObject(session)
}

// Delete deletes a query, if it is there.
func (c *Change) Delete(d *storev1.DeleteQuery, out *storev1.QueryResult) error {
	id, err := queryID(d.GetQueryId())
	if err != nil {
		return err
	}
	out.QueryId = id[:]
	out.Deleted, err = c.remove(id, nil)
	return err
}

// DeleteWith deletes a query of a session that ends.
func (c *Change) DeleteWith(id layout.QueryID, session layout.SessionID) error {
	found, err := c.remove(id, session[:])
	if err == nil && !found {
		err = fmt.Errorf("%w: query of session %s", layout.ErrCorrupt, session)
	}
	return err
}

// remove deletes a query, and reports whether it was there.
func (c *Change) remove(id layout.QueryID, ended []byte) (bool, error) {
	r, err := records.ReadQuery(c.Rows, id)
	if err != nil || r == nil {
		return false, err
	}
	q := r.GetQuery()
	c.Rows.Remove(layout.QueryRow(id))
	if isNamed(q) {
		c.Rows.Remove(layout.QueryNameRow(q.GetName()))
	}
	c.State.Queries--
	c.Command.Emit(&storev1.Event{Kind: &storev1.Event_QueryDeleted{QueryDeleted: &storev1.QueryDeleted{
		QueryId: id[:], Name: q.GetName(), EndedSessionId: ended,
	}}})
	return true, c.unbind(id, q)
}
