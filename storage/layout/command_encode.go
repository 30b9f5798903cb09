package layout

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// encodeCommand encodes a command as proto would, if it is a put, or takes a lock or gives it back, without guards and findings, and any member
// could decode it. It returns false if that is for proto to do.
func encodeCommand(m *storev1.Command) ([]byte, bool) {
	if size := commandSize(m); size > smallBytes {
		return appendCommand(make([]byte, 0, size), m)
	}
	var small [smallBytes]byte
	b, ok := appendCommand(small[:0], m)
	if !ok {
		return nil, false
	}
	return append(make([]byte, 0, len(b)), b...), true
}

// commandSize returns a little more than the size of a command.
func commandSize(m *storev1.Command) int {
	const rest = 256
	size := rest + len(m.GetPrincipal()) + len(m.GetIdempotencyKey())
	switch kind := m.GetKind().(type) {
	case *storev1.Command_Put:
		return size + len(kind.Put.GetKey()) + len(kind.Put.GetValue()) + len(kind.Put.GetReason())
	case *storev1.Command_AcquireLock:
		return size + len(kind.AcquireLock.GetKey()) + len(kind.AcquireLock.GetOwner()) + len(kind.AcquireLock.GetValue())
	case *storev1.Command_ReleaseLock:
		release := kind.ReleaseLock
		return size + len(release.GetKey()) + len(release.GetOwner()) + len(release.GetReason()) + len(release.GetPut())
	default:
		return size
	}
}

// appendCommand appends a command.
func appendCommand(b []byte, m *storev1.Command) ([]byte, bool) {
	if !plain(m) || len(m.GetGuards())+len(m.GetFindings()) > 0 || !utf8.ValidString(m.GetPrincipal()) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetNamespaceId())
	b = appendContent(b, 2, m.GetPrincipal())
	b = appendNumber(b, 3, m.GetWallTimeMs())
	if id := m.GetRequestId(); id != nil {
		if !plain(id) {
			return b, false
		}
		var begin int
		b, begin = openMessage(b, 4)
		b = appendContent(b, 1, id.GetSessionId())
		b = appendNumber(b, 2, id.GetEpoch())
		b = appendNumber(b, 3, id.GetSequence())
		b = appendNumber(b, 4, id.GetDoneBelow())
		b = closeMessage(b, begin)
	}
	b = appendContent(b, 5, m.GetIdempotencyKey())
	b = appendContent(b, 6, m.GetRequestDigest())
	b = appendNumber(b, 8, m.GetAuthorisedBelow())
	return appendKind(b, m)
}

// appendKind appends what a command does.
func appendKind(b []byte, m *storev1.Command) (with []byte, ok bool) {
	var begin int
	switch kind := m.GetKind().(type) {
	case *storev1.Command_Put:
		b, begin = openMessage(b, 20)
		b, ok = appendPutCommand(b, kind.Put)
	case *storev1.Command_AcquireLock:
		b, begin = openMessage(b, 24)
		b, ok = appendAcquire(b, kind.AcquireLock)
	case *storev1.Command_ReleaseLock:
		b, begin = openMessage(b, 27)
		b, ok = appendRelease(b, kind.ReleaseLock)
	default:
		return b, false
	}
	return closeMessage(b, begin), ok
}

// appendPutCommand appends a put as a command has it.
func appendPutCommand(b []byte, m *storev1.Put) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetReason()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendContent(b, 2, m.GetValue())
	b = appendNumber(b, 3, m.GetFlags())
	if m.IfRevision != nil {
		b = appendSet(b, 4, m.GetIfRevision())
	}
	b, acquires := appendSessionRef(b, 5, m.GetAcquire())
	b, releases := appendSessionRef(b, 6, m.GetRelease())
	b = appendBool(b, 7, m.GetForce())
	b = appendContent(b, 8, m.GetReason())
	b, binds := appendSessionRef(b, 9, m.GetBindSession())
	b = appendBool(b, 10, m.GetSequential())
	return b, acquires && releases && binds
}

// appendAcquire appends the command that takes a lock.
func appendAcquire(b []byte, m *storev1.AcquireLock) ([]byte, bool) {
	_, known := storev1.LockMode_name[int32(m.GetMode())]
	if m == nil || !known || !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetOwner()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b, ok := appendSessionRef(b, 2, m.GetSession())
	b = appendContent(b, 3, m.GetOwner())
	b = appendNumber(b, 4, int32(m.GetMode()))
	b = appendNumber(b, 5, m.GetPermits())
	b = appendNumber(b, 6, m.GetLimit())
	if m.Value != nil {
		b = appendSetContent(b, 7, m.GetValue())
	}
	b = appendBool(b, 8, m.GetQueue())
	b = appendNumber(b, 9, m.GetWaitMs())
	b = appendNumber(b, 10, m.GetFlags())
	b = appendBool(b, 11, m.GetKeepKey())
	return b, ok
}

// appendRelease appends the command that gives a lock back.
func appendRelease(b []byte, m *storev1.ReleaseLock) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetOwner()) || !utf8.ValidString(m.GetReason()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b, ok := appendSessionRef(b, 2, m.GetSession())
	b = appendContent(b, 3, m.GetOwner())
	b = appendNumber(b, 4, m.GetLockIndex())
	b = appendBool(b, 5, m.GetForce())
	b = appendContent(b, 6, m.GetReason())
	switch op := m.GetValueOp().(type) {
	case nil:
	case *storev1.ReleaseLock_Put:
		b = appendSetContent(b, 7, op.Put)
	case *storev1.ReleaseLock_Delete:
		number := uint64(0)
		if op.Delete {
			number = 1
		}
		b = appendSet(b, 8, number)
	default:
		return b, false
	}
	return b, ok
}

// appendSessionRef appends a field that names a session, if there is one.
func appendSessionRef(b []byte, field protowire.Number, m *storev1.SessionRef) ([]byte, bool) {
	if m == nil {
		return b, true
	}
	b, begin := openMessage(b, field)
	b = appendContent(b, 1, m.GetSessionId())
	b = appendNumber(b, 2, m.GetEpoch())
	return closeMessage(b, begin), plain(m)
}
