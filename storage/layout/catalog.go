package layout

import "encoding/binary"

// Subject is what a session of the catalog is bound to: a node, or a check of it.
type Subject struct {
	Node  string // in lower case
	Check string // empty: the node itself
}

const (
	subjectNode  byte = 'n'
	subjectCheck byte = 'c'
)

// NodeRow returns the row of kind of a node; its name is in lower case.
func NodeRow(kind byte, node string) []byte { return append([]byte{kind}, node...) }

// NodeIDRow returns the row that leads from the id of a node to its name.
func NodeIDRow(id []byte) []byte { return append([]byte{RowNodeID}, id...) }

// EntryRows returns the beginning of all rows of kind of a node.
func EntryRows(kind byte, node string) []byte {
	return AppendEscaped(append(make([]byte, 0, 8+len(node)), kind), node)
}

// EntryRow returns the row of kind of a service or a check of a node.
func EntryRow(kind byte, node, id string) []byte { return append(EntryRows(kind, node), id...) }

// CutEntryRow undoes EntryRow.
func CutEntryRow(row []byte) (node, id string, ok bool) {
	if len(row) == 0 {
		return "", "", false
	}
	node, rest, ok := CutEscaped(row[1:])
	return node, string(rest), ok
}

// InstanceRows returns the beginning of all rows of the instances of a service.
func InstanceRows(service string) []byte {
	return AppendEscaped([]byte{RowInstance}, service)
}

// InstanceRow returns the row that leads from a service to one of its instances.
func InstanceRow(service, node, id string) []byte {
	return append(AppendEscaped(InstanceRows(service), node), id...)
}

// CutInstanceRow undoes InstanceRow.
func CutInstanceRow(row []byte) (service, node, id string, ok bool) {
	if len(row) == 0 {
		return "", "", "", false
	}
	service, rest, ok := CutEscaped(row[1:])
	if !ok {
		return "", "", "", false
	}
	node, rest, ok = CutEscaped(rest)
	return service, node, string(rest), ok
}

// SubjectRows returns the beginning of all rows of kind of a subject.
func SubjectRows(kind byte, s Subject) []byte {
	b := EntryRows(kind, s.Node)
	if s.Check == "" {
		return append(b, subjectNode)
	}
	return AppendEscaped(append(b, subjectCheck), s.Check)
}

// BindingRow returns the row that says that a session is bound to a subject.
func BindingRow(s Subject, id SessionID) []byte { return append(SubjectRows(RowBinding, s), id[:]...) }

// MarkRow returns the row of a mark of the end list.
func MarkRow(s Subject, revision uint64) []byte {
	return binary.BigEndian.AppendUint64(SubjectRows(RowEndMark, s), revision)
}

// CutSubjectRow undoes SubjectRows; rest is what follows.
func CutSubjectRow(row []byte) (s Subject, rest []byte, ok bool) {
	if len(row) == 0 {
		return Subject{}, nil, false
	}
	s.Node, rest, ok = CutEscaped(row[1:])
	if !ok || len(rest) == 0 {
		return Subject{}, nil, false
	}
	switch rest[0] {
	case subjectNode:
		return s, rest[1:], true
	case subjectCheck:
		s.Check, rest, ok = CutEscaped(rest[1:])
		return s, rest, ok && s.Check != ""
	default:
		return Subject{}, nil, false
	}
}

// QueryID names a prepared query; 16 bytes drawn at random, shown as the text of a UUID.
type QueryID = SessionID

// QueryRow returns the row of a prepared query.
func QueryRow(id QueryID) []byte { return SessionRow(RowQuery, id) }

// QueryNameRow returns the row that leads from the name of a prepared query to its id.
func QueryNameRow(name string) []byte { return append([]byte{RowQueryName}, name...) }

// What a row of a name says besides the id.
const (
	queryByName   byte = 'n'
	queryByPrefix byte = 'p'
)

// QueryNameValue returns the value of the row of a name.
func QueryNameValue(id QueryID, prefix bool) []byte {
	if prefix {
		return append(id[:], queryByPrefix)
	}
	return append(id[:], queryByName)
}

// CutQueryNameValue undoes QueryNameValue.
func CutQueryNameValue(value []byte) (id QueryID, prefix, ok bool) {
	if len(value) != len(id)+1 {
		return QueryID{}, false, false
	}
	kind := value[len(id)]
	return QueryID(value[:len(id)]), kind == queryByPrefix, kind == queryByPrefix || kind == queryByName
}
