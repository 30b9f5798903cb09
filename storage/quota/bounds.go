package quota

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// HasLimitBounds reports whether limits have bounds under a cluster version, and are lowered below what is in use only with
// force. Older programs take any limit, and do not know the word.
func HasLimitBounds(version uint32) bool { return version >= layout.Version2 }

// Bounds are what a limit can be set to. With any limits within their bounds every verb works once, and an operator can set
// others: neither that nor a change of members needs anything that a limit refuses.
type Bounds struct {
	Name        string // of the limit's field
	Least, Most uint64
}

const (
	mib   = 1 << 20
	tib   = 1 << 40
	dayMs = 24 * 60 * 60 * 1000
)

// AllBounds returns the bounds of all limits.
func AllBounds() []Bounds {
	return []Bounds{
		{"waiters_max", 1, mib},
		{"holders_max", 1, mib},
		{"session_objects_max", 2, sessionObjectsMax},
		{"ended_sessions_max", 1, 1_000_000},
		// What a session remembers is removed by one command, once the client says that it is done.
		{"request_window_max", 2, 16_384},
		{"request_window_bytes_max", 1 << 10, 16 * mib},
		{"idempotency_keys_max", 1, 10_000_000},
		{"tombstone_bytes_max", 1, tib},
		// With less history a watch that is interrupted for a moment could not be resumed.
		{"history_revisions", 1_000, 1_000_000_000},
		{"history_ms", 1_000, 365 * dayMs},
		{"history_bytes_max", 64 << 10, tib},
		// The leader has a timer for every session.
		{"sessions_max", 16, 10_000_000},
		{"store_bytes_max", mib, tib},
		{"idempotency_bytes_max", 1, tib},
		// Enough for any transaction as large as one may be that neither lists nor deletes by prefix, and reads and writes values
		// of as many bytes as a request has.
		{"command_rows_max", 4_096, 1_000_000},
		{"command_bytes_max", 4 * mib, 1024 * mib},
	}
}

// check refuses a limit that is set to something beyond its bounds. Zero sets it back to its default.
func (b Bounds) check(set *storev1.Limits) error {
	value := valueOf(set, b.Name)
	if value == 0 || value >= b.Least && value <= b.Most {
		return nil
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND,
		storev1.FailureDetail_FAILURE_DETAIL_LIMIT_OUT_OF_BOUNDS, b.Name, b.Least, b.Most, value)
	f.Failure.LimitName, f.Failure.Limit, f.Failure.Actual = b.Name, b.Most, value
	if value < b.Least {
		f.Failure.Limit = b.Least
	}
	return f
}

// valueOf returns a limit by the name of its field; zero if it is not set.
func valueOf(limits *storev1.Limits, name string) uint64 {
	m := limits.ProtoReflect()
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f.Kind() == protoreflect.Int64Kind {
		return uint64(m.Get(f).Int())
	}
	return m.Get(f).Uint()
}

// Use is what is in use of what a limit bounds.
type Use struct {
	name  string // of the limit's field
	used  uint64
	needs uint64 // the lowest limit under which what is in use stays, and the state can grow
}

// Uses returns what is in use, where the state counts it. Waiters, holders, objects and open requests that are above their
// limit stay, and nobody waits long for them to become fewer.
func Uses(a *layout.Applied, storeBytes uint64) []Use {
	use := func(name string, used uint64) Use { return Use{name, used, used} }
	return []Use{
		{"store_bytes_max", storeBytes, storeBytes + storeBytes/(reservePart-1) + 1},
		use("sessions_max", a.Sessions),
		use("history_bytes_max", a.HistoryBytes),
		use("ended_sessions_max", a.EndedSessions-a.EndedForgotten),
		use("tombstone_bytes_max", a.TombstoneBytes),
		use("idempotency_keys_max", a.KeyedRequests-a.KeyedForgotten),
		use("idempotency_bytes_max", a.KeyedBytes),
	}
}

// Check refuses a limit that is lowered below what is in use.
func (u Use) Check(before, after *storev1.Limits) error {
	value := valueOf(after, u.name)
	if value >= u.needs || value >= valueOf(before, u.name) {
		return nil
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_LIMIT_IN_USE,
		storev1.FailureDetail_FAILURE_DETAIL_LIMIT_BELOW_USE, u.name, value, u.used, u.needs)
	f.Failure.LimitName, f.Failure.Limit, f.Failure.Actual = u.name, value, u.used
	return f
}

// Check refuses limits that cannot be set under a cluster version.
func Check(l *storev1.Limits, version uint32) error {
	if l.GetSessionObjectsMax() > sessionObjectsMax {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_SESSION_OBJECTS_TOO_MANY, sessionObjectsMax)
	}
	if l.GetHistoryMs() < 0 {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_NEGATIVE_HISTORY)
	}
	if l != nil && (l.CommandRowsMax != nil || l.CommandBytesMax != nil) && !HasCommandBudget(version) {
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED,
			storev1.FailureDetail_FAILURE_DETAIL_CLUSTER_VERSION_BELOW, layout.Version2)
	}
	if !HasLimitBounds(version) {
		return nil
	}
	for _, b := range AllBounds() {
		if err := b.check(l); err != nil {
			return err
		}
	}
	return nil
}

// DropZeros unsets all limits that are zero.
func DropZeros(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if m.Has(f) && m.Get(f).Equal(f.Default()) {
			m.Clear(f)
		}
	}
}
