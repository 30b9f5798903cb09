package layout

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// encodeByHand encodes a record as proto would. It returns false if that is for proto to do.
func encodeByHand(m proto.Message) ([]byte, bool) {
	if size := largeSize(m); size > smallBytes {
		return appendRecord(make([]byte, 0, size), m)
	}
	var small [smallBytes]byte
	b, ok := appendRecord(small[:0], m)
	if !ok {
		return nil, false
	}
	return append(make([]byte, 0, len(b)), b...), true
}

// largeSize returns a little more than the size of a record that may be large; zero for others.
func largeSize(m proto.Message) int {
	const rest = 256
	switch m := m.(type) {
	case *storev1.KeyRecord:
		return rest + len(m.GetValue())
	case *storev1.HistoryRecord:
		put, granted, released := m.GetEvent().GetKeyPut(), m.GetEvent().GetLockGranted(), m.GetEvent().GetLockReleased()
		return rest + len(put.GetKey()) + len(put.GetValue()) + len(m.GetEvent().GetKeyDeleted().GetKey()) +
			len(granted.GetKey()) + len(granted.GetOwner()) + len(granted.GetSessionName()) +
			len(released.GetKey()) + len(released.GetOwner()) + len(released.GetSessionName()) + len(released.GetReason())
	case *storev1.HoldRecord:
		return rest + len(m.GetOwner()) + len(m.GetSessionName())
	case *storev1.LockHead:
		size := rest
		for _, p := range m.GetPast() {
			size += rest + len(p.GetOwner()) + len(p.GetSessionName()) + len(p.GetReason())
		}
		return size
	default:
		return 0
	}
}

// appendRecord appends a record, if its codec is here.
func appendRecord(b []byte, m proto.Message) ([]byte, bool) {
	switch m := m.(type) {
	case *storev1.KeyRecord:
		return appendKey(b, m)
	case *storev1.HistoryRecord:
		return appendHistory(b, m)
	case *storev1.LockHead:
		return appendLockHead(b, m)
	case *storev1.HoldRecord:
		return appendHold(b, m)
	case *storev1.RequestRecord:
		return appendRequest(b, m)
	case *storev1.RequestWindowRecord:
		return appendWindow(b, m)
	case *storev1.AppliedRecord:
		return appendApplied(b, m)
	default:
		return b, false
	}
}

// decodeByHand decodes into an empty record as proto would. It returns false if that is for proto to do; the record may then hold anything.
func decodeByHand(b []byte, m Record) bool {
	switch m := m.(type) {
	case *storev1.KeyRecord:
		return cutKey(b, m)
	case *storev1.LockHead:
		return cutLockHead(b, m)
	case *storev1.HoldRecord:
		return cutHold(b, m)
	case *storev1.RequestWindowRecord:
		return cutWindow(b, m)
	case *storev1.SessionRecord:
		return cutSession(b, m)
	default:
		return false
	}
}

// appendKey appends the record of a key.
func appendKey(b []byte, m *storev1.KeyRecord) ([]byte, bool) {
	if !plain(m) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendContent(b, 2, m.GetValue())
	b = appendNumber(b, 3, m.GetFlags())
	b = appendNumber(b, 4, m.GetCreateRevision())
	b = appendNumber(b, 5, m.GetModRevision())
	b = appendNumber(b, 6, m.GetVersion())
	b = appendContent(b, 7, m.GetBoundSessionId())
	b = appendNumber(b, 8, m.GetCreateTimeMs())
	b = appendNumber(b, 9, m.GetModTimeMs())
	b = appendNumber(b, 10, m.GetValueRevision())
	b = appendNumber(b, 11, m.GetValueEventIndex())
	b = appendBool(b, 12, m.GetMadeByLock())
	return b, true
}

// appendLockHead appends the head of a lock.
func appendLockHead(b []byte, m *storev1.LockHead) ([]byte, bool) {
	if !plain(m) {
		return b, false
	}
	b = appendLockUse(b, m)
	for _, inner := range m.GetPast() {
		var begin int
		var ok bool
		b, begin = openMessage(b, lockPastField)
		if b, ok = appendPast(b, inner); !ok {
			return b, false
		}
		b = closeMessage(b, begin)
	}
	return appendNumber(b, 13, m.GetQueued()), true
}

