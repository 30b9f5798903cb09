package layout

import (
	"unicode/utf8"

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
		put := m.GetEvent().GetKeyPut()
		return rest + len(put.GetKey()) + len(put.GetValue())
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
	b = appendContent(b, 11, m.GetExclusiveSessionId())
	for _, inner := range m.GetPast() {
		var begin int
		var ok bool
		b, begin = openMessage(b, 12)
		if b, ok = appendPast(b, inner); !ok {
			return b, false
		}
		b = closeMessage(b, begin)
	}
	b = appendNumber(b, 13, m.GetQueued())
	return b, true
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

// appendHistory appends an event of a key that was put; most events are.
func appendHistory(b []byte, m *storev1.HistoryRecord) ([]byte, bool) {
	e := m.GetEvent()
	if e.GetKeyPut() == nil || !plain(m) || !plain(e) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b, event := openMessage(b, 2)
	b = appendNumber(b, 1, e.GetRevision())
	b = appendNumber(b, 2, e.GetIndex())
	b = appendNumber(b, 3, e.GetCount())
	b = appendNumber(b, 4, e.GetWallTimeMs())
	b = appendNumber(b, 5, e.GetNamespaceId())
	b, put := openMessage(b, 8)
	b, ok := appendPut(b, e.GetKeyPut())
	if !ok {
		return b, false
	}
	return closeMessage(closeMessage(b, put), event), true
}

// appendPut appends what an event tells of a key.
func appendPut(b []byte, m *storev1.KeyPut) ([]byte, bool) {
	if !plain(m) || !utf8.ValidString(m.GetKey()) {
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
	if inner := m.GetPrevious(); inner != nil {
		var begin int
		var ok bool
		b, begin = openMessage(b, 10)
		if b, ok = appendPrevious(b, inner); !ok {
			return b, false
		}
		b = closeMessage(b, begin)
	}
	b = appendNumber(b, 11, m.GetCreateTimeMs())
	return b, true
}

// appendPrevious appends where a value before is.
func appendPrevious(b []byte, m *storev1.PreviousValue) ([]byte, bool) {
	if !plain(m) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetRevision())
	b = appendNumber(b, 2, m.GetIndex())
	return b, true
}

// appendRequest appends what is remembered of a request that wrote a key and did nothing to its lock.
func appendRequest(b []byte, m *storev1.RequestRecord) ([]byte, bool) {
	r := m.GetResult()
	put := r.GetPut()
	if put == nil || r.GetFailure() != nil || put.GetHold() != nil || put.GetLock() != nil || put.GetState() == nil {
		return b, false
	}
	if !plain(m) || !plain(r) || !plain(put) || !utf8.ValidString(put.GetKey()) {
		return b, false
	}
	b = appendNumber(b, 1, m.GetFormatVersion())
	b = appendContent(b, 2, m.GetDigest())
	b, result := openMessage(b, 3)
	b = appendNumber(b, 1, r.GetRevision())
	b = appendBool(b, 2, r.GetChanged())
	b, kind := openMessage(b, 11)
	b = appendContent(b, 1, put.GetKey())
	b, state := openMessage(b, 2)
	b, ok := appendState(b, put.GetState())
	if !ok {
		return b, false
	}
	b = closeMessage(b, state)
	b = appendBool(b, 3, put.GetVerbSucceeded())
	return closeMessage(closeMessage(b, kind), result), true
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
