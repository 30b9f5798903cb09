package layout

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// cutEnvelope reads an envelope. It returns false if that is for proto to do, and an error if a command cannot be read.
func cutEnvelope(b []byte, m *storev1.Envelope) (ok bool, err error) {
	principal := ""
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false, nil
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isNumber:
			m.Proposer = f.number
		case 3<<3 | isNumber:
			m.Sequence = f.number
		case 4<<3 | isContent:
			command, err := decodeCommand(f.content, &principal)
			if err != nil {
				return true, fmt.Errorf("command %d: %w", len(m.GetCommands()), err)
			}
			m.Commands = append(m.Commands, command)
		default:
			return false, nil
		}
		b = rest
	}
	return true, nil
}

// decodeCommand reads a command. principal is that of the command before it, and then its own: most commands of an envelope have the same one.
func decodeCommand(b []byte, principal *string) (*storev1.Command, error) {
	if m := cutCommand(b, principal); m != nil {
		return m, nil
	}
	m := &storev1.Command{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownFormat, err)
	}
	return m, checkCommand(m)
}

// putCommand is a put in one piece of memory: most commands are one.
type putCommand struct {
	command storev1.Command
	kind    storev1.Command_Put
	put     storev1.Put
}

// acquireCommand is a command that takes a lock, in one piece of memory.
type acquireCommand struct {
	command storev1.Command
	kind    storev1.Command_AcquireLock
	acquire storev1.AcquireLock
	session storev1.SessionRef
}

// releaseCommand is a command that gives a lock back, in one piece of memory.
type releaseCommand struct {
	command storev1.Command
	kind    storev1.Command_ReleaseLock
	release storev1.ReleaseLock
	session storev1.SessionRef
}

// cutCommand reads a command of which this program knows everything; nil: that is for proto to do.
func cutCommand(b []byte, principal *string) *storev1.Command {
	var head commandHead
	if !head.cut(b) {
		return nil
	}
	switch head.kind {
	case 20:
		m := &putCommand{}
		m.kind.Put, m.command.Kind = &m.put, &m.kind
		if cutPutCommand(head.content, &m.put) && head.into(&m.command, principal) {
			return &m.command
		}
	case 24:
		m := &acquireCommand{}
		m.kind.AcquireLock, m.command.Kind = &m.acquire, &m.kind
		if cutAcquire(head.content, &m.acquire, &m.session) && head.into(&m.command, principal) {
			return &m.command
		}
	case 27:
		m := &releaseCommand{}
		m.kind.ReleaseLock, m.command.Kind = &m.release, &m.kind
		if cutRelease(head.content, &m.release, &m.session) && head.into(&m.command, principal) {
			return &m.command
		}
	}
	return nil
}

// commandHead are the fields of a command, as far as a command has them that is read by hand. They lie in the encoded command.
type commandHead struct {
	namespace, below       uint64
	wallTime               int64
	principal, key, digest []byte
	request                []byte // nil: it has no request id
	kind                   uint64 // number of the field of its kind
	content                []byte // of that field
}

// cut finds the fields of a command. It returns false if that is for proto to do, as it is where fields have to be merged.
func (h *commandHead) cut(b []byte) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isNumber:
			h.namespace = f.number
		case 2<<3 | isContent:
			if h.principal != nil { // proto refuses the first one, too, if it is not UTF-8.
				return false
			}
			h.principal = f.content
		case 3<<3 | isNumber:
			h.wallTime = int64(f.number)
		case 4<<3 | isContent:
			if h.request != nil {
				return false
			}
			h.request = f.content
		case 5<<3 | isContent:
			h.key = f.content
		case 6<<3 | isContent:
			h.digest = f.content
		case 8<<3 | isNumber:
			h.below = f.number
		case 20<<3 | isContent, 24<<3 | isContent, 27<<3 | isContent:
			if h.kind != 0 {
				return false
			}
			h.kind, h.content = f.id>>3, f.content
		default:
			return false
		}
		b = rest
	}
	return true
}

// into writes the fields to a command, but for its kind. It returns false if that is for proto to do.
func (h *commandHead) into(m *storev1.Command, principal *string) bool {
	m.NamespaceId, m.WallTimeMs, m.AuthorisedBelow = h.namespace, h.wallTime, h.below
	if string(h.principal) != *principal {
		if !utf8.Valid(h.principal) {
			return false
		}
		*principal = string(h.principal)
	}
	m.Principal = *principal
	if h.request == nil {
		m.IdempotencyKey, m.RequestDigest = cloneBoth(h.key, h.digest)
		return true
	}
	id := &identity{}
	m.IdempotencyKey, m.RequestDigest, m.RequestId = id.keep(h.key), id.keep(h.digest), &id.request
	return cutRequestID(h.request, id)
}

// cloneBoth returns two texts in one piece of memory of their own.
func cloneBoth(a, b []byte) (ownA, ownB []byte) {
	if len(a) == 0 {
		return nil, field{content: b}.bytes()
	}
	both := append(append(make([]byte, 0, len(a)+len(b)), a...), b...)
	return both[:len(a):len(a)], both[len(a):]
}

