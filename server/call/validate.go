package call

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Limits of requests. They bound what a member proposes; those that apply looks at are replicated state.
const (
	KeyBytesMax             = 1024
	ValueBytesMax           = 512 << 10
	SequentialSuffixBytes   = 23
	NameBytesMax            = 256
	OwnerBytesMax           = 256
	ReasonBytesMax          = 1024
	MetadataBytesMax        = 4096
	InstanceIDBytesMax      = 64
	GuardsMax               = 16
	IdempotencyKeyBytesMin  = 16
	IdempotencyKeyBytesMax  = 64
	PageItemsMax            = 1000
	ItemsAtOnce             = 128             // that a page under way reads from the store before it looks at its size
	PageBytesMax            = 1<<20 - 128<<10 // and one more item of at most 512 KiB
	ttlMax                  = 24 * time.Hour
	lockDelayMax            = 60 * time.Second
	lockDelayDefault        = 15 * time.Second
	KeepaliveIntervalMax    = 10 * time.Second
	TryWaitMax              = 60 * time.Second
	WaitMax                 = 100 * 365 * 24 * time.Hour // clamped, so that clocks can be added to it
	historyIDHexDigits      = 32
	LockHoldsShown          = 100
	ScannedItemsMax         = 10_000
	StaleWaitWithoutTimeout = 30 * time.Second
)

// ValidName reports whether a text may be the name of a member.
func ValidName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return name != "" && len(name) <= 63 && strings.Trim(name, allowed) == ""
}

// CheckKey refuses what cannot be a key.
func CheckKey(field, key string) error {
	if key == "" {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY, field, "must not be empty")
	}
	return CheckPrefix(field, key, KeyBytesMax)
}

// CheckPrefix refuses what cannot be the beginning of a key of at most bytesMax bytes.
func CheckPrefix(field, prefix string, bytesMax int) error {
	if len(prefix) > bytesMax {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_KEY_TOO_LONG, field, "is %d bytes long; at most %d are allowed",
			len(prefix), bytesMax).With("limit", "key_bytes_max").With("limit_value", strconv.Itoa(bytesMax))
	}
	if !utf8.ValidString(prefix) {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, field, "is not valid UTF-8")
	}
	return nil
}

// CheckValue refuses a value that is too large.
func CheckValue(field string, value []byte) error {
	if len(value) > ValueBytesMax {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "%s: is %d bytes long; at most %d are allowed",
			field, len(value), ValueBytesMax).With("limit", "value_bytes_max").With("limit_value", strconv.Itoa(ValueBytesMax))
	}
	return nil
}

// CheckText refuses a text that is too long.
func CheckText(field, text string, bytesMax int) error {
	if len(text) > bytesMax {
		return reason.Invalid(field, "is %d bytes long; at most %d are allowed", len(text), bytesMax)
	}
	return nil
}

// ParseSession reads a session id that must be given.
func ParseSession(field, text string) (storage.SessionID, error) {
	id, err := storage.ParseSessionID(text)
	if err != nil {
		what := "is not a UUID"
		if text == "" {
			what = "is missing; give the id of a session, a UUID"
		}
		return id, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID, field, "%s", what)
	}
	return id, nil
}

// CheckDuration refuses what is no duration, or a negative one.
func CheckDuration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil {
		return 0, reason.Invalid(field, "is not a duration")
	}
	if d.AsDuration() < 0 {
		return 0, reason.Invalid(field, "must not be negative")
	}
	return d.AsDuration(), nil
}

// GrantedTTL returns the TTL that a request gets.
func GrantedTTL(d *durationpb.Duration, ttlMin time.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if d.CheckValid() != nil {
		return 0, reason.Invalid("ttl", "is not a duration")
	}
	if d.AsDuration() < 0 {
		return 0, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE, "ttl", "must not be negative")
	}
	ttl := d.AsDuration()
	if ttl == 0 {
		return 0, nil
	}
	return RoundUp(min(max(ttl, ttlMin), ttlMax)), nil
}

// GrantedLockDelay returns the lock-delay that a request gets. Unset and zero are different.
func GrantedLockDelay(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return lockDelayDefault, nil
	}
	if d.CheckValid() != nil {
		return 0, reason.Invalid("lock_delay", "is not a duration")
	}
	if d.AsDuration() < 0 || d.AsDuration() > lockDelayMax {
		return 0, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE, "lock_delay",
			"must be between 0 and %v", lockDelayMax)
	}
	return RoundUp(d.AsDuration()), nil
}

// RoundUp makes whole milliseconds of a duration, so that nothing ends earlier than was asked. The longest durations, of 292 years, are cut to what there is.
func RoundUp(d time.Duration) time.Duration {
	if d > math.MaxInt64-time.Millisecond {
		return time.Duration(math.MaxInt64).Truncate(time.Millisecond)
	}
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// PageSize returns how many items a page may hold.
func PageSize(asked uint32) (int, error) {
	if asked == 0 {
		return PageItemsMax, nil
	}
	if asked > PageItemsMax {
		return 0, reason.Invalid("page_size", "is %d; at most %d is allowed", asked, PageItemsMax)
	}
	return int(asked), nil
}

// parseHistory reads a history id; empty is none.
func parseHistory(field, text string) (id [16]byte, given bool, err error) {
	if text == "" {
		return id, false, nil
	}
	if len(text) != historyIDHexDigits {
		return id, false, reason.Invalid(field, "must be %d hexadecimal digits", historyIDHexDigits)
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return id, false, reason.Invalid(field, "must be %d hexadecimal digits", historyIDHexDigits)
	}
	return id, true, nil
}

// CheckHistory refuses a history that is not the cluster's.
func CheckHistory(field, text string, ours [16]byte) error {
	theirs, given, err := parseHistory(field, text)
	if err != nil || !given || theirs == ours {
		return err
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED,
		"%s is of another history: the cluster was restored, or it is another cluster", field).With("history_id", HexID(ours))
}

// Operator is somebody who acts in the place of a session's user.
type Operator struct {
	Force  bool
	Reason string
}

// ParseOperator reads force and reason, which some requests carry in two places.
func ParseOperator(force bool, why string, o *tenurev1.CallOptions) (Operator, error) {
	if why != "" && o.GetReason() != "" && why != o.GetReason() {
		return Operator{}, reason.Invalid("reason", "differs from options.reason")
	}
	op := Operator{Force: force || o.GetForce(), Reason: why}
	if op.Reason == "" {
		op.Reason = o.GetReason()
	}
	if err := CheckText("reason", op.Reason, ReasonBytesMax); err != nil {
		return Operator{}, err
	}
	if op.Force && op.Reason == "" {
		return Operator{}, reason.Invalid("reason", "is required with force; give the reason for the record")
	}
	return op, nil
}
