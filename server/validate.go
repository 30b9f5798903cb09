package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// Limits of requests. They bound what a member proposes; those that apply looks at are replicated state.
const (
	keyBytesMax             = 1024
	valueBytesMax           = 512 << 10
	sequentialSuffixBytes   = 23
	nameBytesMax            = 256
	ownerBytesMax           = 256
	reasonBytesMax          = 1024
	metadataBytesMax        = 4096
	instanceIDBytesMax      = 64
	secretBytes             = 32
	guardsMax               = 16
	idempotencyKeyBytesMin  = 16
	idempotencyKeyBytesMax  = 64
	pageItemsMax            = 1000
	pageBytesMax            = 1<<20 - 128<<10 // and one more item of at most 512 KiB
	ttlMax                  = 24 * time.Hour
	lockDelayMax            = 60 * time.Second
	lockDelayDefault        = 15 * time.Second
	keepaliveIntervalMax    = 10 * time.Second
	tryWaitMax              = 60 * time.Second
	waitMax                 = 100 * 365 * 24 * time.Hour // clamped, so that clocks can be added to it
	historyIDHexDigits      = 32
	lockHoldsShown          = 100
	scannedItemsMax         = 10_000
	staleWaitWithoutTimeout = 30 * time.Second
)

// checkKey refuses what cannot be a key.
func checkKey(field, key string) error {
	if key == "" {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY, field, "must not be empty")
	}
	return checkPrefix(field, key, keyBytesMax)
}

// checkPrefix refuses what cannot be the beginning of a key of at most bytesMax bytes.
func checkPrefix(field, prefix string, bytesMax int) error {
	if len(prefix) > bytesMax {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_KEY_TOO_LONG, field, "is %d bytes long; at most %d are allowed",
			len(prefix), bytesMax).With("limit", "key_bytes_max").With("limit_value", strconv.Itoa(bytesMax))
	}
	if !utf8.ValidString(prefix) {
		return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST, field, "is not valid UTF-8")
	}
	return nil
}

// checkValue refuses a value that is too large.
func checkValue(field string, value []byte) error {
	if len(value) > valueBytesMax {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE, "%s: is %d bytes long; at most %d are allowed",
			field, len(value), valueBytesMax).With("limit", "value_bytes_max").With("limit_value", strconv.Itoa(valueBytesMax))
	}
	return nil
}

// checkText refuses a text that is too long.
func checkText(field, text string, bytesMax int) error {
	if len(text) > bytesMax {
		return reason.Invalid(field, "is %d bytes long; at most %d are allowed", len(text), bytesMax)
	}
	return nil
}

// parseSession reads a session id that must be given.
func parseSession(field, text string) (storage.SessionID, error) {
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

// checkDuration refuses what is no duration, or a negative one.
func checkDuration(field string, d *durationpb.Duration) (time.Duration, error) {
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

// grantedTTL returns the TTL that a request gets.
func grantedTTL(d *durationpb.Duration, ttlMin time.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if d.CheckValid() != nil || d.AsDuration() < 0 {
		return 0, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE, "ttl", "must be a duration, zero or more")
	}
	ttl := d.AsDuration()
	if ttl == 0 {
		return 0, nil
	}
	return roundUp(min(max(ttl, ttlMin), ttlMax)), nil
}

// grantedLockDelay returns the lock-delay that a request gets. Unset and zero are different.
func grantedLockDelay(d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return lockDelayDefault, nil
	}
	if d.CheckValid() != nil || d.AsDuration() < 0 || d.AsDuration() > lockDelayMax {
		return 0, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE, "lock_delay",
			"must be between 0 and %v", lockDelayMax)
	}
	return roundUp(d.AsDuration()), nil
}

// roundUp makes whole milliseconds of a duration, so that nothing ends earlier than was asked.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// pageSize returns how many items a page may hold.
func pageSize(asked uint32) (int, error) {
	if asked == 0 {
		return pageItemsMax, nil
	}
	if asked > pageItemsMax {
		return 0, reason.Invalid("page_size", "is %d; at most %d is allowed", asked, pageItemsMax)
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

// checkHistory refuses a history that is not the cluster's.
func checkHistory(field, text string, ours [16]byte) error {
	theirs, given, err := parseHistory(field, text)
	if err != nil || !given || theirs == ours {
		return err
	}
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED,
		"%s is of another history: the cluster was restored, or it is another cluster", field).With("history_id", hexID(ours))
}

// checkSecret compares a secret with the hash that the session keeps, in constant time.
func checkSecret(secret, hash []byte) bool {
	sum := sha256.Sum256(secret)
	return subtle.ConstantTimeCompare(sum[:], hash) == 1
}

// operator is somebody who acts in the place of a session's user.
type operator struct {
	force  bool
	reason string
}

// parseOperator reads force and reason, which some requests carry in two places.
func parseOperator(force bool, why string, o *tenurev1.CallOptions) (operator, error) {
	if why != "" && o.GetReason() != "" && why != o.GetReason() {
		return operator{}, reason.Invalid("reason", "differs from options.reason")
	}
	op := operator{force: force || o.GetForce(), reason: why}
	if op.reason == "" {
		op.reason = o.GetReason()
	}
	if err := checkText("reason", op.reason, reasonBytesMax); err != nil {
		return operator{}, err
	}
	if op.force && op.reason == "" {
		return operator{}, reason.Invalid("reason", "is required with force; give the reason for the record")
	}
	return op, nil
}