// identity is the id of a request and its digest, in one piece of memory.
type identity struct {
	request storev1.RequestID
	room    [16 + 32]byte
	used    int // of the room
}

// keep returns a text in memory of its own: in the room, if that has place for it.
func (id *identity) keep(text []byte) []byte {
	to := id.used + len(text)
	if len(text) == 0 || to > len(id.room) {
		return field{content: text}.bytes()
	}
	own := id.room[id.used:to:to]
	copy(own, text)
	id.used = to
	return own
}

// cutRequestID reads the id of a request. It returns false if that is for proto to do.
func cutRequestID(b []byte, id *identity) bool {
	m := &id.request
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			m.SessionId = id.keep(f.content)
		case 2<<3 | isNumber:
			m.Epoch = f.number
		case 3<<3 | isNumber:
			m.Sequence = f.number
		case 4<<3 | isNumber:
			m.DoneBelow = f.number
		default:
			return false
		}
		b = rest
	}
	return true
}

// cutSessionRef reads what names a session. It returns false if that is for proto to do.
func cutSessionRef(b []byte, m *storev1.SessionRef) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			m.SessionId = f.bytes()
		case 2<<3 | isNumber:
			m.Epoch = f.number
		default:
			return false
		}
		b = rest
	}
	return true
}

// newSessionRef reads what names a session into a field that has none. It returns false if that is for proto to do.
func newSessionRef(b []byte, to **storev1.SessionRef) bool {
	if *to != nil {
		return false
	}
	*to = &storev1.SessionRef{}
	return cutSessionRef(b, *to)
}

// cutPutCommand reads a put as a command has it. It returns false if that is for proto to do.
func cutPutCommand(b []byte, m *storev1.Put) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			ok = f.text(&m.Key)
		case 2<<3 | isContent:
			m.Value = f.bytes()
		case 3<<3 | isNumber:
			m.Flags = f.number
		case 4<<3 | isNumber:
			m.IfRevision = new(f.number)
		case 5<<3 | isContent:
			ok = newSessionRef(f.content, &m.Acquire)
		case 6<<3 | isContent:
			ok = newSessionRef(f.content, &m.Release)
		case 7<<3 | isNumber:
			m.Force = f.number != 0
		case 8<<3 | isContent:
			ok = f.text(&m.Reason)
		case 9<<3 | isContent:
			ok = newSessionRef(f.content, &m.BindSession)
		case 10<<3 | isNumber:
			m.Sequential = f.number != 0
		default:
			return false
		}
		if !ok {
			return false
		}
		b = rest
	}
	return true
}

// cutAcquire reads the command that takes a lock, and its session into memory that is given. It returns false if that is for proto to do.
func cutAcquire(b []byte, m *storev1.AcquireLock, session *storev1.SessionRef) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			ok = f.text(&m.Key)
		case 2<<3 | isContent:
			ok = m.GetSession() == nil && cutSessionRef(f.content, session)
			m.Session = session
		case 3<<3 | isContent:
			ok = f.text(&m.Owner)
		case 4<<3 | isNumber:
			m.Mode = storev1.LockMode(f.number)
			_, ok = storev1.LockMode_name[int32(f.number)]
		case 5<<3 | isNumber:
			m.Permits = uint32(f.number)
		case 6<<3 | isNumber:
			m.Limit = uint32(f.number)
		case 7<<3 | isContent:
			m.Value = append([]byte{}, f.content...)
		case 8<<3 | isNumber:
			m.Queue = f.number != 0
		case 9<<3 | isNumber:
			m.WaitMs = int64(f.number)
		case 10<<3 | isNumber:
			m.Flags = f.number
		case 11<<3 | isNumber:
			m.KeepKey = f.number != 0
		default:
			return false
		}
		if !ok {
			return false
		}
		b = rest
	}
	return true
}

// cutRelease reads the command that gives a lock back, and its session into memory that is given. It returns false if that is for proto to do.
func cutRelease(b []byte, m *storev1.ReleaseLock, session *storev1.SessionRef) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			ok = f.text(&m.Key)
		case 2<<3 | isContent:
			ok = m.GetSession() == nil && cutSessionRef(f.content, session)
			m.Session = session
		case 3<<3 | isContent:
			ok = f.text(&m.Owner)
		case 4<<3 | isNumber:
			m.LockIndex = f.number
		case 5<<3 | isNumber:
			m.Force = f.number != 0
		case 6<<3 | isContent:
			ok = f.text(&m.Reason)
		case 7<<3 | isContent:
			m.ValueOp = &storev1.ReleaseLock_Put{Put: append([]byte{}, f.content...)}
		case 8<<3 | isNumber:
			m.ValueOp = &storev1.ReleaseLock_Delete{Delete: f.number != 0}
		default:
			return false
		}
		if !ok {
			return false
		}
		b = rest
	}
	return true
}
