package layout

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// The first byte of every row says what the row is. These are on disk: they never change and are never reused.
const (
	RowApplied     byte = 'a' // applied record
	RowBlocked     byte = 'b' // namespace, key; locks whose first waiter waits only for a higher limit of holders
	RowObjects     byte = 'c' // session → number of its objects
	RowDelay       byte = 'd' // namespace, key, lock_index → token, lock-delay in milliseconds, from version 2 on record; delayed holds
	RowEnded       byte = 'e' // number → ended session
	RowEndedIndex  byte = 'x' // session → number of its ended record
	RowFreeze      byte = 'f' // freeze of grants after a restore
	RowUngranted   byte = 'g' // namespace, key; locks left for GrantWaiters
	RowHold        byte = 'h' // namespace, key, lock_index → record of a valid hold, or of one that was delayed under version 1
	RowIdempotency byte = 'i' // idempotency key → number and remembered request
	RowKeyed       byte = 'j' // number → idempotency key, oldest first
	RowKey         byte = 'k' // namespace, key → value
	RowLock        byte = 'l' // namespace, key → lock head
	RowLimits      byte = 'm' // replicated limits
	RowMember      byte = 'n' // member id → member
	RowObject      byte = 'o' // session, kind, namespace, key (, owner) → object of a session
	RowQueuePart   byte = 'p' // namespace, key, number → waiters of a part of a queue, the first place of it, and from version 2 on which of it wait
	RowPlace       byte = 'q' // namespace, key, place → waiter
	RowRequest     byte = 'r' // session, epoch, sequence → remembered request
	RowSession     byte = 's' // session → live session
	RowRemoved     byte = 'u' // member id → member that was removed
	RowTombstone   byte = 't' // revision, session, epoch; windows of ended sessions, oldest first
	RowHistory     byte = 'v' // revision, index → event
	RowWait        byte = 'w' // namespace, key, place → longest wait in milliseconds; waits with a time-out
	RowSweep       byte = 'y' // last blocked lock that was looked at since the limit of holders was raised
	RowWindow      byte = 'z' // session, epoch → head of a request window
	RowNode        byte = 'K' // name of a node in lower case → node
	RowNodeID      byte = 'L' // id of a node → its name in lower case
	RowService     byte = 'M' // node, id → instance of a service
	RowCheck       byte = 'N' // node, id → check
	RowInstance    byte = 'O' // name of a service, node, id; its instances
	RowBinding     byte = 'P' // node (, check), session; what sessions are bound to
	RowNodeTally   byte = 'Q' // name of a node in lower case → what it counts
	RowEndMark     byte = 'S' // node (, check), revision → mark of the end list
	RowQuery       byte = 'R' // id → prepared query
	RowQueryName   byte = 'T' // name of a prepared query → its id, and whether it matches longer names
	RowAuth        byte = 'A' // first token, and counts of what follows
	RowPolicy      byte = 'B' // name → policy
	RowTokenHash   byte = 'C' // hash of a token's text → accessor
	RowToken       byte = 'D' // accessor → token
	RowAuthBinding byte = 'E' // name → binding of policies to callers
	RowProvider    byte = 'F' // name → provider of JSON Web Tokens
	RowJoinToken   byte = 'W' // name of a member → join token
	RowUnmoved     byte = 'X' // namespace, key → change of a key that is to be moved by GrantWaiters
	RowKeyBrief    byte = 'Y' // namespace, key → sizes of a key with a large value, and its record without the value
	RowPlaceBrief  byte = 'Z' // namespace, key, place → the same of a waiter with a large value
)

// Kinds of objects that a session owns.
const (
	ObjectEphemeral byte = 'e' // an ephemeral key
	ObjectHold      byte = 'h' // a valid hold; the row's value is its lock_index
	ObjectPlace     byte = 'p' // a place in a queue; the row's value is its number
	ObjectQuery     byte = 'q' // a prepared query
)

// A key inside a row that goes on behind it is escaped and terminated, so that rows sort as keys do and none is the
// beginning of another.
const (
	escapeByte     byte = 0x00
	escapedZero    byte = 0xff
	escapeTerminal byte = 0x01
)

// Name is a key within its namespace.
type Name struct {
	NS  uint64
	Key string
}

// appendNamespace appends ns so that rows sort by it: the number of its bytes, then the bytes.
func appendNamespace(b []byte, ns uint64) []byte {
	n := 0
	for v := ns; v != 0; v >>= 8 {
		n++
	}
	b = append(b, byte(n))
	for i := n - 1; i >= 0; i-- {
		b = append(b, byte(ns>>(8*i)))
	}
	return b
}

// cutNamespace undoes appendNamespace.
func cutNamespace(b []byte) (ns uint64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > 8 || len(b) < 1+int(b[0]) {
		return 0, nil, false
	}
	n := int(b[0])
	for _, c := range b[1 : 1+n] {
		ns = ns<<8 | uint64(c)
	}
	return ns, b[1+n:], true
}

