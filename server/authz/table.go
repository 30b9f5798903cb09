package authz

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NeedsMax is how many needs a message may have: twice what the largest has that a service takes, which is one with 1 024 renewals. A need is a hundred times
// as large as what brings it may be on the wire, and a message is looked at before its service bounds anything.
const NeedsMax = 2048

// ErrTooMany says that a message needs more than NeedsMax.
var ErrTooMany = errors.New("the message names too much")

// Table says what messages need. It does not change, and may be shared.
type Table struct {
	messages map[protoreflect.MessageDescriptor]request
}

// request is what one message needs.
type request struct {
	// rows are about its fields.
	rows []row
	// add adds what the rows say.
	add func(*visit, proto.Message)
	// of makes the same of other rows.
	of func([]row) request
}

// row says what one field of a message needs, or why it needs nothing.
type row struct {
	// field is the field's name; empty: the row is about the message as a whole.
	field string
	// none is why the field needs nothing; empty: add says what it needs.
	none string
	// add adds what the field of a message needs: a func(*visit, M), where M is the message's type or proto.Message.
	add any
}

// visit gathers the needs of a message and of those in it.
type visit struct {
	table *Table
	needs []Need
	err   error
	// node is the node that entries of the catalog without one belong to.
	node string
	// whole says that a list in the message shows all that it selects, whatever it says.
	whole bool
}

// NewTable returns the table of everything that a client may send to a member.
func NewTable() *Table {
	t := &Table{messages: map[protoreflect.MessageDescriptor]request{}}
	for _, add := range []func(*Table){
		addKeys, addOptions, addLocks, addElections, addSessions, addWatches, addCatalog, addCatalogReads, addQueries, addCluster, addAuth, addPool,
	} {
		add(t)
	}
	return t
}

// Needs returns what a message needs. An error says that the table does not have it, and that it must be denied, or that it needs too much: then the
// first NeedsMax are returned, too.
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
	if v.err != nil {
		return
	}
	reflected := m.ProtoReflect()
	if !reflected.IsValid() {
		return
	}
	about, known := v.table.messages[reflected.Descriptor()]
	if !known {
		v.err = fmt.Errorf("no row says what %s needs", reflected.Descriptor().FullName())
		return
	}
	about.add(v, m)
}

// set sets the rows of a message.
func set[M proto.Message](t *Table, rows ...row) {
	var m M
	t.messages[m.ProtoReflect().Descriptor()] = requestOf[M](rows)
}

// requestOf makes one function of the rows of a message: every call has one or more messages, whose type is found once.
func requestOf[M proto.Message](rows []row) request {
	var adds []func(*visit, M)
	for _, r := range rows {
		switch add := r.add.(type) {
		case nil:
		case func(*visit, M):
			adds = append(adds, add)
		case func(*visit, proto.Message):
			adds = append(adds, func(v *visit, m M) { add(v, m) })
		default:
			panic(fmt.Sprintf("the row of %s is about another message", r.field))
		}
	}
	add := func(v *visit, m proto.Message) {
		typed, ok := m.(M)
		if !ok {
			v.err = fmt.Errorf("a %T is no %T", m, typed)
			return
		}
		for _, add := range adds {
			add(v, typed)
		}
	}
	return request{rows: rows, add: add, of: requestOf[M]}
}

// needs is the row of a field; an empty field stands for the message as a whole.
func needs[M proto.Message](field string, add func(v *visit, m M)) row {
	return row{field: field, add: add}
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
	need := Need{Kind: kind, Verb: verb}
	return row{add: func(v *visit, _ proto.Message) { v.add(need) }}
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

// selective is a message that may ask for what its caller sees, and no more.
type selective interface{ GetVisibleOnly() bool }

// visible is the row of a message's wish to be shown what its caller sees. Who has no rule at all is refused then as otherwise.
func visible[M interface {
	proto.Message
	selective
}]() row {
	return needs("visible_only", func(v *visit, m M) {
		if inPart(v, m) {
			v.add(Need{Kind: Any, Verb: Read})
		}
	})
}

// inPart reports whether the needs of a message may be met in part.
func inPart(v *visit, m selective) bool { return m.GetVisibleOnly() && !v.whole }

// of adds a need of a message that selects names. It may be met in part, unless it is one name.
func (v *visit) of(m selective, n Need) {
	n.Part = n.Match != Exact && inPart(v, m)
	v.add(n)
}

// page are the rows of a page of a list.
func page() []row {
	return nones("the page of a list shows nothing but the list, for which the token is checked", "page_size", "page_token")
}

// add adds a need, if there is room for it.
func (v *visit) add(n Need) {
	if len(v.needs) >= NeedsMax {
		v.err = ErrTooMany
		return
	}
	v.needs = append(v.needs, n)
}

// key adds a need on one key.
func (v *visit) key(key string, verb Verb) {
	v.add(Need{Kind: Key, Verb: verb, Match: Exact, Text: key})
}

// keys adds a need on all keys with a prefix.
func (v *visit) keys(prefix string, verb Verb) { v.add(keysNeed(prefix, verb)) }

// keysNeed returns a need on all keys with a prefix.
func keysNeed(prefix string, verb Verb) Need {
	return Need{Kind: Key, Verb: verb, Match: Prefix, Text: prefix}
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
