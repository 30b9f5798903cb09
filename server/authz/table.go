package authz

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Table says what messages need. It does not change, and may be shared.
type Table struct {
	// messages are the rows of each message, those that say what is needed first.
	messages map[protoreflect.MessageDescriptor][]row
}

// row says what one field of a message needs, or why it needs nothing.
type row struct {
	// field is the field's name; empty: the row is about the message as a whole.
	field string
	// none is why the field needs nothing; empty: add says what it needs.
	none string
	// add adds what the field of a message needs.
	add func(*visit, proto.Message)
}

// visit gathers the needs of a message and of those in it.
type visit struct {
	table *Table
	needs []Need
	err   error
	// node is the node that entries of the catalog without one belong to.
	node string
}

// NewTable returns the table of everything that a client may send to a member.
func NewTable() *Table {
	t := &Table{messages: map[protoreflect.MessageDescriptor][]row{}}
	for _, add := range []func(*Table){
		addKeys, addOptions, addLocks, addElections, addSessions, addWatches, addCatalog, addCatalogReads, addQueries, addCluster, addAuth, addPool,
	} {
		add(t)
	}
	return t
}

// Needs returns what a message needs. An error says that the table does not have it: it must be denied.
func (t *Table) Needs(m proto.Message) ([]Need, error) { return t.Append(nil, m) }

// visits are used again, because every call has one.
var visits = sync.Pool{New: func() any { return &visit{} }}

// Append adds what a message needs to needs.
func (t *Table) Append(needs []Need, m proto.Message) ([]Need, error) {
	v, ok := visits.Get().(*visit)
	if !ok {
		v = &visit{}
	}
	v.table, v.needs = t, needs
	v.message(m)
	needs, err := v.needs, v.err
	*v = visit{}
	visits.Put(v)
	return needs, err
}

// part looks at a message in another one. Most are not there, and cost nothing.
func part[M interface {
	comparable
	proto.Message
}](of interface{ message(proto.Message) }, m M) {
	var none M
	if m != none {
		of.message(m)
	}
}

// message adds the needs of a message, which may be nil.
func (v *visit) message(m proto.Message) {
	reflected := m.ProtoReflect()
	if !reflected.IsValid() {
		return
	}
	rows, known := v.table.messages[reflected.Descriptor()]
	if !known {
		v.err = fmt.Errorf("no row says what %s needs", reflected.Descriptor().FullName())
		return
	}
	for i := range rows {
		if rows[i].add == nil {
			break // Nor do the others need anything.
		}
		rows[i].add(v, m)
	}
}

// set sets the rows of a message.
func set[M proto.Message](t *Table, rows ...row) {
	var m M
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.none, b.none) }) // Rows with a need give no reason for none.
	t.messages[m.ProtoReflect().Descriptor()] = rows
}

// needs is the row of a field; an empty field stands for the message as a whole.
func needs[M proto.Message](field string, add func(v *visit, m M)) row {
	return row{field: field, add: func(v *visit, m proto.Message) {
		if typed, ok := m.(M); ok {
			add(v, typed)
		}
	}}
}

// none is the row of a field that needs nothing.
func none(field, because string) row { return row{field: field, none: because} }

// nones are rows of fields that need nothing, for one reason.
func nones(because string, fields ...string) []row {
	rows := make([]row, 0, len(fields))
	for _, field := range fields {
		rows = append(rows, none(field, because))
	}
	return rows
}

// whole is the row of a message that always needs the same.
func whole(kind Kind, verb Verb) row {
	return row{add: func(v *visit, _ proto.Message) { v.add(Need{Kind: kind, Verb: verb}) }}
}

// with joins rows.
func with(rows []row, more ...row) []row { return append(more, rows...) }

// options is the row of a message's options, whose own fields say what they need.
func options() row {
	return row{field: "options", add: func(v *visit, m proto.Message) {
		if has, ok := m.(interface{ GetOptions() *tenurev1.CallOptions }); ok {
			part(v, has.GetOptions())
		}
	}}
}

// read is the row of a read's options.
func read() row { return none("read", "how fresh a read is shows nothing more") }

// page are the rows of a page of a list.
func page() []row {
	return nones("the page of a list shows nothing but the list, for which the token is checked", "page_size", "page_token")
}

// add adds a need.
func (v *visit) add(n Need) { v.needs = append(v.needs, n) }

// key adds a need on one key.
func (v *visit) key(key string, verb Verb) {
	v.add(Need{Kind: Key, Verb: verb, Match: Exact, Text: key})
}

// keys adds a need on all keys with a prefix.
func (v *visit) keys(prefix string, verb Verb) {
	v.add(Need{Kind: Key, Verb: verb, Match: Prefix, Text: prefix})
}

// session adds a need on the session of an id, if there is one.
func (v *visit) session(id string, verb Verb) {
	if id != "" {
		v.add(Need{Kind: Session, Verb: verb, By: BySession, ID: id})
	}
}

// actAs adds what is needed to act as a session, if one is named. Its secret is asked elsewhere.
func (v *visit) actAs(id string) { v.session(id, Write) }

// deletes adds that a key may be deleted, if the session that takes its lock deletes the keys of its locks.
func (v *visit) deletes(key, session string) {
	if session != "" {
		v.add(Need{Kind: Key, Verb: Write, Match: Exact, Text: key, By: BySession, ID: session})
	}
}
