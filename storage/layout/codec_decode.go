package layout

import storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"

// cutKey reads the record of a key. It returns false if that is for proto to do.
func cutKey(b []byte, m *storev1.KeyRecord) bool {
	value, ok := cutKeyFacts(b, m)
	m.Value = append([]byte(nil), value...)
	return ok
}

// cutKeyFacts is cutKey but for the value, which it returns; it lies in b.
func cutKeyFacts(b []byte, m *storev1.KeyRecord) (value []byte, ok bool) {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return nil, false
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isContent:
			value = f.content
		case 3<<3 | isNumber:
			m.Flags = f.number
		case 4<<3 | isNumber:
			m.CreateRevision = f.number
		case 5<<3 | isNumber:
			m.ModRevision = f.number
		case 6<<3 | isNumber:
			m.Version = f.number
		case 7<<3 | isContent:
			m.BoundSessionId = f.bytes()
		case 8<<3 | isNumber:
			m.CreateTimeMs = int64(f.number)
		case 9<<3 | isNumber:
			m.ModTimeMs = int64(f.number)
		case 10<<3 | isNumber:
			m.ValueRevision = f.number
		case 11<<3 | isNumber:
			m.ValueEventIndex = uint32(f.number)
		case 12<<3 | isNumber:
			m.MadeByLock = f.number != 0
		default:
			return nil, false
		}
		b = rest
	}
	return value, true
}

// cutLockHead reads the head of a lock. It returns false if that is for proto to do.
func cutLockHead(b []byte, m *storev1.LockHead) bool {
	return cutLock(b, m, func(_, _ int, past []byte) bool {
		inner := &storev1.PastHold{}
		m.Past = append(m.Past, inner)
		return cutPast(past, inner)
	})
}

// cutLock reads the head of a lock, but for each hold that ended: ended gets where its field begins and ends, and what that holds.
func cutLock(record []byte, m *storev1.LockHead, ended func(from, to int, past []byte) bool) bool {
	for b := record; len(b) > 0; {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isNumber:
			m.Mode = storev1.LockMode(f.number)
		case 3<<3 | isNumber:
			m.Limit = uint32(f.number)
		case 4<<3 | isNumber:
			m.LockIndex = f.number
		case 5<<3 | isNumber:
			m.Holders = uint32(f.number)
		case 6<<3 | isNumber:
			m.PermitsHeld = uint32(f.number)
		case 7<<3 | isNumber:
			m.Delayed = uint32(f.number)
		case 8<<3 | isNumber:
			m.PermitsDelayed = uint32(f.number)
		case 9<<3 | isNumber:
			m.Waiters = uint32(f.number)
		case 10<<3 | isNumber:
			m.ModRevision = f.number
		case 11<<3 | isContent:
			m.ExclusiveSessionId = f.bytes()
		case lockPastField<<3 | isContent:
			if !ended(len(record)-len(b), len(record)-len(rest), f.content) {
				return false
			}
		case 13<<3 | isNumber:
			m.Queued = f.number
		default:
			return false
		}
		b = rest
	}
	return true
}

// cutPast reads a hold that ended. It returns false if that is for proto to do.
func cutPast(b []byte, m *storev1.PastHold) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isContent:
			m.SessionId = f.bytes()
		case 2<<3 | isContent:
			if !f.text(&m.SessionName) {
				return false
			}
		case 3<<3 | isContent:
			if !f.text(&m.Owner) {
				return false
			}
		case 4<<3 | isNumber:
			m.LockIndex = f.number
		case 5<<3 | isNumber:
			m.FencingToken = f.number
		case 6<<3 | isNumber:
			m.Cause = storev1.HoldEndCause(f.number)
		case 7<<3 | isContent:
			if !f.text(&m.Reason) {
				return false
			}
		case 8<<3 | isNumber:
			m.EndTimeMs = int64(f.number)
		case 9<<3 | isNumber:
			m.GrantTimeMs = int64(f.number)
		default:
			return false
		}
		b = rest
	}
	return true
}

// cutHold reads a hold. It returns false if that is for proto to do.
func cutHold(b []byte, m *storev1.HoldRecord) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isContent:
			m.SessionId = f.bytes()
		case 3<<3 | isContent:
			if !f.text(&m.Owner) {
				return false
			}
		case 4<<3 | isNumber:
			m.Mode = storev1.LockMode(f.number)
		case 5<<3 | isNumber:
			m.Permits = uint32(f.number)
		case 6<<3 | isNumber:
			m.LockIndex = f.number
		case 7<<3 | isNumber:
			m.FencingToken = f.number
		case 8<<3 | isNumber:
			m.GrantTimeMs = int64(f.number)
		case 9<<3 | isNumber:
			m.Delayed = f.number != 0
		case 10<<3 | isNumber:
			m.DelayMs = int64(f.number)
		case 11<<3 | isNumber:
			m.Cause = storev1.HoldEndCause(f.number)
		case 12<<3 | isNumber:
			m.LostTimeMs = int64(f.number)
		case 13<<3 | isContent:
			if !f.text(&m.SessionName) {
				return false
			}
		default:
			return false
		}
		b = rest
	}
	return true
}

// cutWindow reads the head of a request window. It returns false if that is for proto to do.
func cutWindow(b []byte, m *storev1.RequestWindowRecord) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isNumber:
			m.Epoch = f.number
		case 3<<3 | isNumber:
			m.DoneBelow = f.number
		case 4<<3 | isNumber:
			m.Requests = uint32(f.number)
		case 5<<3 | isNumber:
			m.Bytes = f.number
		case 6<<3 | isNumber:
			m.Tombstone = f.number != 0
		case 7<<3 | isNumber:
			m.TombstoneRevision = f.number
		case 8<<3 | isNumber:
			m.HighestSequence = f.number
		default:
			return false
		}
		b = rest
	}
	return true
}

// cutSession reads the record of a session. It returns false if that is for proto to do, as it is with metadata.
func cutSession(b []byte, m *storev1.SessionRecord) bool {
	for len(b) > 0 {
		f, rest, ok := cutField(b)
		if !ok {
			return false
		}
		switch f.id {
		case 1<<3 | isNumber:
			m.FormatVersion = uint32(f.number)
		case 2<<3 | isContent:
			ok = f.text(&m.Name)
		case 3<<3 | isContent:
			ok = f.text(&m.Node)
		case 5<<3 | isNumber:
			m.TtlMs = int64(f.number)
		case 6<<3 | isNumber:
			m.LockDelayMs = int64(f.number)
		case 7<<3 | isNumber:
			m.Behavior = storev1.SessionBehavior(f.number)
		case 8<<3 | isContent:
			m.SecretSha256 = f.bytes()
		case 9<<3 | isContent:
			ok = f.text(&m.PeerAddress)
		case 10<<3 | isNumber:
			m.Epoch = f.number
		case 11<<3 | isContent:
			m.InstanceId = f.bytes()
		case 12<<3 | isNumber:
			m.CreateRevision = f.number
		case 13<<3 | isNumber:
			m.CreateTimeMs = int64(f.number)
		case 14<<3 | isNumber:
			m.EpochRevision = f.number
		case 15<<3 | isNumber:
			m.Objects = uint32(f.number)
		case 20<<3 | isContent:
			ok = f.text(&m.Principal)
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