// AppendEscaped appends s so that more may follow.
func AppendEscaped(b []byte, s string) []byte {
	if strings.IndexByte(s, escapeByte) < 0 {
		return append(append(b, s...), escapeByte, escapeTerminal)
	}
	for i := range len(s) {
		b = append(b, s[i])
		if s[i] == escapeByte {
			b = append(b, escapedZero)
		}
	}
	return append(b, escapeByte, escapeTerminal)
}

// CutEscaped undoes AppendEscaped.
func CutEscaped(b []byte) (s string, rest []byte, ok bool) {
	if i := bytes.IndexByte(b, escapeByte); i >= 0 && i+1 < len(b) && b[i+1] == escapeTerminal {
		return string(b[:i]), b[i+2:], true
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != escapeByte {
			out = append(out, b[i])
			continue
		}
		if i+1 == len(b) {
			return "", nil, false
		}
		switch b[i+1] {
		case escapedZero:
			out = append(out, escapeByte)
			i++
		case escapeTerminal:
			return string(out), b[i+2:], true
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

// NameRow returns the row of kind for n with nothing behind the key: the key stands there as it is.
func NameRow(kind byte, n Name) []byte {
	b := make([]byte, 0, 11+len(n.Key))
	b = append(b, kind)
	b = appendNamespace(b, n.NS)
	return append(b, n.Key...)
}

// NameRows returns the beginning of all rows of kind for n with more behind the key.
func NameRows(kind byte, n Name) []byte {
	b := make([]byte, 0, 24+len(n.Key)) // A number may follow.
	b = append(b, kind)
	b = appendNamespace(b, n.NS)
	return AppendEscaped(b, n.Key)
}

// NumberedRow returns the row of kind for n and a number behind the key.
func NumberedRow(kind byte, n Name, number uint64) []byte {
	return binary.BigEndian.AppendUint64(NameRows(kind, n), number)
}

// CutNameRow undoes NameRow.
func CutNameRow(row []byte) (Name, bool) {
	if len(row) == 0 {
		return Name{}, false
	}
	ns, rest, ok := cutNamespace(row[1:])
	return Name{NS: ns, Key: string(rest)}, ok
}

// CutNumberedRow undoes NumberedRow.
func CutNumberedRow(row []byte) (n Name, number uint64, ok bool) {
	if len(row) == 0 {
		return Name{}, 0, false
	}
	ns, rest, ok := cutNamespace(row[1:])
	if !ok {
		return Name{}, 0, false
	}
	key, rest, ok := CutEscaped(rest)
	if !ok || len(rest) != 8 {
		return Name{}, 0, false
	}
	return Name{NS: ns, Key: key}, binary.BigEndian.Uint64(rest), true
}

// SessionRow returns the row of kind for a session.
func SessionRow(kind byte, id SessionID) []byte {
	return appendSession(make([]byte, 0, 1+len(id)), kind, id)
}

func appendSession(b []byte, kind byte, id SessionID) []byte {
	return append(append(b, kind), id[:]...)
}

// CutSessionRow undoes SessionRow.
func CutSessionRow(row []byte) (SessionID, bool) {
	if len(row) != 1+len(SessionID{}) {
		return SessionID{}, false
	}
	return SessionID(row[1:]), true
}

// ObjectRows returns the beginning of all rows of a session's objects.
func ObjectRows(id SessionID) []byte {
	return SessionRow(RowObject, id)
}

// EphemeralRow returns the row that says that a session owns a key.
func EphemeralRow(id SessionID, n Name) []byte {
	b := make([]byte, 0, 32+len(n.Key))
	b = append(b, RowObject)
	b = append(b, id[:]...)
	b = append(b, ObjectEphemeral)
	b = appendNamespace(b, n.NS)
	return append(b, n.Key...)
}

// OwnerRow returns the row that says what a session's owner has of a lock: a hold or a place.
func OwnerRow(id SessionID, kind byte, n Name, owner string) []byte {
	b := make([]byte, 0, 48+len(n.Key)+len(owner))
	b = append(b, RowObject)
	b = append(b, id[:]...)
	b = append(b, kind)
	b = appendNamespace(b, n.NS)
	b = AppendEscaped(b, n.Key)
	return append(b, owner...)
}

// QueryObjectRow returns the row that says that a session owns a prepared query.
func QueryObjectRow(id SessionID, query QueryID) []byte {
	return append(append(ObjectRows(id), ObjectQuery), query[:]...)
}

// Object is one row of a session's objects.
type Object struct {
	Kind  byte
	Name  Name
	Owner string
	Query QueryID // only of a prepared query
}

// Listed is an object with what its row says of it.
type Listed struct {
	Object
	Number uint64 // of the hold or of the place
}

// CutObjectRow undoes EphemeralRow, OwnerRow and QueryObjectRow.
func CutObjectRow(row []byte) (Object, bool) {
	const head = 2 + len(SessionID{})
	if len(row) < head {
		return Object{}, false
	}
	o := Object{Kind: row[head-1]}
	if o.Kind == ObjectQuery {
		if len(row) != head+len(o.Query) {
			return Object{}, false
		}
		o.Query = QueryID(row[head:])
		return o, true
	}
	ns, rest, ok := cutNamespace(row[head:])
	if !ok {
		return Object{}, false
	}
	o.Name.NS = ns
	switch o.Kind {
	case ObjectEphemeral:
		o.Name.Key = string(rest)
		return o, true
	case ObjectHold, ObjectPlace:
		o.Name.Key, rest, ok = CutEscaped(rest)
		o.Owner = string(rest)
		return o, ok
	default:
		return Object{}, false
	}
}

// NumberRow returns the row of kind for a number.
func NumberRow(kind byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 9), kind), number)
}

