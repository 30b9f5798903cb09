package authz

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Viewer is whom an answer is shown to.
type Viewer interface {
	Coverer
	// Acts reports whether the request acts as a session, by its id.
	Acts(session string) bool
	// Reads reports whether the caller may read a session that its rights by name and node do not cover.
	Reads(session string) bool
	// Node returns the node that the request binds a new session to, if there is such a node; empty: the request makes none, or names no node.
	Node() string
}

// Answers says what of each field of each message that a member sends is shown to whom. It does not change, and may be shared.
type Answers struct {
	messages map[protoreflect.MessageDescriptor]answer
}

// answer is what is said about one message.
type answer struct {
	// rows are about its fields.
	rows []shownRow
	// look takes out what may not be shown; nil: everything may be.
	look func(*view, proto.Message)
}

// shownRow says of one field who sees it.
type shownRow struct {
	field string
	// because is why everybody sees it who gets the message; empty: the message's look decides.
	because string
}

// view is one answer while it is looked at.
type view struct {
	answers *Answers
	viewer  Viewer
	// answer is the whole answer.
	answer proto.Message
	// own says that all holds are those of sessions that the stream acts as.
	own bool
	// edit says that what may not be shown is taken out, and not only counted.
	edit   bool
	hidden uint32
	err    error
}

// NewAnswers returns what is said of everything that a member sends to clients.
func NewAnswers() *Answers {
	a := &Answers{messages: map[protoreflect.MessageDescriptor]answer{}}
	for _, add := range []func(*Answers){
		showKeys, showTxn, showLocks, showWaits, showElections, showSessions, showHolds, showWatches, showCatalog, showQueries, showCluster, showAuth,
	} {
		add(a)
	}
	return a
}

// views are used again, because every answer has one.
var views = sync.Pool{New: func() any { return &view{} }}

// Show returns a message as a viewer may see it: the same one, or a copy without what it may not read, whose header counts what was
// left out. An error says that nothing is said of the message, which must not be sent then.
func (a *Answers) Show(m proto.Message, viewer Viewer) (shown proto.Message, hidden uint32, err error) {
	v, ok := views.Get().(*view)
	if !ok {
		v = &view{}
	}
	*v = view{answers: a, viewer: viewer, answer: m}
	shown, hidden, err = v.show(m)
	*v = view{}
	views.Put(v)
	return shown, hidden, err
}

// show returns a message as the viewer may see it.
func (v *view) show(m proto.Message) (shown proto.Message, hidden uint32, err error) {
	v.message(m)
	if v.err != nil || v.hidden == 0 {
		return m, 0, v.err
	}
	shown = proto.Clone(m)
	v.edit, v.hidden = true, 0
	v.message(shown)
	if h := headerOf(shown); h != nil {
		h.Hidden = v.hidden
	}
	return shown, v.hidden, v.err
}

// headerOf returns the header of an answer; nil for one without.
func headerOf(m proto.Message) *tenurev1.ResponseHeader {
	if with, ok := m.(interface {
		GetHeader() *tenurev1.ResponseHeader
	}); ok {
		return with.GetHeader()
	}
	return nil
}

// revision is that of the answer's header: what changed there was changed by the call itself, or is no older. Most answers are not asked.
func (v *view) revision() uint64 { return headerOf(v.answer).GetRevision() }

// message looks at a message, which may be nil.
func (v *view) message(m proto.Message) {
	reflected := m.ProtoReflect()
	if !reflected.IsValid() {
		return
	}
	about, known := v.answers.messages[reflected.Descriptor()]
	if !known {
		v.err = fmt.Errorf("no row says who sees %s", reflected.Descriptor().FullName())
		return
	}
	if about.look != nil {
		about.look(v, m)
	}
}

// tell says what a message shows. look decides about the fields that decided names; everybody sees the others, for the reason that
// their rows give.
func tell[M proto.Message](a *Answers, look func(v *view, m M), rows ...[]shownRow) {
	var m M
	about := answer{}
	for _, some := range rows {
		about.rows = append(about.rows, some...)
	}
	if look != nil {
		about.look = func(v *view, m proto.Message) {
			if typed, ok := m.(M); ok {
				look(v, typed)
			}
		}
	}
	a.messages[m.ProtoReflect().Descriptor()] = about
}

// shown are rows of fields that everybody sees who gets the message, for one reason.
func shown(because string, fields ...string) []shownRow {
	rows := make([]shownRow, 0, len(fields))
	for _, field := range fields {
		rows = append(rows, shownRow{field: field, because: because})
	}
	return rows
}

// decided are rows of fields that the message's look decides about.
func decided(fields ...string) []shownRow { return shown("", fields...) }

// head are the rows of an answer's header.
func head() []shownRow { return shown("which member answered, and how fresh the answer is", "header") }

// nextPage is the row of a page token.
func nextPage() []shownRow {
	return shown("it is good only for the same list, for which the right is asked again", "next_page_token")
}

// hide takes one field or element out that may not be shown, if it is there.
func (v *view) hide(there bool, out func()) {
	if !there {
		return
	}
	v.hidden++
	if v.edit {
		out()
	}
}

// reads reports whether a key may be read.
func (v *view) reads(key string) bool {
	return v.viewer.Covers(Need{Kind: Key, Verb: Read, Match: Exact, Text: key})
}

// locks reports whether a key may be locked.
func (v *view) locks(key string) bool {
	return v.viewer.Covers(Need{Kind: Key, Verb: Lock, Match: Exact, Text: key})
}

// acts reports whether a session is one of the caller's own.
func (v *view) acts(session string) bool { return v.own || v.viewer.Acts(session) }

// all looks at each of several messages.
func all[M proto.Message](v *view, messages []M) {
	for _, m := range messages {
		v.message(m)
	}
}

// keep takes out of several elements those that may not be shown, and counts them.
func keep[T any](v *view, elements *[]T, may func(T) bool) {
	var kept []T
	hidden := uint32(0)
	for _, e := range *elements {
		switch {
		case !may(e):
			hidden++
		case v.edit:
			kept = append(kept, e)
		}
	}
	if v.hidden += hidden; v.edit && hidden > 0 {
		*elements = kept
	}
}