// appendLockUse appends those fields of the head of a lock that stand before its past holds.
func appendLockUse(b []byte, m *storev1.LockHead) []byte {
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendNumber(b, 2, int32(m.GetMode()))
	b = appendNumber(b, 3, m.GetLimit())
	b = appendNumber(b, 4, m.GetLockIndex())
	b = appendNumber(b, 5, m.GetHolders())
	b = appendNumber(b, 6, m.GetPermitsHeld())
	b = appendNumber(b, 7, m.GetDelayed())
	b = appendNumber(b, 8, m.GetPermitsDelayed())
	b = appendNumber(b, 9, m.GetWaiters())
	b = appendNumber(b, 10, m.GetModRevision())
	return appendContent(b, 11, m.GetExclusiveSessionId())
}

// appendPast appends a hold that ended.
func appendPast(b []byte, m *storev1.PastHold) ([]byte, bool) {
	if !plain(m) || !utf8.ValidString(m.GetSessionName()) || !utf8.ValidString(m.GetOwner()) || !utf8.ValidString(m.GetReason()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetSessionId())
	b = appendContent(b, 2, m.GetSessionName())
	b = appendContent(b, 3, m.GetOwner())
	b = appendNumber(b, 4, m.GetLockIndex())
	b = appendNumber(b, 5, m.GetFencingToken())
	b = appendNumber(b, 6, int32(m.GetCause()))
	b = appendContent(b, 7, m.GetReason())
	b = appendNumber(b, 8, m.GetEndTimeMs())
	b = appendNumber(b, 9, m.GetGrantTimeMs())
	return b, true
}

// appendHold appends a hold.
func appendHold(b []byte, m *storev1.HoldRecord) ([]byte, bool) {
	if !plain(m) || !utf8.ValidString(m.GetOwner()) || !utf8.ValidString(m.GetSessionName()) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendContent(b, 2, m.GetSessionId())
	b = appendContent(b, 3, m.GetOwner())
	b = appendNumber(b, 4, int32(m.GetMode()))
	b = appendNumber(b, 5, m.GetPermits())
	b = appendNumber(b, 6, m.GetLockIndex())
	b = appendNumber(b, 7, m.GetFencingToken())
	b = appendNumber(b, 8, m.GetGrantTimeMs())
	b = appendBool(b, 9, m.GetDelayed())
	b = appendNumber(b, 10, m.GetDelayMs())
	b = appendNumber(b, 11, int32(m.GetCause()))
	b = appendNumber(b, 12, m.GetLostTimeMs())
	b = appendContent(b, 13, m.GetSessionName())
	return b, true
}

// appendWindow appends the head of a request window.
func appendWindow(b []byte, m *storev1.RequestWindowRecord) ([]byte, bool) {
	if !plain(m) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendNumber(b, 2, m.GetEpoch())
	b = appendNumber(b, 3, m.GetDoneBelow())
	b = appendNumber(b, 4, m.GetRequests())
	b = appendNumber(b, 5, m.GetBytes())
	b = appendBool(b, 6, m.GetTombstone())
	b = appendNumber(b, 7, m.GetTombstoneRevision())
	b = appendNumber(b, 8, m.GetHighestSequence())
	return b, true
}

// appendApplied appends the applied record.
func appendApplied(b []byte, m *storev1.AppliedRecord) ([]byte, bool) {
	if !plain(m) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendNumber(b, 2, m.GetIndex())
	b = appendNumber(b, 3, m.GetTerm())
	b = appendNumber(b, 4, m.GetRevision())
	b = appendNumber(b, 5, m.GetChecksum())
	b = appendContent(b, 6, m.GetConfState())
	b = appendNumber(b, 7, m.GetClusterVersion())
	b = appendContent(b, 8, m.GetHistoryId())
	b = appendContent(b, 9, m.GetClusterId())
	b = appendNumber(b, 10, m.GetCompactedRevision())
	b = appendNumber(b, 11, m.GetWallTimeMs())
	b = appendNumber(b, 12, m.GetTrimmedRevision())
	b = appendNumber(b, 13, m.GetLiveBytes())
	b = appendNumber(b, 14, m.GetKeys())
	b = appendNumber(b, 15, m.GetSessions())
	b = appendNumber(b, 16, m.GetHistoryBytes())
	b = appendNumber(b, 17, m.GetEndedSessions())
	b = appendNumber(b, 18, m.GetGrantsLeft())
	b = appendNumber(b, 19, m.GetEndedForgotten())
	b = appendNumber(b, 20, m.GetKeyedRequests())
	b = appendNumber(b, 21, m.GetKeyedForgotten())
	b = appendNumber(b, 22, m.GetTombstoneBytes())
	b = appendNumber(b, 23, m.GetKeyedBytes())
	b = appendNumber(b, 24, m.GetStoreBytes())
	b = appendNumber(b, 25, m.GetNodes())
	b = appendNumber(b, 26, m.GetServices())
	b = appendNumber(b, 27, m.GetChecks())
	b = appendNumber(b, 28, m.GetEndMarks())
	b = appendNumber(b, 29, m.GetDenyRevision())
	b = appendNumber(b, 30, m.GetAuthChanges())
	b = appendNumber(b, 31, int32(m.GetAuthMode()))
	b = appendNumber(b, 32, m.GetQueries())
	return b, true
}