// HistoryRow returns the row of an event.
func HistoryRow(revision uint64, index uint32) []byte {
	b := make([]byte, 0, 13)
	b = append(b, RowHistory)
	b = binary.BigEndian.AppendUint64(b, revision)
	return binary.BigEndian.AppendUint32(b, index)
}

// CutHistoryRow undoes HistoryRow.
func CutHistoryRow(row []byte) (revision uint64, index uint32, ok bool) {
	if len(row) != 13 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(row[1:]), binary.BigEndian.Uint32(row[9:]), true
}

// WindowRow returns the row that heads a session's request window of an epoch.
func WindowRow(id SessionID, epoch uint64) []byte {
	return binary.BigEndian.AppendUint64(appendSession(make([]byte, 0, 1+len(id)+8), RowWindow, id), epoch)
}

// RequestRow returns the row of a remembered request.
func RequestRow(id SessionID, epoch, sequence uint64) []byte {
	b := binary.BigEndian.AppendUint64(appendSession(make([]byte, 0, 1+len(id)+16), RowRequest, id), epoch)
	return binary.BigEndian.AppendUint64(b, sequence)
}

// TombstoneRow returns the row that lists a window whose session ended or was taken over.
func TombstoneRow(revision uint64, id SessionID, epoch uint64) []byte {
	b := append(NumberRow(RowTombstone, revision), id[:]...)
	return binary.BigEndian.AppendUint64(b, epoch)
}

// CutTombstoneRow undoes TombstoneRow, but for the revision.
func CutTombstoneRow(row []byte) (id SessionID, epoch uint64, ok bool) {
	const head = 1 + 8
	if len(row) != head+len(id)+8 {
		return SessionID{}, 0, false
	}
	return SessionID(row[head : head+len(id)]), binary.BigEndian.Uint64(row[head+len(id):]), true
}

// RowsEnd returns the first row that does not begin with prefix; nil means that there is none.
func RowsEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

// PageRows returns the rows of kind that begin with prefix and come after a key.
func PageRows(kind byte, prefix, after string) (from, to []byte) {
	from = NameRow(kind, Name{Key: prefix})
	to = RowsEnd(from)
	if after != "" && after >= prefix {
		from = append(NameRow(kind, Name{Key: after}), 0)
	}
	return from, to
}

// SessionID names a session; 16 bytes drawn at random, shown as the text of a UUID.
type SessionID [16]byte

// String returns the text of the id, as in "6ba7b810-9dad-11d1-80b4-00c04fd430c8".
func (id SessionID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// ParseSessionID reads exactly what String writes, in either case of letters; anything else is ErrSessionID.
func ParseSessionID(text string) (SessionID, error) {
	id, ok := SessionIDOf(text)
	if !ok {
		return SessionID{}, fmt.Errorf("%w: %.64q is not a UUID", ErrSessionID, text)
	}
	return id, nil
}

// SessionIDOf is ParseSessionID without an error: making its text costs more than all the rest.
func SessionIDOf(text string) (id SessionID, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return SessionID{}, false
	}
	at := 0
	for i := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			at++ // the hyphen
		}
		high, low := unhex(text[at]), unhex(text[at+1])
		if high|low > 0xf {
			return SessionID{}, false
		}
		id[i] = high<<4 | low
		at += 2
	}
	return id, true
}

// unhex returns the value of a hexadecimal digit, or 0xff. Ids are read for every renewal, so this must be quick.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	default:
		return 0xff
	}
}

// SessionIDFromBytes returns the id that b holds; anything but 16 bytes is ErrSessionID.
func SessionIDFromBytes(b []byte) (SessionID, error) {
	if len(b) != len(SessionID{}) {
		return SessionID{}, fmt.Errorf("%w: %d bytes", ErrSessionID, len(b))
	}
	return SessionID(b), nil
}