// appendHistory appends an event of a key that was put or deleted, or of a lock that was granted or released; most events are.
func appendHistory(b []byte, m *storev1.HistoryRecord) ([]byte, bool) {
	e := m.GetEvent()
	if e.GetKind() == nil || !plain(m) || !plain(e) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b, event := openMessage(b, 2)
	b = appendNumber(b, 1, e.GetRevision())
	b = appendNumber(b, 2, e.GetIndex())
	b = appendNumber(b, 3, e.GetCount())
	b = appendNumber(b, 4, e.GetWallTimeMs())
	b = appendNumber(b, 5, e.GetNamespaceId())
	var kind int
	ok := false
	switch told := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		b, kind = openMessage(b, 8)
		b, ok = appendPut(b, told.KeyPut)
	case *storev1.Event_KeyDeleted:
		b, kind = openMessage(b, 9)
		b, ok = appendDeleted(b, told.KeyDeleted)
	case *storev1.Event_LockGranted:
		b, kind = openMessage(b, 12)
		b, ok = appendGranted(b, told.LockGranted)
	case *storev1.Event_LockReleased:
		b, kind = openMessage(b, 13)
		b, ok = appendReleased(b, told.LockReleased)
	}
	if !ok {
		return b, false
	}
	return closeMessage(closeMessage(b, kind), event), true
}

// appendGranted appends what an event tells of a lock that was granted.
func appendGranted(b []byte, m *storev1.LockGranted) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetOwner()) || !utf8.ValidString(m.GetSessionName()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendNumber(b, 2, m.GetLockIndex())
	b = appendContent(b, 3, m.GetSessionId())
	b = appendContent(b, 4, m.GetOwner())
	b = appendNumber(b, 5, int32(m.GetMode()))
	b = appendNumber(b, 6, m.GetPermits())
	b = appendNumber(b, 7, m.GetPlace())
	b = appendContent(b, 8, m.GetSessionName())
	return b, true
}

// appendReleased appends what an event tells of a lock that was released.
func appendReleased(b []byte, m *storev1.LockReleased) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetOwner()) ||
		!utf8.ValidString(m.GetReason()) || !utf8.ValidString(m.GetSessionName()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendNumber(b, 2, m.GetLockIndex())
	b = appendNumber(b, 3, m.GetFencingToken())
	b = appendContent(b, 4, m.GetSessionId())
	b = appendContent(b, 5, m.GetOwner())
	b = appendNumber(b, 6, int32(m.GetMode()))
	b = appendNumber(b, 7, m.GetPermits())
	b = appendNumber(b, 8, int32(m.GetCause()))
	b = appendContent(b, 9, m.GetReason())
	b = appendContent(b, 10, m.GetSessionName())
	return b, true
}

// appendPut appends what an event tells of a key.
func appendPut(b []byte, m *storev1.KeyPut) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendContent(b, 2, m.GetValue())
	b = appendNumber(b, 3, m.GetFlags())
	b = appendNumber(b, 4, m.GetCreateRevision())
	b = appendNumber(b, 5, m.GetVersion())
	b = appendNumber(b, 6, m.GetLockIndex())
	b = appendContent(b, 7, m.GetSessionId())
	b = appendContent(b, 8, m.GetBoundSessionId())
	b = appendNumber(b, 9, int32(m.GetChange()))
	b, ok := appendPrevious(b, 10, m.GetPrevious())
	b = appendNumber(b, 11, m.GetCreateTimeMs())
	return b, ok
}

// appendDeleted appends what an event tells of a key that was deleted.
func appendDeleted(b []byte, m *storev1.KeyDeleted) ([]byte, bool) {
	if m == nil || !plain(m) || !utf8.ValidString(m.GetKey()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b, ok := appendPrevious(b, 2, m.GetPrevious())
	b = appendContent(b, 3, m.GetEndedSessionId())
	return appendBool(b, 4, m.GetUnused()), ok
}

// appendPrevious appends where a value before is, if there is one.
func appendPrevious(b []byte, field protowire.Number, m *storev1.PreviousValue) ([]byte, bool) {
	if m == nil {
		return b, true
	}
	if !plain(m) {
		return b, false
	}
	b, begin := openMessage(b, field)
	b = appendNumber(b, 1, m.GetRevision())
	b = appendNumber(b, 2, m.GetIndex())
	return closeMessage(b, begin), true
}

// appendRequest appends what is remembered of a request that wrote a key and did nothing to its lock, or that took a lock or gave it back.
func appendRequest(b []byte, m *storev1.RequestRecord) ([]byte, bool) {
	r := m.GetResult()
	if r.GetKind() == nil || r.GetFailure() != nil || !plain(m) || !plain(r) || !utf8.ValidString(m.GetCaller()) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendContent(b, 2, m.GetDigest())
	b, result := openMessage(b, 3)
	b = appendNumber(b, 1, r.GetRevision())
	b = appendBool(b, 2, r.GetChanged())
	var kind int
	ok := false
	switch did := r.GetKind().(type) {
	case *storev1.Result_Put:
		b, kind = openMessage(b, 11)
		b, ok = appendPutResult(b, did.Put)
	case *storev1.Result_AcquireLock:
		b, kind = openMessage(b, 14)
		b, ok = appendAcquired(b, did.AcquireLock)
	case *storev1.Result_ReleaseLock:
		b, kind = openMessage(b, 15)
		b, ok = appendReleaseResult(b, did.ReleaseLock)
	}
	if !ok {
		return b, false
	}
	return appendContent(closeMessage(closeMessage(b, kind), result), 4, m.GetCaller()), true
}

// appendPutResult appends what became of a put that did nothing to the lock of its key.
func appendPutResult(b []byte, m *storev1.PutResult) ([]byte, bool) {
	if m.GetHold() != nil || m.GetLock() != nil || m.GetState() == nil || !plain(m) || !utf8.ValidString(m.GetKey()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b, state := openMessage(b, 2)
	b, ok := appendState(b, m.GetState())
	if !ok {
		return b, false
	}
	b = closeMessage(b, state)
	return appendBool(b, 3, m.GetVerbSucceeded()), true
}

// appendAcquired appends the hold that a request got. Proto writes the fields of a oneof last.
func appendAcquired(b []byte, m *storev1.AcquireLockResult) ([]byte, bool) {
	if m.GetHold() == nil || m.GetLock() != nil || !plain(m) {
		return b, false
	}
	b = appendBool(b, 4, m.GetAttached())
	b, hold := openMessage(b, 1)
	b, ok := appendHoldState(b, m.GetHold())
	return closeMessage(b, hold), ok
}

// appendReleaseResult appends what became of a release that says nothing of the lock.
func appendReleaseResult(b []byte, m *storev1.ReleaseLockResult) ([]byte, bool) {
	if m == nil || m.GetLock() != nil || !plain(m) {
		return b, false
	}
	b = appendBool(b, 1, m.GetReleased())
	b = appendNumber(b, 2, m.GetGranted())
	return b, true
}

// appendHoldState appends a hold as it is.
func appendHoldState(b []byte, m *storev1.HoldState) ([]byte, bool) {
	if !plain(m) || !utf8.ValidString(m.GetKey()) || !utf8.ValidString(m.GetOwner()) || !utf8.ValidString(m.GetSessionName()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendNumber(b, 2, m.GetLockIndex())
	b = appendNumber(b, 3, m.GetFencingToken())
	b = appendContent(b, 4, m.GetSessionId())
	b = appendContent(b, 5, m.GetOwner())
	b = appendNumber(b, 6, int32(m.GetMode()))
	b = appendNumber(b, 7, m.GetPermits())
	b = appendNumber(b, 8, m.GetGrantTimeMs())
	b = appendContent(b, 9, m.GetSessionName())
	b = appendBool(b, 10, m.GetDelayed())
	b = appendNumber(b, 11, m.GetDelayMs())
	b = appendNumber(b, 12, m.GetLostTimeMs())
	return b, true
}

// appendState appends a key as it is.
func appendState(b []byte, m *storev1.KeyState) ([]byte, bool) {
	if !plain(m) || !utf8.ValidString(m.GetKey()) {
		return b, false
	}
	b = appendContent(b, 1, m.GetKey())
	b = appendContent(b, 2, m.GetValue())
	b = appendNumber(b, 3, m.GetFlags())
	b = appendNumber(b, 4, m.GetCreateRevision())
	b = appendNumber(b, 5, m.GetModRevision())
	b = appendNumber(b, 6, m.GetVersion())
	b = appendNumber(b, 7, m.GetLockIndex())
	b = appendContent(b, 8, m.GetSessionId())
	b = appendContent(b, 9, m.GetBoundSessionId())
	b = appendNumber(b, 10, m.GetCreateTimeMs())
	b = appendNumber(b, 11, m.GetModTimeMs())
	return b, true
}
